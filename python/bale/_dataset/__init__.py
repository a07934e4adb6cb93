"""bale.Dataset, and what it is opened with."""
