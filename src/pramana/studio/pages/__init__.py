"""One module a page: its place in the menu and its routes."""
