"""Where tables lie: one file a format, one door in, one door out."""
