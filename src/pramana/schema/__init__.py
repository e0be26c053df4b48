"""What columns are, and how their values are coded and counted."""
