"""bale for PyTorch: Loader in place of DataLoader, Dataset in place of ImageFolder.

    import bale.torch as bt
    loader = bt.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    for images, labels in loader:   # N x C x H x W, a view of shared memory, and int64
        ...

Loader                batches that bale's own workers decode and augment
Dataset               samples by position, for torch's DataLoader: image and label, or any fields
IterableDataset       the same as a stream in bale's order, shared by ranks and DataLoader workers
Prefetcher            copies the batches of any loader to a device one batch ahead, and normalizes them there
Ragged                rows of different lengths, as fields of bytes are delivered
Sampler               the type of Loader.sampler
rank_and_world_size   rank and world size of this process
to_tv_tensors         wraps images and masks for torchvision's v2 transforms
"""
from bale.torch._dataset import Dataset
from bale.torch._iterable import IterableDataset
from bale.torch._loader.fields import Ragged
from bale.torch._loader.loader import Loader
from bale.torch._prefetcher import Prefetcher
from bale.torch._ranks import Sampler, rank_and_world_size
from bale.torch._tv_tensors import to_tv_tensors

__all__ = ["Dataset", "IterableDataset", "Loader", "Prefetcher", "Ragged", "Sampler", "rank_and_world_size", "to_tv_tensors"]


def __dir__() -> list[str]:
    return __all__
