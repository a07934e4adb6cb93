"""bale.Loader: shuffled, augmented batches, the same ones for any number of workers, ranks and restarts."""
from __future__ import annotations

import atexit
import os
import weakref
from typing import NamedTuple

from bale import _bale, order, transforms
from bale.dataset import Dataset, text_of_spec, warn_of_notices
from bale.errors import make_error
from bale.program import program_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal, NoReturn

    from typing_extensions import Self

    from bale._bale import Batch, DeviceBatch
    from bale.order import Numbers, Shuffle, Tail
    from bale.program import Path


class BadSample(NamedTuple):
    """A sample that could not become a row, and what became of it."""

    sample: int
    key: str
    shard: str
    reason: str
    epoch: int
    action: str  # "failed", "skipped" or "substituted"
    quarantined: bool


_live: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Workers end before the interpreter does; batches that are still held stay readable. Daemon threads that iterate a
    Loader stop, without an exception that nobody could catch."""
    _bale.stop_other_threads()
    for loader in list(_live):
        loader._close_at_exit()


class Loader:
    """Iterating is one epoch:

        loader = bale.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
        for epoch in range(90):
            loader.set_epoch(epoch)
            for images, labels in loader:
                ...

    A batch (`Batch`) unpacks as images, labels. The images are a view of shared memory, the ring's `prefetch` slots; labels
    are a copy. You may keep any number of batches: when you keep nearly all slots, further batches are copies
    (`Batch.is_copy`), which costs time and memory.

    spec           a packed dataset, as the CLI takes it, a list of such, or a bale.Dataset
    workers        processes (None: one per core that this rank has; 0: decode in the caller); threads=True: threads of this process
    seed           of the order; also of what is drawn for images, unless augment_seed is given
    no_label       class number of rows that have none: unlabeled samples, empty and skipped rows
    shuffle        True, False, or "block" (long reads for slow storage) with block_samples, window_blocks
    tail           "pad", "drop" (also drop_last=True) or "uneven": what becomes of an epoch's incomplete end
    prefetch       batches in the ring, of all workers together, those in your hands included
    subset         positions in the dataset that make up an epoch
    weights        draw `num_draws` (default: as many as weights) samples an epoch with these probabilities
    repeats        each sample so often an epoch
    read_ahead_bytes, large_transfers, direct_io    for slow disks and data beyond memory, see docs/TUNING.md
    learn_bytes    shared memory for entry points of JPEGs that workers make in the first epoch, so that later ones decode
                   faster (0: none), see docs/TUNING.md
    on_bad_sample  "fail", "skip" (zeros, masked out) or "substitute"; see bad_samples

    device         "cuda" or "cuda:N": batches (`DeviceBatch`) in that GPU's memory, copied ahead of time. The workers make 8
                   bits a value and the device the rest, with the same bits as without a device
    depth, hold    batches that are copied ahead, and in your hands, that device memory is taken for at first; when you hold
                   more, each takes more of it
    device_hflip   probability that the device mirrors an image, for transforms that do not
    mix            transforms.Mix(...): mixup and cutmix; batches have partner_labels and shares then. Needs a float dtype
    """

    def __init__(self, spec: Path | Sequence[Path] | Dataset, batch_size: int = 256, *,
                 workers: int | None = None, seed: int = 0,
                 rank: int = 0, world_size: int = 1, shuffle: Shuffle = True, block_samples: int = 64,
                 window_blocks: int = 16, tail: Tail = "pad", drop_last: bool = False,
                 transform: transforms.Transform | None = None, prefetch: int = 4,
                 on_bad_sample: Literal["fail", "skip", "substitute"] = "fail", threads: bool = False,
                 augment_seed: int | None = None, no_label: int = _bale.NO_LABEL,
                 subset: Numbers | None = None, weights: Numbers | None = None,
                 num_draws: int | None = None, repeats: int = 1, field: str = "", persistent_workers: bool = True,
                 verify_checksums: bool = True, max_pixels: int = 178_956_970, stall_timeout_s: float = 120.0,
                 storage_timeout_s: float = 1800.0,
                 read_ahead_bytes: int = 128 << 20, large_transfers: bool = False, direct_io: bool = False,
                 learn_bytes: int = 0, device: str | None = None, depth: int = 2, hold: int = 3, device_hflip: float = 0.0,
                 mix: transforms.Mix | None = None) -> None:
        self._spec = spec.spec if isinstance(spec, Dataset) else text_of_spec(spec)
        self.batch_size = batch_size
        tail = order.tail_name(tail, drop_last)
        self.drop_last = tail == "drop"
        self.transform = transforms.train() if transform is None else transform
        self.rank, self.world_size = rank, world_size
        options = {
            "batch_size": batch_size, "workers": workers, "threads": threads, "prefetch": prefetch,
            "persistent_workers": persistent_workers, "seed": seed,
            "augment_seed": seed if augment_seed is None else augment_seed, "no_label": no_label,
            "shuffle": order.shuffle_name(shuffle),
            "block_samples": block_samples, "window_blocks": window_blocks, "rank": rank, "world_size": world_size,
            "tail": tail, "transform": self.transform, "field": field,
            "on_bad_sample": on_bad_sample, "verify_checksums": verify_checksums, "max_pixels": max_pixels,
            "stall_timeout_s": stall_timeout_s, "storage_timeout_s": storage_timeout_s, "read_ahead_bytes": read_ahead_bytes,
            "large_transfers": large_transfers, "direct_io": direct_io, "learn_bytes": learn_bytes,
            "worker_program": os.environ.get("BALE_WORKER") or program_path("bale-worker"),
        }
        self._dataset = spec if isinstance(spec, Dataset) else None
        self._options = options
        self._chosen = self._selection(subset, weights, num_draws, repeats)
        self._cuda_options = None
        if device is not None:
            mixes = transforms.Mix() if mix is None else mix
            self._cuda_options = {
                "device": _ordinal(device), "depth": depth, "hold": hold, "device_hflip": device_hflip,
                "mixup_alpha": mixes.mixup, "cutmix_alpha": mixes.cutmix, "mix_probability": mixes.probability,
                "mix_switch_probability": mixes.switch}
        elif device_hflip or mix is not None:
            raise ValueError("device_hflip and mix need a device")
        self._loader = self._open()
        if self._dataset is None:  # it has warned already
            warn_of_notices(self._spec, self._loader.notices(), stacklevel=3)
        self._num_batches = len(self._loader)
        self._num_deliveries = self._loader.num_samples() if self._chosen is None else len(self._chosen)  # per epoch
        self._turn = 0          # counts iterators: a new one takes over from the last
        self._under_way = False  # an iterator has taken batches of the epoch that the loader is in
        self._resumed = False   # by load_state_dict, and nothing taken since
        _live.add(self)

    def _open(self) -> _bale.Loader | _bale.CudaLoader:
        if self._cuda_options is None:
            return _bale.Loader(self._spec, self._options, self._chosen)
        return _bale.CudaLoader(self._spec, self._options, self._cuda_options, self._chosen)

    def _selection(self, subset: Numbers | None, weights: Numbers | None, num_draws: int | None,
                   repeats: int) -> _bale.Selection | None:
        if subset is None and weights is None and num_draws is None and repeats == 1:
            return None
        return order.selection(len(self._whole_dataset), subset, weights, num_draws, repeats)

    # --- iterating

    def __iter__(self) -> Iterator[Batch | DeviceBatch]:
        """The rest of the current epoch: all of it, but after load_state_dict() what was left. An epoch that an earlier
        loop broke off begins again."""
        if self._under_way:
            self._loader.set_epoch(self._epoch_after_a_break())
        self._under_way = False
        self._turn += 1
        return _Epoch(self, self._turn)

    def _epoch_after_a_break(self) -> int:
        """What a new iteration gives when the last one was not finished."""
        return self._loader.epoch

    def _next(self) -> Any:
        if isinstance(self._loader, _bale.CudaLoader):
            batch: Any = self._loader.next(self._stream())
        else:
            batch = self._loader.next()
        self._under_way, self._resumed = batch is not None, False
        return None if batch is None else self._convert(batch)

    def _convert(self, batch: Any) -> Any:
        return batch

    def _stream(self) -> int:
        """The device's stream that is to find the batch there, as a number. 0 is the default stream; DLPack tells those of
        others later."""
        return 0

    def __len__(self) -> int:
        """Batches of a whole epoch, the same on every rank. A resumed epoch gives those that were left of them."""
        return self._num_batches

    @property
    def epoch(self) -> int:
        return self._loader.epoch

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch. Right after load_state_dict() the epoch of that state goes on where it was,
        so the usual loop over epochs needs no case of its own. An iterator that has given nothing yet goes along: some
        trainers make it first."""
        if self._resumed and epoch == self._loader.epoch:
            return
        self._loader.set_epoch(epoch)
        self._leave()
        self._resumed = False

    def _leave(self) -> None:
        """An epoch that is under way: its iterator is void."""
        self._turn += self._under_way
        self._under_way = False

    # --- resuming

    def state_dict(self) -> dict[str, int]:
        """After the last batch that was taken. Loads at any world size, batch size and number of workers; take it on one
        rank, between steps."""
        epoch, position, fingerprint = self._loader.state()
        return {"version": 1, "epoch": epoch, "position": position, "fingerprint": fingerprint}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Goes to where `state` was taken; ValueError where it is of another dataset, selection, shuffle or seed."""
        if state.get("version") != 1:
            raise ValueError(f"not a state of bale.Loader: {state!r}")
        if "worker" in state:
            raise ValueError("this state is of one of several DataLoader workers over bale.torch.IterableDataset, which knows "
                             "only its own share; load it there, or take states in one process or of a Loader")
        self._loader.load_state(state["epoch"], state["position"], state["fingerprint"])
        self._leave()
        self._resumed = True

    # --- looking

    @property
    def dataset(self) -> Any:
        """The bale.Dataset that batches come from."""
        return self._whole_dataset

    @property
    def _whole_dataset(self) -> Dataset:
        if self._dataset is None:
            self._dataset = Dataset(self._spec)
        return self._dataset

    @property
    def bad_samples(self) -> list[BadSample]:
        """Every bad sample that came up in batches so far."""
        return [BadSample(*bad) for bad in self._loader.bad_samples()]

    @property
    def counters(self) -> dict[str, Any]:
        return self._loader.counters()

    @property
    def worker_pids(self) -> list[int]:
        return self._loader.worker_pids()

    def __repr__(self) -> str:
        """What it loads and how; of a closed one, too."""
        module = type(self).__module__.replace(".loader", "")
        return (f"{module}.Loader({self._spec!r}, batch_size={self.batch_size}, transform={self.transform!r}, "
                f"rank={self.rank} of {self.world_size}): {self._num_batches} batches")

    # --- ending

    def close(self) -> None:
        """Ends the workers. Batches that are still held stay readable."""
        self._loader.close()
        self._turn += 1

    def _close_at_exit(self) -> None:
        self._loader.close_at_exit()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise make_error("invalid_argument", "a Loader has workers of this process and cannot be pickled; "
                         "make one in each process")


def _ordinal(device: str) -> int:
    kind, _, number = device.partition(":")
    if kind != "cuda" or not (number == "" or number.isdecimal()):
        raise ValueError(f"device: {device!r} is neither 'cuda' nor 'cuda:N'")
    return int(number or 0)


class _Epoch:
    """An iterator over an epoch. Holds no batch: the slot is the caller's alone."""

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader: Loader | None = loader
        self._turn = turn

    def __iter__(self) -> _Epoch:
        return self

    def __len__(self) -> int:
        """Batches of a whole epoch, as len() of a DataLoader's iterator."""
        return 0 if self._loader is None else len(self._loader)

    def __next__(self) -> Any:
        if self._loader is None:
            raise StopIteration
        if self._turn != self._loader._turn:
            raise RuntimeError("this iterator is void: its Loader was iterated again, sent to another epoch or closed; "
                               "for two loops at the same time make two Loaders")
        batch = self._loader._next()
        if batch is None:
            self._loader = None
            raise StopIteration
        return batch
