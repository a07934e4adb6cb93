"""bale: batches and samples from packed datasets.

    loader = bale.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    for images, labels in loader:   # numpy arrays; images are views of shared memory
        ...

`bale.torch` has the same with torch tensors. Importing bale imports neither torch nor numpy.
"""
from bale import parquet, transforms
from bale._bale import NO_LABEL, Batch, DeviceBatch, cuda_available
from bale.bad_sample import BadSample
from bale.cache import set_cache
from bale.dataset import Dataset
from bale.errors import Error
from bale.fields import Field
from bale.loader import Loader
from bale.mds import to_mds
from bale.opened_file import open_file
from bale.parquet.written import to_parquet
from bale.program import convert, inspect, merge, pack, pack_part, plan, verify
from bale.ragged import Ragged
from bale.writer import Writer

__all__ = ["NO_LABEL", "BadSample", "Batch", "Dataset", "DeviceBatch", "Error", "Field", "Loader", "Ragged", "Writer",
           "convert", "cuda_available", "inspect", "merge", "open_file", "pack", "pack_part", "parquet", "plan", "set_cache",
           "to_mds", "to_parquet", "transforms", "verify"]
__version__ = "0.3.1"
