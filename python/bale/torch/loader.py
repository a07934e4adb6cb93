"""bale.torch.Loader: bale.Loader's batches as tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.utils.dlpack

import bale.loader
from bale import _bale, transforms
from bale.torch.prefetcher import Pixels
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
    device             "cuda", "cuda:N" or a torch.device: tensors on the GPU, for the current stream, copied ahead of time.
                       They are the loader's memory, which goes to a later batch when the last of them is gone; use them on
                       other streams after `tensor.clone()`, or tell by `Event`s when those are done
    mix                bale.transforms.Mix(...): give (images, (labels, partner_labels, shares)); the loss is
                       shares * loss(labels) + (1 - shares) * loss(partner_labels), an image

    Frameworks find here what they look for in a DataLoader: `sampler.set_epoch`, `dataset`, `batch_size`, `drop_last`,
    `num_workers`, len(). They leave it as it is: Accelerate's prepare() and Lightning's Trainer pass it through.
    """

    # What a DataLoader has and some look for: Lightning at batch_sampler, timm's PrefetchLoader at collate_fn.
    batch_sampler = None
    collate_fn = None

    def __init__(self, spec: Spec, batch_size: int = 256, *,
                 rank: int | None = None, world_size: int | None = None, with_mask: bool = False, pin: bool = False,
                 device: torch.device | str | int | None = None, **options: Any) -> None:
        self._rank_given = rank is not None
        rank, world_size = rank_and_world_size(rank, world_size)
        self.device = None if device is None else _cuda_device(device)
        delivered = transforms.train() if options.get("transform") is None else options["transform"]
        self._pixels: Pixels | None = None
        if self.device is not None:
            options["device"] = str(self.device)
            if _needs_torch(delivered, options):
                options["transform"] = delivered._replace(dtype="uint8", layout="nhwc", normalize=None)
                self._pixels = Pixels(delivered.normalize, getattr(torch, delivered.dtype))
        super().__init__(spec, batch_size, rank=rank, world_size=world_size, **options)
        self.transform = delivered
        self.with_mask = with_mask
        self.pin = pin and torch.cuda.is_available() and self.device is None

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

    def _stream(self) -> int:
        return _current_stream(self.device)

    def _convert(self, batch: Any) -> tuple[Any, ...]:
        if self.device is not None:
            return self._from_device(batch)
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

    def _from_device(self, batch: Any) -> tuple[Any, ...]:
        images, labels = map(_tensor_of, batch.capsules(self._stream()))
        if self._pixels is not None:
            images = self._pixels(images)
            if self.transform.layout == "nchw":
                images = images.contiguous()
        target: Any = labels
        if batch.shares is not None:
            target = (labels, _tensor_of(batch.partner_labels), _tensor_of(batch.shares))
        return (images, target, _tensor_of(batch.mask).view(torch.bool)) if self.with_mask else (images, target)

    def _chw(self, image: torch.Tensor) -> torch.Tensor:
        return image if self.transform.layout == "nchw" or image.dim() < 3 else image.movedim(-1, 0)


def _tensor(array: Any, transform: Any) -> torch.Tensor:
    tensor = torch.from_numpy(array.view("int16") if transform.dtype == "bfloat16" else array)
    return tensor.view(torch.bfloat16) if transform.dtype == "bfloat16" else tensor


def _cuda_device(device: torch.device | str | int) -> torch.device:
    chosen = torch.device(device)
    if chosen.type != "cuda":
        raise ValueError(f"device: {device!r} is no CUDA device; leave it out for tensors in ordinary memory")
    return chosen if chosen.index is not None else torch.device("cuda", torch.cuda.current_device())


def _current_stream(device: torch.device | None) -> int:
    handle: int = torch.cuda.current_stream(device).cuda_stream
    return handle


def _tensor_of(exported: Any) -> torch.Tensor:
    """Of a DLPack capsule, or of what makes one."""
    tensor: torch.Tensor = torch.utils.dlpack.from_dlpack(exported)
    return tensor


def _needs_torch(transform: Any, options: dict[str, Any]) -> bool:
    """Whether a build without kernels had better leave the conversion to torch than to its workers: where there is an
    image in every row, for an empty one is zeros, and not what zeros become. (To mix and mirror needs kernels: the loader
    says so.)"""
    return (not _bale.cuda_kernels_available() and transform.dtype != "uint8" and transform.kind in ("train", "eval")
            and options.get("tail") != "uneven" and options.get("on_bad_sample") != "skip"
            and not options.get("mix") and not options.get("device_hflip"))
