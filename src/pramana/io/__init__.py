"""File formats: one module a format, opening and atomic writing."""
