"""The transforms of a list, as values, and their order."""
