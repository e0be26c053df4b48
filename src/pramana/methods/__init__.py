"""Methods: from a target stated as a number to a plan, and from a plan to released records."""
