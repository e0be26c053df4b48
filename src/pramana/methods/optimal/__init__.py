"""Method ``optimal``: the least loss for the data at hand under condition C1."""

from pramana.methods.optimal.design import OptimalDesign, optimal_design

__all__ = ["OptimalDesign", "optimal_design"]
