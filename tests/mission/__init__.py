"""One test for each capability that the five papers ask for, through the public API."""
