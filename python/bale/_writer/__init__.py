"""bale.Writer's values, and bale.pack() of samples."""
