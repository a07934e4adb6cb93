"""bale.torch.Loader: DataLoader's options, ranks that are known later, batches as tensors."""
