"""The embedded database: its relations as tables, and sums over groups of any table."""
