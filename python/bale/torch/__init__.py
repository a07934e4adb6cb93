"""bale for PyTorch: Loader in place of DataLoader, Dataset in place of ImageFolder.

    import bale.torch as bt
    loader = bt.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    for images, labels in loader:   # N x C x H x W and int64, zero-copy views of a slot
        ...

Loader            whole batches, decoded and augmented by bale's own workers
Dataset           samples by position, for the ordinary DataLoader: image and label, or any fields
IterableDataset   the same as a stream in bale's order, dealt out to ranks and DataLoader workers
Prefetcher        any of these, a batch ahead on the device, and normalised there
to_tv_tensors     images and masks as torchvision's v2 transforms know them
"""
from bale.torch.dataset import Dataset
from bale.torch.iterable import IterableDataset
from bale.torch.loader import Loader
from bale.torch.prefetcher import Prefetcher
from bale.torch.ranks import Sampler, rank_and_world_size
from bale.torch.tv_tensors import to_tv_tensors

__all__ = ["Dataset", "IterableDataset", "Loader", "Prefetcher", "Sampler", "rank_and_world_size", "to_tv_tensors"]
