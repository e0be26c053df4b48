"""Look-alikes of public survey and register files, with the roles that an expert would give."""
