"""What bale.Loader and bale.torch.Loader have in common: what is said of a Loader, and how it ends."""
from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bale import _bale
from bale._bale import Batch, DeviceBatch
from bale._dataset.cache import warn_of_cache
from bale._dataset.dataset import Dataset, warn_of_notices
from bale._dataset.pictures import html_of_loader
from bale._dataset.spec import shown, text_of_spec
from bale._loader.device import device_options
from bale._loader.epochs import Epochs
from bale._loader.fields import warn_of_without
from bale._loader.lazy_keys import LazyKeys
from bale._loader.mixture import Mixture, Sources
from bale._loader.native import BadSample, Native
from bale._loader.options import Cuda, Order, native_options
from bale._loader.passes import Place, version_in_state
from bale._types import Json, Options, Path
from bale._warnings import warn
from bale.errors import make_error
from bale.transforms._translation.translation import firsts

if TYPE_CHECKING:
    from typing_extensions import Self

    from bale.transforms._translation.translation import View

_live: weakref.WeakSet[LoaderBase] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Stops the workers before the interpreter exits. Batches that are held stay readable. Daemon threads that iterate a
    Loader stop, without an exception."""
    _bale.stop_other_threads()
    for loader in list(_live):
        loader._native.close_at_exit()


class LoaderBase:
    """A Loader without its options and its batches: over one Native, and one count of epochs."""

    _fixed: ClassVar[frozenset[str]]  # attributes that nobody may set
    _given: tuple[tuple[object, ...], Options]
    _native: Native
    views: list[View]
    transform: View

    def __new__(cls, *args: object, **options: object) -> Self:
        made = super().__new__(cls)
        made._given = (args, options)
        return made

    def _open(self, spec: Path | Sequence[Path] | Dataset | Sources, views: list[View], cuda: Cuda, order: Order, **options: Any) -> None:
        """Called once, at the end of a constructor. `options` are those of native_options()."""
        is_open = isinstance(spec, (Dataset, Mapping))  # then it has warned already
        self._mixture: Mixture | None = None
        if isinstance(spec, Mapping):
            self._mixture = Mixture(spec, order, options["shuffle"])
            spec = self._mixture.spec
        elif any(isinstance(view, Mapping) for view in views):
            raise ValueError("transform: a dict has the transform of each source of a mixture: give a dict of datasets, {'web': 'packs/web', ...}")
        elif order._mixes():
            raise ValueError("shares, epoch_samples, exact_every and together are of mixtures: give a dict of datasets, {'web': 'packs/web', ...}")
        self._spec = spec.spec if isinstance(spec, Dataset) else text_of_spec(spec)
        self.views, self.transform = views, views[0]
        if cuda.device is not None and len(views) > 1:
            raise ValueError("views: batches on a device have one view; leave device out, and move the images of each view "
                             "yourself")
        by_source = [] if self._mixture is None else self._mixture.transforms(views)
        native = native_options(views=firsts(views), source_transforms=by_source, order=order, **options)
        merges = options["reading"].labels != "separate"
        keys = LazyKeys(self._spec, spec if isinstance(spec, Dataset) and merges else None, self._mixture, merges)
        order = order._chosen_in(lambda: keys.dataset)
        chosen = order._selection(len(keys.dataset)) if order._chooses() else None
        if self._mixture is not None:
            chosen = self._mixture.selection
        self._native = Native(self._spec, native, chosen, device_options(cuda), keys, self._name())
        if self._mixture is not None and self._native.made.num_samples() != self._mixture.size:
            raise make_error("changed", f"sources: {shown(self._spec)} changed while they were opened; make the Loader again")
        self._epochs = Epochs()
        self._warns_later = not is_open and self._native.num_deliveries_known is None
        if not is_open and not self._warns_later:
            warn_of_notices(self._spec, self._native.made.notices())
        if self._mixture is None and not self._warns_later:
            warn_of_without(options["fields"], lambda: keys.dataset)
        self._is_made = True
        _live.add(self)

    # --- iterating

    def _next(self, stream: int = 0) -> Batch | DeviceBatch | None:
        """The next batch of the native Loader; None at the end of the epoch. Stream 0 is the default one; DLPack names others later."""
        batch = self._native.next(stream)
        if batch is None:
            if self.drop_last and self._native.num_deliveries and self._plan_of_epoch().num_batches == 0:
                warn(f"{self._name()}: the epoch is empty: {self._native.num_deliveries} samples are less than a batch of "
                     f"{self.batch_size} on each of {self.world_size} ranks, and drop_last leaves them out")
            warn_of_cache()  # the disk may have become full
            if self._warns_later:
                self._warns_later = False
                warn_of_notices(self._spec, self._native.made.notices())
        return batch

    def _returned(self) -> None:
        self._native.returned()

    def _lost(self) -> None:
        self._native.lost()

    def _plan_of_epoch(self) -> _bale.RankPlan:
        return self._native.plan()

    def __len__(self) -> int:
        """Number of batches of a whole epoch, the same on every rank. A resumed epoch has only the batches that are left. Waits
        for the scan of shards that are scanned while they are read."""
        return self._plan_of_epoch().num_batches

    @property
    def epoch(self) -> int:
        """Number of the epoch that an iterator is in, or that is iterated next; an int."""
        return self._epochs.place().epoch

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
        if self._epochs.set_epoch(epoch):
            self._native.set_epoch(self._epochs.next_place().number)

    # --- resuming

    def state_dict(self) -> Json:
        """Returns the place after the last batch that was returned.

        That is the epoch, the position in it, and as "pass" the iterations since set_epoch(), if that was called. "dataset" is
        the version of the dataset (bale.Dataset.version), unless its shards have neither a manifest nor an index.

        Take it on one rank, between steps. It can be loaded with any world size, batch size and number of workers; within an
        epoch of shuffle="node-local", only with as many nodes and ranks. If a loop is left by `break`, it is still the place
        in that epoch: to continue with the next epoch, call set_epoch() first.

        Of a mixture, "mixture" has the version of each source and how many of its samples were delivered.

        Returns
        -------
        dict
            Can be pickled and stored as JSON.
        """
        _, position, fingerprint, nodes, ranks, dataset, shards, content = self._native.state()
        place = self._epochs.place(position)
        state: Json = {**place.in_state(), "fingerprint": fingerprint, **version_in_state(dataset)}
        if self._mixture is not None:
            state["mixture"] = self._mixture.in_state(place, self._native.options["seed"])
        if shards:
            state.update(shards=shards, content=content)
        return {**state, "nodes": nodes, "ranks_per_node": ranks} if nodes and place.position else state

    def load_state_dict(self, state: Json, shares: Mapping[str, Any] | None = None) -> None:
        """Continues at the place of a state. States of earlier versions load, too.

        Parameters
        ----------
        state : dict
            What state_dict() returned.
        shares : mapping from str to number or str, or None, default None
            Of a mixture: other shares from here on. Each source continues where it was; sources that the state does not have begin.

        Raises
        ------
        ValueError
            If the state is of another dataset or version of it, selection, shuffle or seed, or of the middle of a node-local epoch on other
            nodes.
        """
        place = Place.of_state(state, "bale.Loader")
        if "worker" in state:
            raise ValueError("this state is of one of several DataLoader workers over bale.torch.IterableDataset, which knows "
                             "only its own share; load it there, or take states in one process or of a Loader")
        if self._mixture is None:
            if shares is not None:
                raise ValueError("shares: this Loader does not mix; make it with a dict of datasets")
            self._native.load(place, state)
        else:
            self._load_mixture(self._mixture, place, state, shares)
        self._epochs.load(place)

    def _load_mixture(self, mixture: Mixture, place: Place, state: Json, shares: Mapping[str, Any] | None) -> None:
        earlier = mixture.schedule
        try:
            if mixture.use_state(state, place, self._native.options["seed"], shares):
                self._native.choose(mixture.selection)
            if shares is not None:  # it is the state of another order, and perhaps of other sources
                _, _, fingerprint, _, _, dataset, *_ = self._native.made.state()
                state = {**state, "fingerprint": fingerprint, **version_in_state(dataset)}
            self._native.load(place, state)
        except Exception:
            if mixture.schedule != earlier:
                mixture.back_to(earlier)
                self._native.choose(mixture.selection)
            raise

    def passes(self) -> dict[str, float]:
        """Passes over each source of a mixture that were delivered on all ranks, up to the last batch that was returned.

        Returns
        -------
        dict from str to float
            By name: 2.5 after two passes and a half.

        Raises
        ------
        ValueError
            If the Loader does not mix.
        """
        if self._mixture is None:
            raise ValueError("passes: this Loader does not mix; make it with a dict of datasets and shares")
        return self._mixture.passes(self._epochs.place(self._native.state()[1]), self._native.options["seed"])

    # --- looking

    @property
    def batch_size(self) -> int:
        """Samples per batch and rank."""
        return int(self._native.options["batch_size"])

    @property
    def drop_last(self) -> bool:
        """Whether the incomplete end of an epoch is left out."""
        return bool(self._native.options["tail"] == "drop")

    @property
    def sources(self) -> list[str]:
        """Names of the sources of a mixture, a list of str: `Batch.sources` are positions in it. Empty if the Loader does not mix."""
        return [] if self._mixture is None else list(self._mixture.names)

    @property
    def rank(self) -> int:
        """Rank of this process."""
        return int(self._native.options["rank"])

    @property
    def world_size(self) -> int:
        """Number of ranks."""
        return int(self._native.options["world_size"])

    @property
    def bad_samples(self) -> list[BadSample]:
        """Every bad sample of the batches so far, once, a list of BadSample."""
        return self._native.bad_samples

    @property
    def counters(self) -> Json:
        """Counters since the Loader was made, a dict: `batches`, `samples`, `workers_replaced`, `wait_seconds` and others."""
        return self._native.counters

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the running workers, a list of int; empty with threads."""
        return self._native.made.worker_pids()

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
        return "not counted" if self._native.num_deliveries_known is None else f"{self._plan_of_epoch().num_batches:,}"

    # --- ending

    def close(self) -> None:
        """Stops the workers. Batches that are held stay readable. The Loader cannot be used afterwards."""
        self._native.close()
        self._epochs.end_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        if self._native.is_used:
            raise make_error("invalid_argument", "a Loader that was iterated has workers of this process and cannot be pickled; "
                             "pickle it before its first iteration, or make one in each process")
        return _made_again, (type(self), (self._spec_to_pickle(), *self._given[0][1:]), self._options_to_pickle(), self.state_dict())

    def _spec_to_pickle(self) -> object:
        """What was given, with the versions that are open."""
        given = self._given[0][0]
        if self._mixture is not None:
            return {name: source.spec for source in self._mixture.sources for name in source.names}
        version = self._native.version
        return _bale.with_version(self._spec, version) if version and isinstance(given, (str, bytes, os.PathLike)) else given

    def _options_to_pickle(self) -> Options:
        return self._given[1]

    def __setattr__(self, name: str, value: object) -> None:
        """ValueError for what the workers know already: to set it would change nothing."""
        if name in self._fixed and vars(self).get("_is_made"):
            raise ValueError(f"{name} cannot be changed after a Loader is made; make another Loader")
        super().__setattr__(name, value)


def option_names(function: Callable[..., object]) -> frozenset[str]:
    code = function.__code__
    return frozenset(code.co_varnames[1:code.co_argcount + code.co_kwonlyargcount])


def _made_again(kind: type[LoaderBase], args: tuple[object, ...], options: Options, state: Json) -> LoaderBase:
    made = kind(*args, **options)
    made.load_state_dict(state)
    return made
