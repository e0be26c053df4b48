"""Guarantees: privacy notions with their numbers, computed from integers and rounded against us."""
