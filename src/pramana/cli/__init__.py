"""The command line: the same verbs as the Python interface, without any statistics."""
