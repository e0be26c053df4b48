"""Method ``optimal``: the least loss for the data at hand under condition C1."""
