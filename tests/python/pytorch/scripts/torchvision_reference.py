"""Runs torchvision's own references/classification/train.py, which is not in this repository, with bale's loaders.

    python torchvision_reference.py FOLDER-OF-TRAIN.PY PACK ARGUMENT-OF-TRAIN.PY...

The statements that make its two DataLoaders make bale.torch.Loaders instead; PACK "-" leaves them as they are.
"""
import runpy
import sys

import torch

_, folder, pack, *arguments = sys.argv
if pack != "-":
    import bale
    import bale.torch as bt

    def loader(dataset, batch_size, sampler, num_workers, pin_memory, collate_fn=None):
        """As train.py calls it; its dataset is an ImageFolder of DATA/train or DATA/val."""
        size = dataset[0][0].shape[-1]
        kind = bale.transforms.train if dataset.root.endswith("train") else bale.transforms.val
        return bt.Loader(pack, batch_size, sampler=sampler, num_workers=num_workers, pin_memory=pin_memory,
                         collate_fn=collate_fn,
                         transform=kind(size, dtype="float32", layout="nchw", normalize=True))
    torch.utils.data.DataLoader = loader
sys.argv = [f"{folder}/train.py", *arguments]
sys.path.insert(0, folder)
runpy.run_path(sys.argv[0], run_name="__main__")
