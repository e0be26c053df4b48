"""Execution engines: local threads, DuckDB aggregation, Spark."""
