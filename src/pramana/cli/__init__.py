"""The command line: the same verbs as the Python interface, and no statistics of its own."""
