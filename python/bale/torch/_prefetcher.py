"""bale.torch.Prefetcher: copies the batches of any loader to a device, one batch ahead."""
from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from bale import transforms
from bale._types import Json, dtype_name
from bale.torch._copy_stream import CopyStream, streams_of
from bale.torch._ranks import Sampler
from bale.torch._tree import change_entry, map_tensors

_END = object()


class Prefetcher:
    """Iterates over the batches of `loader`, with every tensor on `device`.

    On a device with streams (CUDA, ROCm, XPU and others), the next batch is copied and normalized on a separate stream while
    you work on this one. A batch on the host, and its slot, is kept until its copy is done. So the loader is one batch ahead,
    but state_dict() is the state after the last batch that you got. Copies are asynchronous if the loader's batches are
    page-locked: pin_memory=True, as for a DataLoader. On other devices (CPU, MPS), the batches are not copied ahead.

    len(), set_epoch(), state_dict(), load_state_dict(), `sampler`, `dataset`, `batch_size` and all other attributes are
    the loader's, if it has them.

    Parameters
    ----------
    loader : iterable of batches
        Of tensors and Ragged, and nested tuples, lists and dicts of them. Other values stay the same.
    device : torch.device, str or int
        As for torch.device.
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each: uint8 images, N x C x H x W
        or N x H x W x C, become (value / 255 - mean) / std, N x C x H x W, as bale.transforms makes them.
    dtype : torch.dtype, str or None, default None
        Dtype of the images, a float type or its name. With it and without normalize, uint8 becomes value / 255. None: torch.float32
        with normalize.
    images : int, str or None, default None
        Index or key of the images in a batch, which may be a list of images. None: the batch itself if it is a tensor,
        else its first entry.

    Attributes
    ----------
    loader : iterable
        As given.
    device : torch.device
        As given.

    Raises
    ------
    ValueError
        If dtype is not a float type; while iterating, if the images to normalize are not uint8 with three channels.

    Notes
    -----
    Threads: use it in the thread, and on the current stream, in which you work on the batches.

    Examples
    --------
    >>> loader = bt.Prefetcher(bt.Loader("packs/train", 256, pin_memory=True), "cuda", normalize=True, dtype=torch.bfloat16)
    >>> for images, labels in loader:
    ...     loss = criterion(model(images), labels)
    """

    if TYPE_CHECKING:
        def state_dict(self) -> Json: ...
        def load_state_dict(self, state: Json) -> None: ...

    def __new__(cls, loader: Iterable[object], *_: object, **__: object) -> Prefetcher:
        # Who looks for state_dict() looks at the class, so there are two.
        stateful = cls is Prefetcher and hasattr(loader, "state_dict") and hasattr(loader, "load_state_dict")
        kind: Any = _StatefulPrefetcher if stateful else cls
        made: Prefetcher = super().__new__(kind)
        return made

    def __init__(self, loader: Iterable[object], device: torch.device | str | int, *,
                 normalize: bool | tuple[Sequence[float], Sequence[float]] | None = None, dtype: torch.dtype | str | None = None,
                 images: int | str | None = None) -> None:
        self.loader = loader
        self.device = torch.device(device)
        wanted = None if dtype is None else getattr(torch, dtype_name(dtype), None)
        if dtype is not None and not (isinstance(wanted, torch.dtype) and wanted.is_floating_point):
            raise ValueError(f"dtype: {dtype} is not a floating point type")
        self._pixels = Pixels(transforms.mean_and_std(normalize), wanted)
        self._images = images
        # After the last batch that was given, while the loader itself is ahead.
        self._state: Json | None = None
        self._turn = 0  # counts iterators: a new one takes over from the last
        self._copies: CopyStream | None = None

    def __getnewargs__(self) -> tuple[object, ...]:
        return (self.loader,)  # of copies, also in other processes

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        self._state = None
        self._turn += 1
        if self._copies is not None:
            self._copies.drain()
        batches = iter(self.loader)
        streams = streams_of(self.device)
        if streams is None:
            return _InOrder(self, batches)
        self._state = self._loaders_state()
        self._copies = CopyStream(self.device, streams)
        return self._ahead(batches, self._copies, self._turn)

    def _ahead(self, batches: Iterator[object], copies: CopyStream, turn: int) -> Iterator[object]:
        try:
            pending = [self._next(batches, copies)]
            while pending[0] is not _END:
                if isinstance(pending[0], Exception):
                    raise pending.pop()
                state = self._loaders_state()
                pending.append(self._next(batches, copies))
                self._state = state
                yield copies.received(pending.pop(0))
                if turn != self._turn:
                    raise RuntimeError("this iterator is void: its Prefetcher was iterated again")
        finally:
            copies.drain()
        self._state = None

    def _next(self, batches: Iterator[object], copies: CopyStream) -> Any:
        """Starts the next copy. Returns it, or the exception to raise after the batch before it was returned."""
        try:
            copies.release()
            batch = next(batches, _END)
            return batch if batch is _END else copies.copy(batch, self._moved)
        except Exception as error:
            return error

    def _moved(self, batch: object, non_blocking: bool) -> object:
        moved = map_tensors(lambda tensor: tensor.to(self.device, non_blocking=non_blocking), batch)
        if not self._pixels.wanted:
            return moved
        if isinstance(moved, torch.Tensor):
            return self._pixels(moved)
        where = self._images
        try:
            if where is None:
                where = next(iter(moved)) if isinstance(moved, dict) else 0
            return change_entry(lambda entry: map_tensors(self._pixels, entry), moved, where)
        except LookupError as error:
            raise ValueError(f"Prefetcher: this batch has nothing at images={where!r}") from error

    def _loaders_state(self) -> Json | None:
        return None

    # --- what the loader has

    def set_epoch(self, epoch: int) -> None:
        """Calls set_epoch() of the loader; if it has none, of its sampler and its dataset, if they have one.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0.
        """
        self._state = None
        set_epoch = getattr(self.loader, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(epoch)
            return
        for part in ("sampler", "dataset"):
            set_epoch = getattr(getattr(self.loader, part, None), "set_epoch", None)
            if set_epoch is not None:
                set_epoch(epoch)

    def __getattr__(self, name: str) -> Any:
        if name == "loader" or name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.loader, name)
        return type(found)(self) if isinstance(found, Sampler) else found


class _InOrder:
    """Copies each batch when it is asked for. A batch that an exception stopped, such as Ctrl-C's, is the next one again."""

    def __init__(self, prefetcher: Prefetcher, batches: Iterator[object]) -> None:
        self._of, self._batches = prefetcher, batches
        self._taken: tuple[object] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        of = self._of
        if self._taken is None:
            of._state = of._loaders_state()
            try:
                for batch in self._batches:  # unlike after next(), nothing interrupts between the batch and its assignment
                    self._taken = (batch,)
                    break
            except Exception:
                of._state = None
                raise
            if self._taken is None:
                of._state = None
                raise StopIteration
        moved = of._moved(self._taken[0], non_blocking=False)
        self._taken = of._state = None
        return moved


class _StatefulPrefetcher(Prefetcher):
    def state_dict(self) -> Json:
        """The state of the loader after the last batch that was returned."""
        return self._loaders_state() if self._state is None else self._state

    def load_state_dict(self, state: dict[str, object]) -> None:
        self._state = None
        self.loader.load_state_dict(state)  # type: ignore[attr-defined]

    def _loaders_state(self) -> Json:
        state: Json = self.loader.state_dict()  # type: ignore[attr-defined]
        return state


class Pixels:
    """Converts and normalizes uint8 images with the arithmetic of bale.transforms: in float32, then rounded once."""

    def __init__(self, mean_and_std: tuple[Sequence[float], Sequence[float]] | None, dtype: torch.dtype | None) -> None:
        self._mean_and_std = mean_and_std
        self._dtype = dtype or torch.float32
        self._constants: dict[torch.device, tuple[torch.Tensor, ...]] = {}
        self.wanted = mean_and_std is not None or dtype is not None

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        if images.dtype != torch.uint8:
            if self._mean_and_std is None and images.dtype.is_floating_point:
                converted: torch.Tensor = images.to(self._dtype)
                return converted
            raise ValueError(f"Prefetcher: the images are {images.dtype}, not uint8; give `images`, where in a batch they "
                             f"are, and normalize in one place only")
        channels = images.dim() - 3
        if images.dim() < 3 or 3 not in (images.shape[channels], images.shape[-1]):
            raise ValueError(f"Prefetcher: no images of 3 channels, but {tuple(images.shape)}")
        if images.shape[channels] != 3:
            images = images.movedim(-1, channels)
        mean, std, full = self._constants_on(images.device)
        pixels: torch.Tensor = images.to(torch.float32).div_(full)
        if self._mean_and_std is not None:
            pixels.sub_(mean).div_(std)
        made: torch.Tensor = pixels.to(self._dtype)
        return made

    def _constants_on(self, device: torch.device) -> tuple[torch.Tensor, ...]:
        """Mean, deviation and 255 as tensors: to divide by a number, CUDA multiplies by its inverse, which rounds
        differently. They are kept, because making them waits for the device."""
        if device not in self._constants:
            mean, std = self._mean_and_std or ((0, 0, 0), (1, 1, 1))
            make = functools.partial(torch.tensor, dtype=torch.float32, device=device)
            self._constants[device] = (make(mean).view(3, 1, 1), make(std).view(3, 1, 1), make(255.0))
        return self._constants[device]
