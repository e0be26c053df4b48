"""Privacy guarantees: one notion a module."""
