"""Who does the work: the verbs of :mod:`pramana.engines.base`, one package an engine."""
