"""Files and texts of strangers never become code."""
