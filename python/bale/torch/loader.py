"""bale.torch.Loader: bale.Loader's batches as tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.utils.dlpack

import bale.loader
from bale.torch.ranks import Sampler, rank_and_world_size

if TYPE_CHECKING:
    from bale.torch.samples import Spec


class Loader(bale.loader.Loader):
    """bale.Loader that gives (images, labels) as tensors, images N x C x H x W: channels_last where the transform's layout
    is "nhwc" (the default), contiguous where it is "nchw"; a list of tensors for ragged and raw. A tensor is a view of its
    slot and keeps it.

    rank, world_size   default: of torch.distributed where it is initialised, else $RANK and $WORLD_SIZE, else 0 of 1
    with_mask          give (images, labels, mask): for tail="uneven" and on_bad_sample="skip"
    pin                page-locked copies where CUDA is available; ignored elsewhere

    Frameworks find here what they look for in a DataLoader: `sampler.set_epoch`, `dataset`, `batch_size`, `drop_last`,
    `num_workers`, len(). They leave it as it is: Accelerate's prepare() and Lightning's Trainer pass it through.
    """

    # What a DataLoader has and some look for: Lightning at batch_sampler, timm's PrefetchLoader at collate_fn.
    batch_sampler = None
    collate_fn = None

    def __init__(self, spec: Spec, batch_size: int = 256, *,
                 rank: int | None = None, world_size: int | None = None, with_mask: bool = False, pin: bool = False,
                 **options: Any) -> None:
        self._rank_given = rank is not None
        rank, world_size = rank_and_world_size(rank, world_size)
        super().__init__(spec, batch_size, rank=rank, world_size=world_size, **options)
        self.with_mask = with_mask
        self.pin = pin and torch.cuda.is_available()

    def __iter__(self) -> Any:
        if not self._rank_given and (self.rank, self.world_size) != rank_and_world_size():
            rank, world_size = rank_and_world_size()
            raise RuntimeError(f"this Loader was made as rank {self.rank} of {self.world_size}, but by now the process is "
                               f"rank {rank} of {world_size}; make the Loader after torch.distributed is initialised, or "
                               f"pass rank and world_size")
        return super().__iter__()

    @property
    def sampler(self) -> Sampler:
        return Sampler(self)

    @property
    def num_workers(self) -> int:
        return self._loader.workers

    def _convert(self, batch: Any) -> tuple[Any, ...]:
        images: Any
        if self.transform.kind in ("ragged", "raw"):
            images = [self._chw(_tensor(batch.image(i), self.transform)) for i in range(len(batch))]
            labels = torch.from_numpy(batch.labels)
            if self.pin:
                images = [image.pin_memory() for image in images]
        else:
            images, labels = map(torch.utils.dlpack.from_dlpack, batch.capsules())
            if self.pin:
                images = images.pin_memory()
        if self.pin:
            labels = labels.pin_memory()
        return (images, labels, torch.from_numpy(batch.mask)) if self.with_mask else (images, labels)

    def _chw(self, image: torch.Tensor) -> torch.Tensor:
        return image if self.transform.layout == "nchw" or image.dim() < 3 else image.movedim(-1, 0)


def _tensor(array: Any, transform: Any) -> torch.Tensor:
    tensor = torch.from_numpy(array.view("int16") if transform.dtype == "bfloat16" else array)
    return tensor.view(torch.bfloat16) if transform.dtype == "bfloat16" else tensor
