"""bale.Loader: shuffled, augmented batches, the same ones for any number of workers, ranks and restarts."""
import atexit
import collections
import os
import weakref

from bale import _bale, transforms
from bale.dataset import Dataset, text_of_spec
from bale.errors import make_error
from bale.program import program_path

BadSample = collections.namedtuple("BadSample", "sample key shard reason epoch action quarantined")

_live = weakref.WeakSet()


@atexit.register
def _close_all():
    """Workers end before the interpreter does; batches that are still held stay readable."""
    for loader in list(_live):
        loader.close()


class Loader:
    """Iterating is one epoch:

        loader = bale.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
        for epoch in range(90):
            loader.set_epoch(epoch)
            for images, labels in loader:
                ...

    A batch (`Batch`) unpacks as images, labels; both are views of shared memory. The ring has `prefetch` of them: keep few,
    copy what is to stay.

    spec           a packed dataset, as the CLI takes it, or a bale.Dataset
    workers        processes (None: one a core; 0: decode in the caller); threads=True: threads of this process
    shuffle        True, False, or "block" (long reads for slow storage) with block_samples, window_blocks
    tail           "pad", "drop" (also drop_last=True) or "uneven": what becomes of an epoch's incomplete end
    prefetch       batches in the ring, of all workers together, those in your hands included
    subset         positions in the dataset that make up an epoch
    weights        draw `num_draws` (default: as many as weights) samples an epoch with these probabilities
    repeats        each sample so often an epoch
    read_ahead_bytes, large_transfers, direct_io    for slow disks and data beyond memory, see docs/TUNING.md
    learn_bytes    shared memory for entry points that workers make in the first epoch, see docs/TUNING.md
    on_bad_sample  "fail", "skip" (zeros, masked out) or "substitute"; see bad_samples
    """

    def __init__(self, spec, batch_size=256, *, workers=None, seed=0, rank=0, world_size=1, shuffle=True,
                 block_samples=64, window_blocks=16, tail="pad", drop_last=False, transform=None, prefetch=4,
                 on_bad_sample="fail", threads=False, subset=None, weights=None, num_draws=None, repeats=1, field="",
                 persistent_workers=True, verify_checksums=True, max_pixels=1 << 27, stall_timeout_s=120.0,
                 read_ahead_bytes=128 << 20, large_transfers=False, learn_bytes=0, direct_io=False):
        self._spec = spec.spec if isinstance(spec, Dataset) else text_of_spec(spec)
        if drop_last and tail == "uneven":
            raise ValueError("drop_last=True contradicts tail='uneven'")
        if shuffle not in (True, False, "block"):
            raise ValueError(f"shuffle: {shuffle!r} is none of True, False, 'block'")
        self.batch_size = batch_size
        self.drop_last = bool(drop_last) or tail == "drop"
        self.transform = transforms.train() if transform is None else transform
        self.rank, self.world_size = rank, world_size
        options = {
            "batch_size": batch_size, "workers": workers, "threads": threads, "prefetch": prefetch,
            "persistent_workers": persistent_workers, "seed": seed,
            "shuffle": {True: "full", False: "none"}.get(shuffle, shuffle), "block_samples": block_samples,
            "window_blocks": window_blocks, "rank": rank, "world_size": world_size,
            "tail": "drop" if self.drop_last else tail, "transform": self.transform, "field": field,
            "on_bad_sample": on_bad_sample, "verify_checksums": verify_checksums, "max_pixels": max_pixels,
            "stall_timeout_s": stall_timeout_s, "read_ahead_bytes": read_ahead_bytes,
            "large_transfers": large_transfers, "learn_bytes": learn_bytes, "direct_io": direct_io,
            "worker_program": os.environ.get("BALE_WORKER") or program_path("bale-worker"),
        }
        self._dataset = spec if isinstance(spec, Dataset) else None
        self._loader = _bale.Loader(self._spec, options, self._selection(subset, weights, num_draws, repeats))
        self._turn = 0          # counts iterators: a new one takes over from the last
        self._under_way = False  # an iterator has taken batches of the epoch that the loader is in
        self._resumed = False   # by load_state_dict, and nothing taken since
        _live.add(self)

    def _selection(self, subset, weights, num_draws, repeats):
        if subset is not None and weights is not None:
            raise ValueError("subset and weights: give one of them")
        if num_draws is not None and weights is None:
            raise ValueError("num_draws needs weights")
        if weights is not None:
            selection = _bale.Selection.weighted([float(w) for w in weights],
                                                 len(weights) if num_draws is None else num_draws)
            if len(weights) != len(self.dataset):
                raise ValueError(f"{len(weights)} weights for {len(self.dataset)} samples")
        elif subset is not None:
            selection = _bale.Selection.subset([int(i) for i in subset], len(self.dataset))
        elif repeats != 1:
            selection = _bale.Selection.all(len(self.dataset))
        else:
            return None
        return selection if repeats == 1 else selection.repeated(repeats)

    # --- iterating

    def __iter__(self):
        """The rest of the current epoch: all of it, but after load_state_dict() what was left. An epoch that an earlier
        loop broke off begins anew."""
        if self._under_way:
            self._loader.set_epoch(self._loader.epoch)
        self._under_way = False
        self._turn += 1
        return _Epoch(self, self._turn)

    def _next(self):
        batch = self._loader.next()
        self._under_way, self._resumed = batch is not None, False
        return None if batch is None else self._convert(batch)

    def _convert(self, batch):
        return batch

    def __len__(self):
        """Batches of the current epoch, the same on every rank; of a resumed epoch those that were left."""
        return len(self._loader)

    @property
    def epoch(self):
        return self._loader.epoch

    def set_epoch(self, epoch):
        """Goes to the beginning of an epoch. Right after load_state_dict() the epoch of that state goes on where it was,
        so the usual loop over epochs needs no case of its own."""
        if self._resumed and epoch == self._loader.epoch:
            return
        self._loader.set_epoch(epoch)
        self._under_way = self._resumed = False
        self._turn += 1

    # --- resuming

    def state_dict(self):
        """After the last batch that was taken. Loads at any world size, batch size and number of workers; take it on one
        rank, between steps."""
        epoch, position, fingerprint = self._loader.state()
        return {"version": 1, "epoch": epoch, "position": position, "fingerprint": fingerprint}

    def load_state_dict(self, state):
        """Goes to where `state` was taken; ValueError where it is of another dataset, selection, shuffle or seed."""
        if state.get("version") != 1:
            raise ValueError(f"not a state of bale.Loader: {state!r}")
        self._loader.load_state(state["epoch"], state["position"], state["fingerprint"])
        self._under_way, self._resumed = False, True
        self._turn += 1

    # --- looking

    @property
    def dataset(self):
        if self._dataset is None:
            self._dataset = Dataset(self._spec)
        return self._dataset

    @property
    def bad_samples(self):
        """Every bad sample that came up in batches so far."""
        return [BadSample(*bad) for bad in self._loader.bad_samples()]

    @property
    def counters(self):
        return self._loader.counters()

    @property
    def worker_pids(self):
        return self._loader.worker_pids()

    # --- ending

    def close(self):
        """Ends the workers. Batches that are still held stay readable."""
        self._loader.close()
        self._turn += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        raise make_error("invalid_argument", "a Loader has workers of this process and cannot be pickled; "
                         "make one in each process")


class _Epoch:
    """An iterator over an epoch. Holds no batch: the slot is the caller's alone."""

    def __init__(self, loader, turn):
        self._loader = loader
        self._turn = turn

    def __iter__(self):
        return self

    def __next__(self):
        if self._loader is None:
            raise StopIteration
        if self._turn != self._loader._turn:
            raise RuntimeError("this iterator is void: its Loader was iterated anew, sent elsewhere or closed")
        batch = self._loader._next()
        if batch is None:
            self._loader = None
            raise StopIteration
        return batch
