"""What a native batch becomes: (images, target, ...) as tensors."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.utils.dlpack

from bale._bale import Batch, DeviceBatch
from bale._loader.fields import Field
from bale._loader.lazy_keys import LazyKeys
from bale._warnings import warn
from bale.torch._loader.fields import check_names, numbered_in, tensors_of
from bale.torch._tree import map_tensors
from bale.transforms import Mix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bale import transforms
    from bale.transforms import Compose


class Samples:
    """The samples of the rows of a batch: the element that with_samples=True adds.

    Parameters
    ----------
    indices : tensor of int64, shape (N,)
        Positions in the dataset; of an empty row 0.
    positions : LazyKeys
        Made by the Loader.

    Attributes
    ----------
    indices : tensor of int64, shape (N,)
        Positions in the dataset; of an empty row 0.

    Notes
    -----
    Lifetime: it does not keep the batch's slot.
    """

    def __init__(self, indices: torch.Tensor, positions: LazyKeys) -> None:
        #: Positions in the dataset, int64; of an empty row 0.
        self.indices = indices
        self._positions = positions

    @property
    def keys(self) -> list[str]:
        """Keys of the rows, looked up in the dataset at each access."""
        return self._positions.keys_of(self.indices.numpy())

    @property
    def sources(self) -> torch.Tensor | None:
        """Numbers of the rows' sources, int64, positions in `loader.sources`; None unless the Loader mixes."""
        sources = self._positions.sources_of(self.indices.numpy())
        return None if sources is None else torch.from_numpy(sources)

    @property
    def image_sizes(self) -> torch.Tensor:
        """Width and height of the stored images, int64, N x 2, looked up in the dataset at each access."""
        return torch.from_numpy(self._positions.sizes_of(self.indices.numpy()))

    def __len__(self) -> int:
        return len(self.indices)


class Conversion:
    """Makes tensors of native batches.

    shortens   a last batch without rows at its end has fewer rows, or is none
    """

    def __init__(self, views: Sequence[Compose], device: torch.device | None, *, with_mask: bool, with_samples: bool, pin: bool,
                 shortens: bool, mix: Mix | None, fields: Mapping[str, str | Field] | None) -> None:
        self._num_views, self._transform = len(views), views[0]
        self._is_bfloat16 = views[0].dtype == "bfloat16"
        self._device = device
        self._with_mask, self._with_samples, self.pin = with_mask, with_samples, pin
        self.shortens = shortens
        self._soft_labels = None if mix is None else soft_labels_of(mix)
        self._has_fields = bool(fields)
        check_names(fields or {}, mixes=mix is not None)
        self._numbered = numbered_in(fields)
        self._optional = {name for name, field in (fields or {}).items() if isinstance(field, Field) and field.optional}
        self._warned = False

    @property
    def stream(self) -> int:
        """The handle of the stream on which the next batch will be used."""
        return 0 if self._device is None else current_stream(self._device)

    def __call__(self, batch: Batch | DeviceBatch, keys: LazyKeys) -> tuple[object, ...] | None:
        """None for a batch that is nothing but rows without a sample, if it shortens."""
        return self._of_host(batch, keys) if isinstance(batch, Batch) else self._of_device(batch, keys)

    def _of_host(self, batch: Batch, keys: LazyKeys) -> tuple[object, ...] | None:
        mask = batch.mask if self._with_mask or self.shortens else None
        rows = len(batch)
        if self.shortens and mask is not None and not mask[-1]:
            rows = rows_up_to_the_last(mask)
            if rows == 0:
                return None
        if batch.is_copy:
            self._warn_once("you keep so many batches that further ones are copied out of the ring; that costs time and "
                            "memory. Keep fewer, or raise prefetch")
        images, labels = self._images_and_labels(batch, rows)
        target: Any = labels[:rows]
        if batch.shares is not None:
            target = self._mixed(target, torch.from_numpy(batch.partner_labels)[:rows], torch.from_numpy(batch.shares)[:rows])
        if self.pin:
            target = tuple(part.pin_memory() for part in target) if isinstance(target, tuple) else target.pin_memory()
        more = (torch.from_numpy(mask[:rows]),) if self._with_mask and mask is not None else ()
        return (images, target, *more, *self._samples_of(batch, keys, rows), *self._fields_of(batch, rows))

    def _images_and_labels(self, batch: Batch, rows: int) -> tuple[object, torch.Tensor]:
        if self._transform.shape != "fixed":
            images = [self._chw(tensor_of_array(batch.image(i), self._is_bfloat16)) for i in range(rows)]
            return [image.pin_memory() for image in images] if self.pin else images, torch.from_numpy(batch.labels)
        first, labels = map(torch.utils.dlpack.from_dlpack, batch.capsules())
        more_views = [batch.capsules(view)[0] for view in range(1, self._num_views)]
        views = [image[:rows] for image in (first, *map(torch.utils.dlpack.from_dlpack, more_views))]
        if self.pin:
            views = [view.pin_memory() for view in views]
        return views if more_views else views[0], labels

    def _of_device(self, batch: DeviceBatch, keys: LazyKeys) -> tuple[object, ...] | None:
        rows = len(batch)
        if batch.is_beyond_hold:
            self._warn_once("you keep so many batches on the device that more of its memory is taken for each further one. "
                            "Keep fewer, keep copies in ordinary memory (tensor.cpu()), or raise hold of bale.Cuda")
        if self.shortens:
            rows = rows_up_to_the_last(tensor_of(batch.mask).cpu().numpy())
            if rows == 0:
                return None
        images, labels = (tensor[:rows] for tensor in map(tensor_of, batch.capsules(self.stream)))
        labels = labels.clone()  # kilobytes; a view would keep the whole batch on the device
        target: Any = labels
        if batch.shares is not None:
            target = self._mixed(labels, tensor_of(batch.partner_labels)[:rows].clone(), tensor_of(batch.shares)[:rows].clone())
        mask = (tensor_of(batch.mask).view(torch.bool).clone(),) if self._with_mask else ()
        return (images, target, *mask, *self._samples_of(batch, keys, rows), *self._fields_of(batch, rows))

    def _mixed(self, labels: torch.Tensor, partner_labels: torch.Tensor, shares: torch.Tensor) -> object:
        if self._soft_labels is None:
            return labels, partner_labels, shares
        return self._soft_labels(labels, partner_labels, shares)

    def _samples_of(self, batch: Batch | DeviceBatch, keys: LazyKeys, rows: int) -> tuple[Samples, ...]:
        return (Samples(torch.from_numpy(batch.indices)[:rows], keys),) if self._with_samples else ()

    def _fields_of(self, batch: Batch | DeviceBatch, rows: int) -> tuple[dict[str, object], ...]:
        """The last element of a batch: its fields, if it has any."""
        if not self._has_fields:
            return ()
        made = tensors_of(batch, self._optional, self._numbered, rows, self.pin)
        return (made if self._device is None else map_tensors(lambda tensor: to_device(tensor, self._device), made),)

    def _chw(self, image: torch.Tensor) -> torch.Tensor:
        return image if self._transform.layout == "nchw" or image.dim() < 3 else image.movedim(-1, 0)

    def _warn_once(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            warn(f"bale.torch.Loader: {what}")


class SoftLabels(NamedTuple):
    """Makes float32 tensors N x num_classes: torchvision's MixUp and CutMix without smoothing, timm's mixup_target with it."""

    num_classes: int
    smoothing: float

    def __call__(self, labels: torch.Tensor, partner_labels: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
        """Raises ValueError for a label of num_classes or more. Tensors on a device are not checked: that would wait for the
        device, whose own check ends the process."""
        shares = shares.unsqueeze(1)
        mixed: torch.Tensor = self._smoothed(labels) * shares + self._smoothed(partner_labels) * (1 - shares)
        return mixed

    def _smoothed(self, labels: torch.Tensor) -> torch.Tensor:
        """Rows without a label are zeros."""
        if not labels.is_cuda and len(labels) and int(labels.max()) >= self.num_classes:
            raise ValueError(f"mix: label {int(labels.max())} in a batch, but num_classes is {self.num_classes}")
        off = self.smoothing / self.num_classes
        labels = labels.unsqueeze(1)
        rows = torch.full((len(labels), self.num_classes), off, device=labels.device)
        rows.scatter_(1, labels.clamp(min=0), 1 - self.smoothing + off)
        smoothed: torch.Tensor = rows.masked_fill_(labels < 0, 0)
        return smoothed


def soft_labels_of(mix: transforms.Mix) -> SoftLabels | None:
    """None if the labels stay apart. Raises ValueError for options that are out of range or contradict each other."""
    if mix.num_classes is None:
        if mix.label_smoothing:
            raise ValueError("mix: label_smoothing needs num_classes, the number of classes of soft labels")
        return None
    if mix.num_classes < 1:
        raise ValueError(f"mix: num_classes {mix.num_classes} is below 1")
    if not 0 <= mix.label_smoothing <= 1:
        raise ValueError(f"mix: label_smoothing {mix.label_smoothing} is not within [0, 1]")
    return SoftLabels(mix.num_classes, mix.label_smoothing)


def tensor_of_array(array: NDArray[np.generic], is_bfloat16: bool) -> torch.Tensor:
    tensor = torch.from_numpy(array.view("int16") if is_bfloat16 else array)
    return tensor.view(torch.bfloat16) if is_bfloat16 else tensor


def cuda_device(device: torch.device | str | int) -> torch.device | None:
    """The CUDA device; None for the CPU, which scripts pass as `device=accelerator.device`."""
    chosen = torch.device(device)
    if chosen.type == "cpu":
        return None
    if chosen.type != "cuda":
        raise ValueError(f"device: {device!r} is neither a CUDA device nor the CPU; leave it out for tensors in ordinary memory")
    return chosen if chosen.index is not None else torch.device("cuda", torch.cuda.current_device())


def current_stream(device: torch.device | None) -> int:
    handle: int = torch.cuda.current_stream(device).cuda_stream
    return handle


def to_device(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """A copy for the current stream. From page-locked memory, because the host would otherwise wait for the work that is queued
    there."""
    copy: torch.Tensor = tensor.pin_memory().to(device, non_blocking=True)
    return copy


def tensor_of(exported: object) -> torch.Tensor:
    """The tensor of a DLPack capsule, or of an object that exports one."""
    tensor: torch.Tensor = torch.utils.dlpack.from_dlpack(exported)
    return tensor


def rows_up_to_the_last(mask: NDArray[np.bool_]) -> int:
    """Rows of a batch without the masked ones at its end."""
    counted = mask.nonzero()[0]
    return int(counted[-1]) + 1 if len(counted) else 0
