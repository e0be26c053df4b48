"""Methods: from a target to a plan, one method a module."""
