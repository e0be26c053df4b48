"""Tables of people: what their columns are, and how they are read, coded and written."""
