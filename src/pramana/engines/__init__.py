"""Who does the work: the five verbs of :mod:`pramana.table.source`, engine by engine."""
