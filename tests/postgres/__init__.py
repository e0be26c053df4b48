"""A real PostgreSQL, started by the tests."""
