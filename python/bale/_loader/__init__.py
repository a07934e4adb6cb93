"""bale.Loader: its options, its epochs and what a batch holds."""
