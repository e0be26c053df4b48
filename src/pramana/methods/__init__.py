"""Designs: from a target stated as a number to the matrices that meet it at the least loss."""

from pramana.methods.expected_error import ErrorModel, ExpectedError
from pramana.methods.invariant import InvariantDesign, invariant_design
from pramana.methods.inverse_frequency import (
    InverseFrequencyDesign,
    block_design,
    block_size,
    inverse_frequency_design,
)
from pramana.methods.optimal.design import OptimalDesign, optimal_design
from pramana.methods.plan import Plan
from pramana.methods.retention import retention_design
from pramana.methods.steps import StepDomain, step_domains

__all__ = [
    "ErrorModel",
    "ExpectedError",
    "InvariantDesign",
    "InverseFrequencyDesign",
    "OptimalDesign",
    "Plan",
    "StepDomain",
    "block_design",
    "block_size",
    "invariant_design",
    "inverse_frequency_design",
    "optimal_design",
    "retention_design",
    "step_domains",
]
