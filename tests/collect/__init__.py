"""People who randomise their own answers."""
