"""The engine inside: one machine, all its cores."""
