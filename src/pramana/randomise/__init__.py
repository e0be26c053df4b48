"""From the truth to a release: sampling and shuffling."""
