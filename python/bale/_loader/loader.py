"""bale.Loader: shuffled, augmented batches, which do not depend on the number of workers or on restarts."""
from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bale import _bale, transforms
from bale._bale import Batch, DeviceBatch
from bale._dataset.cache import warn_of_cache
from bale._dataset.dataset import Dataset
from bale._dataset.notices import warn_of_notices
from bale._dataset.pictures import html_of_loader
from bale._dataset.spec import shown, text_of_spec
from bale._loader import order
from bale._loader.bad_sample import BadSample
from bale._loader.device import Fallbacks, device_options
from bale._loader.epoch_iterator import EpochIterator
from bale._loader.fields import Field
from bale._loader.fields import options_of as options_of_fields
from bale._loader.lazy_keys import LazyKeys
from bale._loader.passes import Begun, Own, Passes, Place
from bale._types import Numbers, Path, Shuffle, Tail
from bale._warnings import warn
from bale.errors import make_error
from bale.program import program_path
from bale.transforms.translation import views_of_loader

if TYPE_CHECKING:
    from typing_extensions import Self


_live: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Stops the workers before the interpreter exits. Batches that are held stay readable. Daemon threads that iterate a
    Loader stop, without an exception."""
    _bale.stop_other_threads()
    for loader in list(_live):
        loader._close_at_exit()


class Loader:
    """Shuffled, augmented batches of a packed dataset.

    One iteration is one epoch. A batch (bale.Batch) unpacks as images, labels. Images are N x H x W x C (or
    N x C x H x W) of the transform's dtype, labels int64. `batch.indices` (int64 positions in the dataset) and
    `batch.keys` say which samples they are, and cost nothing unless they are asked for.

    The epoch of an iteration is fixed when it returns its first batch. The next iteration is the next epoch, whether this
    one ended or was left by `break`, on any number of ranks. After set_epoch(n), the next iteration is epoch n, and further
    ones differ from it, from each other and from all other epochs. docs/EPOCHS.md has the whole rule.

    Images are a view of shared memory, a ring of `prefetch` slots; labels are a copy. You may keep any number of
    batches: if you keep nearly all slots, further batches are copies (`Batch.is_copy`), which costs time and memory.

    The batches depend on the dataset, the seed, the epoch and the options, and not on the number of workers or on
    restarts.

    Parameters
    ----------
    spec : path, sequence of paths or bale.Dataset
        A packed dataset as bale.Dataset takes it, also a remote one ("s3://bucket/packs/train", "https://..."), or a
        list of datasets.
    batch_size : int, default 256
        Samples per batch and rank.
    workers : int or None, default None
        Number of worker processes. None: one per core that this rank has. 0: decode in the caller.
    seed : int, default 0
        Seed of the order, and of the augmentation unless augment_seed is given.
    rank, world_size : int, default 0 and 1
        This process's share of each epoch, rank 0 to world_size - 1.
    shuffle : bool, 'block', 'node-local' or 'stream', default True
        "block" shuffles blocks of samples, for long reads from slow storage. "node-local" gives each node a part of the
        shards, the same in every epoch, so that its cache fetches and holds only that part; see docs/SCALE.md for what
        that costs in randomness. "stream" is for shards without an index and a manifest: epoch 0 is in stored order, and
        each block_samples * window_blocks consecutive samples are shuffled with each other; later epochs are as with True.
    block_samples : int, default 64
        Samples per block, for shuffle="block" and "stream".
    window_blocks : int, default 16
        Blocks that are mixed with each other, for shuffle="block" and "stream".
    ranks_per_node : int or None, default None
        Ranks on each node, for shuffle="node-local": rank r is on node r // ranks_per_node. None: $LOCAL_WORLD_SIZE, which
        torchrun sets.
    tail : {'pad', 'drop', 'uneven'}, default 'pad'
        The incomplete end of an epoch: "pad" repeats samples, "drop" leaves it out, "uneven" masks the missing rows.
    drop_last : bool, default False
        The same as tail="drop".
    transform : transform or None, default None
        One of bale.transforms, or one of torchvision or timm, which is translated (bale.transforms.translate). None:
        bale.transforms.train().
    views : sequence of transforms or None, default None
        Instead of `transform`: each image is decoded once and made into one image per view, with draws of its own:
        `views=[global_crop] * 2 + [local_crop] * 6`. Images are then a list with one array per view. Not with a device.
    prefetch : int, default 4
        Number of batches in the ring, for all workers together, including those that you hold.
    on_bad_sample : {'fail', 'skip', 'substitute'}, default 'fail'
        What happens to a sample that cannot be read or decoded: "fail" raises bale.Error, "skip" gives a masked row of zeros,
        "substitute" gives another sample. `bad_samples` lists them.
    threads : bool, default False
        Decode in threads of this process instead of worker processes.
    augment_seed : int or None, default None
        Seed of crops, flips and colors. None: `seed`.
    no_label : int, default bale.NO_LABEL
        Label of rows without one: unlabeled and skipped samples, empty rows.
    subset : array-like of int or None, default None
        Positions in the dataset that make up an epoch. None: all.
    weights : array-like of float or None, default None
        Draw `num_draws` samples per epoch with these probabilities, with replacement; one weight per sample.
    num_draws : int or None, default None
        Samples per epoch with `weights`. None: len(weights).
    repeats : int, default 1
        Deliver each sample this often per epoch, which is then as many times as long. torchvision's RASampler delivers as
        many copies of a part of the samples instead, so its epoch has the dataset's length.
    field : str, default ''
        Name of the field of the image. "": the first one with an image's name.
    label_field : str, default ''
        Name of the field of the label, a whole number as in "cls": "label.cls". A sample without it has no label. "": the
        labels of the dataset.
    fields : mapping from str to str, Field or None, default None
        Further fields of each sample, {"caption": "txt", "embedding": bale.Field("npy", shape=(768,))}: names in the
        batch, and stored fields. `batch.fields` has them, with a device in ordinary memory (docs/FIELDS.md). Masks,
        boxes and keypoints take the steps of their image; with several views the field says of which, `view=0`. They
        cannot follow images that are mixed, or mirrored by the device.
    persistent_workers : bool, default True
        False: workers exit at the end of each epoch.
    verify_checksums : bool, default True
        Compare the checksum of each field before it is decoded.
    max_pixels : int, default 178956970
        Images with more pixels are bad samples.
    stall_timeout_s : float, default 120.0
        Seconds after which a worker that is stuck at one sample is replaced; waiting for its bytes does not count. 0:
        never.
    storage_timeout_s : float, default 1800.0
        Seconds that a worker may wait for the bytes of a sample before the iteration raises bale.Error ("retryable").
        0: no limit.
    read_ahead_bytes : int, default 128 << 20
        Bytes that are requested from the kernel ahead of the workers. 0: none. See docs/TUNING.md.
    large_transfers : bool, default False
        For disks that are limited in transfers per second; see docs/TUNING.md.
    direct_io : bool, default False
        Bypass the page cache, without reading ahead, for datasets larger than memory; see docs/TUNING.md.
    seek_point_cache_bytes : int, default 0
        Bytes of shared memory for seek points of JPEGs, which workers make in the first epoch so that later epochs
        decode faster. 0: none. See docs/TUNING.md.
    device : str or None, default None
        "cuda" or "cuda:N": batches (bale.DeviceBatch) in the memory of that GPU, copied ahead of time. Workers make
        8-bit pixels, and the device converts them, with the same bits as without a device.
    depth : int, default 2
        Number of batches that are copied to the device ahead.
    hold : int, default 3
        Number of batches that you hold for which device memory is allocated in advance; each batch more allocates
        memory.
    device_hflip : float, default 0.0
        Probability that the device mirrors an image, for transforms that do not.
    device_convert : bool, default True
        False: the workers make pixels of the transform's dtype, and 2 to 4 times as many bytes are copied. They do so
        too if the device does not take bale's kernels. What a driver refuses (kernels, page-locked memory) is done in a
        slower way, with one warning; see counters["pageable_bytes"].
    decode : {'host', 'device'}, default 'host'
        "device": the GPU decodes JPEGs by NVIDIA's nvJPEG, if it is installed, for transforms that only crop, resize once and
        mirror. Workers decode what nvJPEG does not. Its pixels differ from theirs. Worth it only where `bale tune
        --device cuda` measures that it is faster; see docs/TUNING.md.
    mix : bale.transforms.Mix or None, default None
        Mixup and cutmix; batches then have partner_labels, shares, and partners, the rows that were mixed in. Needs a
        float dtype, images of one size, and one view.
    mode : {'RGB', 'L', 'RGBA', 'I;16'} or None, default None
        What images are decoded to, by Pillow's names: "L" has one channel, "RGBA" four, "I;16" is 16-bit gray PNGs and
        TIFFs as uint16, which can be cropped, flipped and resized. The transform changes such images. An image that a
        mode cannot give is a bad sample. None: the transform's own mode, usually RGB.

    Attributes
    ----------
    batch_size : int
        As given.
    rank, world_size : int
        As given.
    transform : Transform or Compose
        The transform of the first view.
    views : list of Transform or Compose
        The transforms of all views.

    Raises
    ------
    bale.Error
        If the dataset cannot be opened, and, while iterating, for a bad sample with on_bad_sample="fail" (code
        "damaged"), for files that changed ("changed"), and for storage that does not answer in time ("retryable").
    ValueError
        If an option is out of range, or options contradict each other.
    TypeError
        If a transform cannot be translated.

    Notes
    -----
    Shards without an index and a manifest are scanned first, because their samples are counted. With shuffle=False, and in
    epoch 0 of shuffle="stream", they are scanned while they are read, a few ahead. Then len() waits until all are, and an
    error of a later shard comes when its samples do. Not with a device, fields, transforms without a fixed size, chosen
    samples (subset, weights, repeats), seek_point_cache_bytes and on_bad_sample="substitute".

    Threads: used by one thread at a time.
    Processes: until it is iterated, it can be pickled, and used after a fork; both open the dataset again. Later only the
    process that iterated it can use it. Workers are separate programs, which exit with this process.

    Examples
    --------
    >>> loader = bale.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    >>> for epoch in range(90):
    ...     loader.set_epoch(epoch)
    ...     for images, labels in loader:
    ...         pass
    """

    _fixed: ClassVar[frozenset[str]]  # attributes that nobody may set
    _given: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **options: Any) -> Self:
        made = super().__new__(cls)
        made._given = (args, options)
        return made

    def __init__(self, spec: Path | Sequence[Path] | Dataset, batch_size: int = 256, *,
                 workers: int | None = None, seed: int = 0,
                 rank: int = 0, world_size: int = 1, shuffle: Shuffle = True, block_samples: int = 64,
                 window_blocks: int = 16, ranks_per_node: int | None = None, tail: Tail = "pad", drop_last: bool = False,
                 transform: Any = None, views: Sequence[Any] | None = None, prefetch: int = 4,
                 on_bad_sample: Literal["fail", "skip", "substitute"] = "fail", threads: bool = False,
                 augment_seed: int | None = None, no_label: int = _bale.NO_LABEL,
                 subset: Numbers | None = None, weights: Numbers | None = None,
                 num_draws: int | None = None, repeats: int = 1, field: str = "", label_field: str = "",
                 fields: Mapping[str, str | Field] | None = None, persistent_workers: bool = True,
                 verify_checksums: bool = True, max_pixels: int = 178_956_970, stall_timeout_s: float = 120.0,
                 storage_timeout_s: float = 1800.0,
                 read_ahead_bytes: int = 128 << 20, large_transfers: bool = False, direct_io: bool = False,
                 seek_point_cache_bytes: int = 0, device: str | None = None, depth: int = 2, hold: int = 3, device_hflip: float = 0.0,
                 device_convert: bool = True, decode: Literal["host", "device"] = "host",
                 mix: transforms.Mix | None = None, mode: Literal["RGB", "L", "RGBA", "I;16"] | None = None) -> None:
        self._spec = spec.spec if isinstance(spec, Dataset) else text_of_spec(spec)
        self.batch_size = batch_size
        tail = order.tail_name(tail, drop_last)
        self.drop_last = tail == "drop"
        self.views = views_of_loader(transform, views, mode)
        self.transform = self.views[0]
        if device is not None and len(self.views) > 1:
            raise ValueError("views: batches on a device have one view; leave device out, and move the images of each view "
                             "yourself")
        self.rank, self.world_size = rank, world_size
        options: dict[str, Any] = {
            "batch_size": batch_size, "workers": workers, "threads": threads, "prefetch": prefetch,
            "persistent_workers": persistent_workers, "seed": seed,
            "augment_seed": seed if augment_seed is None else augment_seed, "no_label": no_label,
            "shuffle": order.shuffle_name(shuffle),
            "block_samples": block_samples, "window_blocks": window_blocks, "ranks_per_node": ranks_per_node,
            "rank": rank, "world_size": world_size,
            "tail": tail, "transform": self.transform, "further_views": self.views[1:], "field": field,
            "label_field": label_field,
            "fields": options_of_fields(fields),
            "on_bad_sample": on_bad_sample, "verify_checksums": verify_checksums, "max_pixels": max_pixels,
            "stall_timeout_s": stall_timeout_s, "storage_timeout_s": storage_timeout_s, "read_ahead_bytes": read_ahead_bytes,
            "large_transfers": large_transfers, "direct_io": direct_io, "seek_point_cache_bytes": seek_point_cache_bytes,
            "worker_program": os.environ.get("BALE_WORKER") or program_path("bale-worker"),
        }
        mixes = transforms.Mix() if mix is None else mix
        if mixes.num_classes is not None:
            raise ValueError("mix: num_classes makes soft labels, which bale.torch.Loader returns; leave it out and use the "
                             "batch's labels, partner_labels and shares")
        options.update(mixup_alpha=mixes.mixup, cutmix_alpha=mixes.cutmix, mix_probability=mixes.probability,
                       mix_switch_probability=mixes.switch)
        self._positions = LazyKeys(self._spec, spec if isinstance(spec, Dataset) else None)
        self._options = options
        self._chosen = self._selection(subset, weights, num_draws, repeats)
        self._device_options = device_options(device, decode, depth=depth, hold=hold, device_hflip=device_hflip,
                                              device_convert=device_convert)
        self._fallbacks = Fallbacks(self._name(), may_come_later=decode == "device")
        self._native, self._process = self._open(), os.getpid()
        self._earlier_bad: list[BadSample] = []  # of native Loaders before this one
        self._earlier_counters: dict[str, Any] = {}
        self._is_used = False  # then it is the process's that has used it
        self._positions.bind(self._loader.version())
        self._num_deliveries_known: int | None = None
        self._warns_later = False
        if self._loader.is_counted():
            if not isinstance(spec, Dataset):  # it has warned already
                warn_of_notices(self._spec, self._loader.notices())
            self._num_deliveries_known = self._num_deliveries
        else:
            self._warns_later = not isinstance(spec, Dataset)
        self._live_iterator = 0  # the number of the latest one, which takes over from the others
        self._passes = Passes(Own())
        self._under_way: Begun | None = None  # the pass that the latest batch is of, until it ends
        self._loaded: dict[str, int] = {}     # the latest state
        self._is_made = True
        _live.add(self)

    @property
    def _loader(self) -> _bale.Loader | _bale.CudaLoader:
        """The native Loader. A process that was forked opens one of its own, if the Loader was not used before."""
        if not self._is_used and self._process != os.getpid():
            self._open_again()
        return self._native

    def _open(self) -> _bale.Loader | _bale.CudaLoader:
        if self._device_options is None:
            return _bale.Loader(self._spec, self._options, self._chosen)
        return _bale.CudaLoader(self._spec, self._options, self._device_options, self._chosen)

    def _selection(self, subset: Numbers | None, weights: Numbers | None, num_draws: int | None,
                   repeats: int) -> _bale.Selection | None:
        if subset is None and weights is None and num_draws is None and repeats == 1:
            return None
        return order.selection(len(self._whole_dataset), subset, weights, num_draws, repeats)

    # --- iterating

    def __iter__(self) -> Iterator[Batch | DeviceBatch]:
        """Iterates over the next epoch; after load_state_dict(), over the rest of that state's. An earlier iterator becomes
        invalid."""
        self._live_iterator += 1
        self._under_way = None
        return EpochIterator(self, self._live_iterator)

    def _is_void(self, iterator: int, begun: Begun | None) -> bool:
        return iterator != self._live_iterator or (begun is not None and self._passes.is_void(begun))

    def _go_to_pass(self) -> None:
        """Goes to where an iterator begins that takes its first batch now."""
        place = self._passes.place()
        if place.position == 0:  # load_state_dict() has gone to any other
            self._loader.set_epoch(place.number)

    def _begin_pass(self) -> Begun:
        """The first batch was made, or the end of an empty pass reached."""
        begun = self._under_way = self._passes.begin()
        return begun

    def _end_pass(self) -> None:
        self._under_way = None

    def _next(self) -> Any:
        loader = self._loader
        self._is_used = True
        if isinstance(loader, _bale.CudaLoader):
            batch: Any = loader.next(self._stream(), self._positions)
            self._fallbacks.warn(loader)
        else:
            batch = loader.next(self._positions)
        if batch is None:
            if self.drop_last and self._num_deliveries and len(self) == 0:
                warn(f"{self._name()}: the epoch is empty: {self._num_deliveries} samples are less than a batch of "
                     f"{self.batch_size} on each of {self.world_size} ranks, and drop_last leaves them out")
            warn_of_cache()  # the disk may have become full
            if self._warns_later:
                self._warns_later = False
                warn_of_notices(self._spec, self._loader.notices())
        return None if batch is None else self._convert(batch)

    def _convert(self, batch: Any) -> Any:
        return batch

    def _stream(self) -> int:
        """The handle of the stream on which the batch will be used. 0 is the default stream; DLPack names other streams
        later."""
        return 0

    def __len__(self) -> int:
        """Number of batches of a whole epoch, the same on every rank. A resumed epoch has only the batches that are left. Waits
        for the scan of shards that are scanned while they are read."""
        return self._plan_of_epoch().num_batches

    def _plan_of_epoch(self) -> _bale.RankPlan:
        """The plan of a whole epoch for this rank."""
        return _bale.RankPlan(self._num_deliveries, 0, self.batch_size, self.rank, self.world_size, self._options["tail"])

    @property
    def _num_deliveries(self) -> int:
        """Per epoch."""
        if self._num_deliveries_known is None:
            self._num_deliveries_known = self._loader.num_samples() if self._chosen is None else len(self._chosen)
        return self._num_deliveries_known

    @property
    def epoch(self) -> int:
        """Number of the epoch that an iterator is in, or that is iterated next; an int."""
        return self._place().epoch

    def _place(self) -> Place:
        """Of the pass that a loop is in or has left, without the position; else where the next one begins."""
        return self._passes.place() if self._under_way is None else self._under_way.place

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch, which is always the same.

        Directly after load_state_dict(), the epoch of that state is continued instead, so the usual loop over epochs needs
        no special case. An iterator that has not returned a batch yet follows; one that has becomes invalid.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0.

        Raises
        ------
        bale.Error
            If the Loader is closed, or is one of the parent process.
        ValueError
            If the number is below 0.
        """
        if self._passes.set_epoch(epoch):
            self._under_way = None
            self._loader.set_epoch(self._passes.place().number)

    # --- resuming

    def state_dict(self) -> dict[str, int]:
        """Returns the place after the last batch that was returned.

        That is the epoch, the position in it, and as "pass" the iterations since set_epoch(), if that was called.

        Take it on one rank, between steps. It can be loaded with any world size, batch size and number of workers; within an
        epoch of shuffle="node-local", only with as many nodes and ranks. If a loop is left by `break`, it is still the place
        in that epoch: to continue with the next epoch, call set_epoch() first.

        Returns
        -------
        dict from str to int
            Can be pickled and stored as JSON.
        """
        _, position, fingerprint, nodes, ranks = self._loader.state()
        place = self._place() if self._under_way is None else self._under_way.place._replace(position=position)
        state = {**place.in_state(), "fingerprint": fingerprint}
        return {**state, "nodes": nodes, "ranks_per_node": ranks} if nodes and place.position else state

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continues at the place of a state. States of earlier versions load, too.

        Parameters
        ----------
        state : dict from str to int
            What state_dict() returned.

        Raises
        ------
        ValueError
            If the state is of another dataset, selection, shuffle or seed, or of the middle of a node-local epoch on other
            nodes.
        """
        place = Place.of_state(state, "bale.Loader")
        if "worker" in state:
            raise ValueError("this state is of one of several DataLoader workers over bale.torch.IterableDataset, which knows "
                             "only its own share; load it there, or take states in one process or of a Loader")
        self._loader.load_state(place.number, place.position, state["fingerprint"], state.get("nodes", 0),
                                state.get("ranks_per_node", 0))
        self._passes.load(place)
        self._under_way = None
        self._loaded = dict(state)

    def _open_again(self, resumes: bool = True) -> None:
        """Opens the native Loader again, at the same place, after options or the process have changed."""
        if self._is_used and self._process == os.getpid():
            self._earlier_bad, self._earlier_counters = self.bad_samples, self.counters
        self._native.close()
        self._native, self._process, self._under_way = self._open(), os.getpid(), None
        if resumes and self._passes.place().position:
            Loader.load_state_dict(self, self._loaded)

    # --- looking

    @property
    def dataset(self) -> Any:
        """The bale.Dataset of the batches."""
        return self._whole_dataset

    @property
    def _whole_dataset(self) -> Dataset:
        return self._positions.dataset

    @property
    def bad_samples(self) -> list[BadSample]:
        """Every bad sample of the batches so far, once, a list of BadSample."""
        known = {bad.sample for bad in self._earlier_bad}
        return self._earlier_bad + [bad._replace(shard=shown(bad.shard), reason=shown(bad.reason))
                                    for bad in map(BadSample._make, self._loader.bad_samples()) if bad.sample not in known]

    @property
    def counters(self) -> dict[str, Any]:
        """Counters since the Loader was made, a dict: `batches`, `samples`, `workers_replaced`, `wait_seconds` and others."""
        counters = self._loader.counters()
        earlier = self._earlier_counters
        return {name: value + earlier[name] if name in earlier else value for name, value in counters.items()}

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the running workers, a list of int; empty with threads."""
        return self._loader.worker_pids()

    def _repr_html_(self) -> str:
        return html_of_loader(self, self._name())

    def __repr__(self) -> str:
        """Also works after close()."""
        return (f"{self._name()}({shown(self._spec)!r}, batch_size={self.batch_size}, transform={self.transform!r}, "
                f"rank={self.rank} of {self.world_size}): {self._text_of_batches()} batches")

    def _name(self) -> str:
        """As users call the class."""
        return f"{type(self).__module__.partition('._')[0]}.Loader"

    def _text_of_batches(self) -> str:
        return "not counted" if self._num_deliveries_known is None else f"{self._plan_of_epoch().num_batches:,}"

    # --- ending

    def close(self) -> None:
        """Stops the workers. Batches that are held stay readable. The Loader cannot be used afterwards."""
        self._native.close()
        self._live_iterator += 1

    def _close_at_exit(self) -> None:
        self._native.close_at_exit()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._is_used:
            raise make_error("invalid_argument", "a Loader that was iterated has workers of this process and cannot be pickled; "
                             "pickle it before its first iteration, or make one in each process")
        return _made_again, (type(self), *self._arguments(), self.state_dict())

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Those that make this Loader again in another process."""
        return self._given[0], self._given[1]

    def __setattr__(self, name: str, value: object) -> None:
        """ValueError for what the workers know already: to set it would change nothing."""
        if name in self._fixed and vars(self).get("_is_made"):
            raise ValueError(f"{name} cannot be changed after a Loader is made; make another Loader")
        super().__setattr__(name, value)


def option_names(function: Callable[..., Any]) -> frozenset[str]:
    code = function.__code__
    return frozenset(code.co_varnames[1:code.co_argcount + code.co_kwonlyargcount])


Loader._fixed = option_names(Loader.__init__) | {"dataset"}


def _made_again(kind: type[Loader], args: tuple[Any, ...], options: dict[str, Any], state: dict[str, int]) -> Loader:
    made = kind(*args, **options)
    made.load_state_dict(state)
    return made
