"""bale.torch.IterableDataset: a stream of samples, shared by ranks and DataLoader workers."""
from __future__ import annotations

import collections
import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data

from bale import _bale
from bale._docs import torch_dataset
from bale._loader.options import Order, shuffle_name, tail_name, with_old_keywords
from bale._loader.passes import Begun, Passes, Place, version_in_state, version_of_state
from bale._types import Json, Shuffle, Tail
from bale._warnings import warn
from bale.torch._attendance import ATTENDANCE, Pass
from bale.torch._ranks import rank_and_world_size, rows_of_rank
from bale.torch._samples import Decode, Samples, Spec
from bale.torch._shared_numbers import SharedNumbers

if TYPE_CHECKING:

    from bale.transforms._operations.arguments import Mode

_GROUP_SAMPLES = 64  # are asked for at a time, one such group ahead of what is read


@torch_dataset
class IterableDataset(Samples, torch.utils.data.IterableDataset[Any]):
    """The samples of a Dataset as a stream, in the Loader's order.

    Each rank gets its share, and each worker of a DataLoader its share of that. No sample is lost or repeated (but see
    `tail`). It holds no Python object per sample. state_dict() and load_state_dict() continue in the middle of an
    epoch; torchdata's StatefulDataLoader calls them in its workers.

    The epoch of an iteration is fixed when its first sample is taken, for all workers of a DataLoader. The next iteration is
    the next epoch, whether this one ended or was left by `break`, on any number of ranks. After set_epoch(n), the next
    iteration is epoch n, and further ones differ from it, from each other and from all other epochs. docs/EPOCHS.md has
    the whole rule.

    Parameters
    ----------
    seed : int, default 0
        Seed of the order.
    shuffle : bool, 'block' or 'stream', default True
        "block" shuffles blocks of samples, for long reads from slow storage. "stream": epoch 0 in stored order, in which
        each block_samples * window_blocks (bale.Order) consecutive samples are shuffled with each other; see bale.Loader.
    tail : {'pad', 'drop', 'uneven'}, default 'pad'
        "pad": every rank gets equally many samples, so some are repeated. "drop": the rest that does not make whole
        batches on all ranks is left out. "uneven": each sample exactly once, so some ranks get one less.
    drop_last : bool, default False
        The same as tail="drop".
    batch_size : int, default 1
        The batch size of the DataLoader. Its workers then take turns batch by batch, so its batches do not depend on
        the number of workers, and only the last one is short. 1: they take turns sample by sample.
    rank, world_size : int or None, default None
        None: those of torch.distributed if it is initialized when an iteration begins, else $RANK and $WORLD_SIZE, else
        0 and 1. With Accelerate, which distributes a stream to ranks by itself, pass 0 and 1.
    order : bale.Order, default bale.Order()
        Which samples an epoch has: subset, weights, repeats; sizes of blocks. Its other members have no meaning here.
    **old : object
        Options that are members of Order now. A DeprecationWarning has the new spelling.

    Raises
    ------
    KeyError
        If a sample does not have a field (also a bale.Error); while iterating.
    bale.Error
        If the dataset cannot be opened; while iterating with code "damaged" if a field cannot be decoded, "unsupported"
        if an image does not have the mode.

    Notes
    -----
    Processes: it can be pickled, and used in forked workers; both open the files again. A DataLoader's workers share its
    epoch with the process that started them.

    Examples
    --------
    >>> stream = bt.IterableDataset("packs/train", transform, seed=1, batch_size=64)
    >>> loader = torch.utils.data.DataLoader(stream, batch_size=64, num_workers=8)
    >>> for epoch in range(90):
    ...     stream.set_epoch(epoch)  # before the DataLoader is iterated
    ...     for images, labels in loader:
    ...         pass
    """

    def __init__(self, spec: Spec, transform: Callable[..., object] | None = None,
                 target_transform: Callable[..., object] | None = None, *,
                 transforms: Callable[..., object] | None = None, fields: Sequence[str] | None = None,
                 field: str | None = None, label_field: str | None = None, decode: Decode = "pil", seed: int = 0,
                 shuffle: Shuffle = True, tail: Tail = "pad", drop_last: bool = False, batch_size: int = 1,
                 rank: int | None = None, world_size: int | None = None, verify_checksums: bool = True, mode: Mode = "RGB",
                 order: Order = Order(), **old: object) -> None:
        order, = with_old_keywords("bale.torch.IterableDataset", old, order=order)
        if (order.ranks_per_node, order.augment_seed) != (None, None) or order._mixes():
            raise ValueError("order: ranks_per_node, augment_seed and mixtures (shares) are only for Loaders")
        super().__init__(spec, transform, target_transform, transforms, fields, field, label_field, decode,
                         verify_checksums, mode)
        self._chosen, self._seed, self._shuffle = order, seed, shuffle_name(shuffle)
        self.tail = tail_name(tail, drop_last)
        self.batch_size = batch_size
        self._given_rank = (rank, world_size)
        self._passes = Passes(SharedNumbers())
        self._iterations: collections.Counter[int] = collections.Counter()  # by worker
        self._who: tuple[int, int, int] | None = None
        self._progress: _Progress | None = None  # of the latest iteration, since its first sample
        self._has_warned = False
        self._plan(0)  # options that make no sense are refused here

    # --- iterating

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the next epoch; after load_state_dict(), over the rest of that state's."""
        worker: Any = torch.utils.data.get_worker_info()  # type: ignore[no-untyped-call]
        self._who = self._progress = None
        if self._given_rank == (None, None) and self.world_size > 1:
            _refuse_accelerate()
        if worker is not None:
            self._iterations[worker.id] += 1
            self._who = _iterator_of(worker), self._iterations[worker.id], self._passes.turn
        return self._deliver(self._who)

    def _deliver(self, who: tuple[int, int, int] | None) -> Iterator[object]:
        begun = self._passes.begin(who)
        progress = self._progress = self._progress_at(begun.place)
        attended = self._attend(begun.place) if who is None else None
        samples = (self._order.sample(begun.place.number, position) for position in progress.positions())
        group = self._asked_for(samples)
        while group:
            following = self._asked_for(samples)
            for sample in group:
                if self._passes.is_void(begun):
                    raise RuntimeError(_words_of_void(begun))
                item = self._at(sample)
                progress.taken += 1
                yield item
            group = following
        if who is None and self._progress is progress:
            self._progress = None  # the next one is the next epoch
        ATTENDANCE.end(attended)

    def _attend(self, place: Place) -> Pass | None:
        if self._given_rank != (None, None) or self.world_size == 1:
            return None
        return ATTENDANCE.begin(self.samples.spec, self._fingerprint, place.number, place.epoch, self.world_size)

    def _asked_for(self, samples: Iterator[int]) -> list[int]:
        group = list(itertools.islice(samples, _GROUP_SAMPLES))
        self.samples.prefetch(group)
        return group

    def _progress_at(self, place: Place) -> _Progress:
        worker: Any = torch.utils.data.get_worker_info()  # type: ignore[no-untyped-call]
        rank, world_size = self._rank_and_world_size
        return _Progress(place, self._plan(place.position), 0 if worker is None else worker.id,
                         1 if worker is None else worker.num_workers, self.batch_size, world_size)

    def _latest(self) -> _Progress:
        """The progress of the latest iteration, or where the next one begins."""
        return self._progress or self._progress_at(self._passes.place(self._who))

    def __len__(self) -> int:
        """Number of samples of this rank in a whole epoch, over all its workers. A resumed epoch has only the samples that
        are left."""
        size = rows_of_rank(self._plan(0), self.batch_size)
        loader = sys._getframe(1).f_locals.get("self")
        if isinstance(loader, torch.utils.data.DataLoader) and not self._has_warned:
            self._warn_of_short_batches(loader, size)
        return size

    def _warn_of_short_batches(self, loader: torch.utils.data.DataLoader[Any], size: int) -> None:
        """A DataLoader computes its length as if one worker made all batches; trainers count epochs and skip batches by that."""
        if loader.batch_size is None:
            return
        num_workers = max(loader.num_workers, 1)
        whole, rest = divmod(size, self.batch_size)
        shares = [len(range(worker, whole, num_workers)) * self.batch_size for worker in range(num_workers)]
        shares[whole % num_workers] += rest
        supposed = _batches(size, loader.batch_size, loader.drop_last)
        made = sum(_batches(share, loader.batch_size, loader.drop_last) for share in shares)
        if supposed != made:
            self._has_warned = True
            warn(f"a DataLoader of {loader.num_workers} workers makes {made} batches of {size} samples, not the {supposed} of its length, because "
                 f"this IterableDataset divides samples by batch_size={self.batch_size}; make it with batch_size={loader.batch_size}, the DataLoader's")

    def _plan(self, position: int) -> _bale.RankPlan:
        rank, world_size = self._rank_and_world_size
        return _bale.RankPlan(len(self._order), position, self.batch_size, rank, world_size, self.tail)

    @functools.cached_property
    def _order(self) -> _bale.EpochOrder:
        of = self._chosen
        return _bale.EpochOrder(of._chosen_in(lambda: self.samples)._selection(len(self.samples)), self._shuffle, of.block_samples, of.window_blocks, self._seed)

    # --- epochs and ranks

    @property
    def epoch(self) -> int:
        """Number of the epoch that an iteration is in, or that is iterated next; an int."""
        return self._latest().place.epoch

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch, which is always the same.

        Directly after load_state_dict(), the epoch of that state is continued instead. An iterator that has not returned a
        sample yet follows; one that has becomes invalid. Workers of a DataLoader read ahead: call it before the DataLoader is
        iterated, or they raise RuntimeError. Persistent workers follow it. What Accelerate's loader calls by itself for each
        iteration changes nothing.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0.

        Raises
        ------
        ValueError
            If the number is below 0.
        """
        if _is_counted_by_accelerate():
            return  # as passes are counted here, but from 0 also after load_state_dict(), and again in skip_first_batches()
        self._passes.set_epoch(epoch)
        self._progress = None

    @property
    def _rank_and_world_size(self) -> tuple[int, int]:
        return rank_and_world_size(*self._given_rank)

    @property
    def rank(self) -> int:
        """Rank of this process."""
        return self._rank_and_world_size[0]

    @property
    def world_size(self) -> int:
        """Number of ranks."""
        return self._rank_and_world_size[1]

    # --- resuming

    def state_dict(self) -> Json:
        """Returns the place after the last sample that was returned, as bale.Loader.state_dict() does.

        If the stream is iterated in one process, the state can be loaded with any world size, and is interchangeable with
        that of a bale.Loader of the same seed and shuffle. In one of several DataLoader workers, it is the state of that
        worker: it can be loaded only by the same worker, with the same number of workers, world size and batch_size.

        Returns
        -------
        dict
            Can be pickled and stored as JSON.
        """
        progress = self._latest()
        place = progress.place._replace(position=progress.position)
        state: Json = {**place.in_state(), "fingerprint": self._fingerprint,
                       **version_in_state(self.samples._dataset.identity())}
        if progress.num_workers > 1:
            state["worker"] = {**progress.share, "taken": progress.taken}
        return state

    def load_state_dict(self, state: Json) -> None:
        """Makes the next iteration begin at the place of a state. States of earlier versions load, too.

        Parameters
        ----------
        state : dict
            What state_dict() returned.

        Raises
        ------
        ValueError
            If the state is of another dataset or version of it, selection, shuffle or seed, or of another worker.
        """
        place = Place.of_state(state, "bale.torch.IterableDataset")
        fingerprint = state["fingerprint"]
        if fingerprint != self._fingerprint and fingerprint not in self._older_fingerprints():
            saw, now = version_of_state(state), self.samples._dataset.identity()
            if saw and saw != now:
                _bale.refuse_other_version(self.samples.spec, saw, now, place.epoch)
            raise ValueError("this state is of another dataset, selection, shuffle or seed")
        share = dict(state.get("worker", {}))
        taken = share.pop("taken", 0)
        ours = self._progress_at(Place(0)).share
        if share and share != ours:
            raise ValueError(f"this state is of a DataLoader worker with {_words(share)}, not of one with {_words(ours)}; "
                             f"resume with the same numbers, or use bale.torch.Loader, whose states load at any")
        self._passes.load(place._replace(taken=taken), in_worker=torch.utils.data.get_worker_info() is not None)  # type: ignore[no-untyped-call]
        self._progress = None

    @property
    def _fingerprint(self) -> int:
        return self._order.fingerprint(len(self.samples), self.samples._dataset.identity())

    def _older_fingerprints(self) -> Iterator[int]:
        """Fingerprints that earlier states may have: up to version 0.1.0, with the number of samples only; and if the shards
        had no index then, with a hash of their samples."""
        size = len(self.samples)
        yield self._order.fingerprint(size)
        yield self._order.fingerprint(size, self.samples._dataset.identity_of_samples())

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        state.pop("_order", None)
        state["_given_rank"] = self._rank_and_world_size  # a spawned worker knows no torch.distributed
        state["_progress"] = None
        return state


class _Progress:
    """The progress of one iteration, in the share of one worker of one rank."""

    def __init__(self, place: Place, plan: _bale.RankPlan, worker: int, num_workers: int, batch_size: int,
                 world_size: int) -> None:
        self.place, self.taken = place, place.taken
        self.plan = plan
        self.worker, self.num_workers = worker, num_workers
        self.batch_size, self.world_size = batch_size, world_size

    @property
    def share(self) -> dict[str, int]:
        return {"worker": self.worker, "num_workers": self.num_workers, "world_size": self.world_size,
                "batch_size": self.batch_size}

    @property
    def position(self) -> int:
        """The position in the epoch before which all ranks have taken everything. With several workers, the position at
        which they began."""
        if self.num_workers > 1:
            return self.place.position
        return min(self.place.position + self.taken * self.world_size, self.plan.position_after(self.plan.num_batches))

    def positions(self) -> Iterator[int]:
        """The positions in the epoch of the rest of the share."""
        for n in itertools.count(self.taken):
            turn, row = divmod(n, self.batch_size)
            batch = turn * self.num_workers + self.worker
            if batch >= self.plan.num_batches or row >= self.plan.num_rows(batch):
                return
            position = self.plan.row(batch, row)
            if position is None:
                return
            yield position


def _refuse_accelerate() -> None:
    """Accelerate gives each rank a part of what this rank's share has. Raises RuntimeError if the stack says that it iterates."""
    frame = sys._getframe(1) if "accelerate" in sys.modules else None
    while frame is not None:
        if type(frame.f_locals.get("self")).__name__ in {"DataLoaderDispatcher", "IterableDatasetShard"}:
            raise RuntimeError("Accelerate divides a stream among ranks by itself, so most samples of this one would be left out; make the "
                               "IterableDataset with rank=0, world_size=1")
        frame = frame.f_back


def _is_counted_by_accelerate() -> bool:
    """Whether set_epoch() is called by an iteration of Accelerate's loader, and not by a program. Only the stack knows it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name == "set_epoch":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "__iter__" and frame.f_globals.get("__name__") == "accelerate.data_loader"


def _iterator_of(worker: Any) -> int:
    """Identifies the DataLoader's iterator that has started a worker, in all its workers: by its seed, and the pipe to which they write.
    The seed alone is that of a later iterator, too, if torch's seed was set again. Only the stack knows the pipe."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "_worker_loop":
        frame = frame.f_back
    try:
        pipe = os.fstat(frame.f_locals["data_queue"]._writer.fileno()).st_ino
    except (AttributeError, KeyError, OSError):  # another version of torch
        pipe = 0
    return hash((getattr(worker, "seed", worker.id) - worker.id, pipe))


def _batches(samples: int, batch_size: int, drop_last: bool) -> int:
    return samples // batch_size if drop_last else -(-samples // batch_size)


def _words(share: dict[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in share.items())


def _words_of_void(begun: Begun) -> str:
    if begun.in_worker:
        return (f"set_epoch() was called after the DataLoader's workers had begun epoch {begun.place.epoch}; call it before the "
                f"DataLoader is iterated")
    return "this iterator is void: set_epoch() or load_state_dict() was called after it had returned a sample"
