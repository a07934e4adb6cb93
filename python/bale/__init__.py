"""bale: batches and samples from packed datasets.

    loader = bale.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    for images, labels in loader:   # numpy arrays; images are views of shared memory
        ...

`bale.torch` has the same with torch tensors. Importing bale imports neither torch nor numpy, and what it has is imported when it
is first used.
"""
from bale._lazy import lazy_names

TYPE_CHECKING = False  # of typing, which takes more time than all else here
if TYPE_CHECKING:
    from bale import errors, options, parquet, transforms
    from bale._bale import NO_LABEL, Batch, DeviceBatch, cuda_available
    from bale._changes import add, prune, remove, rewrite, set_field, set_labels, versions
    from bale._dataset.cache import set_cache
    from bale._dataset.dataset import Dataset
    from bale._dataset.remote_file import open_file
    from bale._edit import Edit, edit
    from bale._export.mds import to_mds
    from bale._export.parquet_files import to_parquet
    from bale._loader.fields import Field
    from bale._loader.loader import Loader
    from bale._loader.native import BadSample
    from bale._loader.options import Cuda, Order
    from bale._loader.ragged import Ragged
    from bale._loader.reading import Reading
    from bale._requests import convert, inspect, merge, pack, pack_part, plan, verify
    from bale._writer.writer import Writer
    from bale.errors import Error

__getattr__, __dir__ = lazy_names(globals(), {
    "_bale": "NO_LABEL Batch DeviceBatch cuda_available",
    "_changes": "add prune remove rewrite set_field set_labels versions",
    "_dataset.cache": "set_cache",
    "_dataset.dataset": "Dataset",
    "_dataset.remote_file": "open_file",
    "_edit": "Edit edit",
    "_export.mds": "to_mds",
    "_export.parquet_files": "to_parquet",
    "_loader.fields": "Field",
    "_loader.loader": "Loader",
    "_loader.native": "BadSample",
    "_loader.options": "Cuda Order",
    "_loader.reading": "Reading",
    "_loader.ragged": "Ragged",
    "errors": "Error",
    "_requests": "convert inspect merge pack pack_part plan verify",
    "_writer.writer": "Writer",
}, submodules="errors launch options parquet transforms")

__all__ = ["NO_LABEL", "BadSample", "Batch", "Cuda", "Dataset", "DeviceBatch", "Edit", "Error", "Field", "Loader", "Order", "Ragged", "Reading", "Writer",
           "add", "convert", "cuda_available", "edit", "errors", "inspect", "merge", "open_file", "options", "pack", "pack_part", "parquet", "plan",
           "prune", "remove", "rewrite", "set_cache", "set_field", "set_labels", "to_mds", "to_parquet", "transforms", "verify", "versions"]
__version__ = "0.3.1"
