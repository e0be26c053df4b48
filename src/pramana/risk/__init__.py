"""Risks of a table: one measure a file, each a value with its interval where it is measured."""

from pramana.risk.coded_table import AlikeRecords, CodedTable
from pramana.risk.diversity import Diversity
from pramana.risk.frequencies import Frequencies
from pramana.risk.measured import Measured, clopper_pearson, wilson
from pramana.risk.population import PopulationRisk, exact_individual_risk, individual_risk
from pramana.risk.subsets import SubsetRisk
from pramana.risk.table_audit import TableAudit, audit_table

__all__ = [
    "AlikeRecords",
    "CodedTable",
    "Diversity",
    "Frequencies",
    "Measured",
    "PopulationRisk",
    "SubsetRisk",
    "TableAudit",
    "audit_table",
    "clopper_pearson",
    "exact_individual_risk",
    "individual_risk",
    "wilson",
]
