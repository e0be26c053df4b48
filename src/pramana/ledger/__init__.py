"""A tamper-evident record of the releases of a table and what they guarantee together."""
