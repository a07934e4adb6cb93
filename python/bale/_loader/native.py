"""The native Loader, and how it is made again: in a forked process, and with other options."""
from __future__ import annotations

import contextlib
import os
import threading
from typing import NamedTuple

from bale import _bale
from bale._bale import Batch, DeviceBatch
from bale._dataset.spec import shown
from bale._loader.device import Fallbacks
from bale._loader.lazy_keys import LazyKeys
from bale._loader.passes import Place, version_of_state
from bale._types import Json, Options
from bale.errors import PathNotFoundError, make_error


class BadSample(NamedTuple):
    """A sample that could not be read or decoded, and what was done.

    Attributes
    ----------
    sample : int
        Position in the dataset.
    key : str
        Its key.
    shard : str
        Path of the shard.
    reason : str
        One line.
    epoch : int
        The epoch in which it was met first.
    action : {'failed', 'skipped', 'substituted'}
        What the Loader did.
    quarantined : bool
        Whether the sample crashed or stalled workers repeatedly, and is not tried again.
    """

    sample: int
    key: str
    shard: str
    reason: str
    epoch: int
    action: str  # "failed", "skipped" or "substituted"
    quarantined: bool


class Native:
    """A _bale.Loader, or a _bale.CudaLoader if there are options of a device, and what outlives one: counters and bad samples.

    options    of the extension module, by name
    chosen     the deliveries of an epoch; None: all samples
    keys       of its dataset
    version    the id of the version of the dataset that is open, which any other Loader made here opens, too; empty without a manifest
    is_used    a batch was taken; then it is the process's that has taken it
    """

    def __init__(self, spec: str, options: Options, chosen: _bale.Selection | None, device: Options | None,
                 keys: LazyKeys, name: str) -> None:
        self.options, self.chosen, self.keys = options, chosen, keys
        self._spec, self._device = spec, device
        self._fallbacks = Fallbacks(name, may_come_later=device is not None and device["decodes"])
        self.version = keys.version
        self._held: tuple[int, int, str] | None = None  # what is open
        self._made, self._process = self._make(), os.getpid()
        self._place: tuple[int, ...] | None = None  # of a state within an epoch, until a batch was returned
        self._before: tuple[int, ...] | None = None  # the place before a batch that was taken, until it was returned
        self._taker, self._is_lost = 0, False  # the thread that takes it; and whether an exception stopped it
        self._earlier_bad: list[BadSample] = []     # of those made before
        self._earlier_counters: dict[str, object] = {}
        self.is_used = False
        self._held = self._made.version()
        keys.bind(self._held)
        self.version = self._held[2]
        self.num_deliveries_known: int | None = None
        if self._made.is_counted():
            self.num_deliveries  # noqa: B018 - known from now on, also after close()

    def _make(self) -> _bale.Loader | _bale.CudaLoader:
        made = self._open(self._spec)
        is_same = self.version in (None, made.version()[2]) if self._held is None else made.has_version(self._held)
        if is_same:
            return made
        made.close()  # another version was published in the meantime
        if self.version and "::" not in self._spec:
            with contextlib.suppress(PathNotFoundError):  # it is not kept
                return self._open(_bale.with_version(self._spec, self.version))
        raise make_error("changed", f"{shown(self._spec)}: the dataset was replaced since it was opened; make the Loader again")

    def _open(self, spec: str) -> _bale.Loader | _bale.CudaLoader:
        if self._device is None:
            return _bale.Loader(spec, self.options, self.chosen)
        return _bale.CudaLoader(spec, self.options, self._device, self.chosen)

    @property
    def made(self) -> _bale.Loader | _bale.CudaLoader:
        """A process that was forked makes its own, if no batch was taken before."""
        if not self.is_used and self._process != os.getpid():
            self.make_again()
        return self._made

    def make_again(self, resumes: bool = True, **options: object) -> None:
        """At the same place, with changed options."""
        if self.is_used and self._process == os.getpid():
            self._earlier_bad, self._earlier_counters = self.bad_samples, self.counters
        self.options = {**self.options, **options}
        self._made.close()
        self._made, self._process = self._make(), os.getpid()
        self._before = None
        if resumes and self._place is not None:
            self._made.load_state(*self._place)

    def choose(self, chosen: _bale.Selection | None, **options: object) -> None:
        """Makes it again for other samples, at the beginning of an epoch."""
        self.chosen = chosen
        self.num_deliveries_known = None
        self.make_again(resumes=False, **options)

    # --- places

    def seek(self, place: Place) -> None:
        if place.position == 0:  # load() has gone to any other
            self.set_epoch(place.number)

    def set_epoch(self, number: int) -> None:
        self._place = self._before = None
        self.made.set_epoch(number)

    def load(self, place: Place, state: Json) -> None:
        """Raises ValueError if the state is of another dataset, selection, shuffle or seed."""
        wanted = (place.number, place.position, state["fingerprint"], state.get("nodes", 0), state.get("ranks_per_node", 0),
                  version_of_state(state), state.get("shards", 0), state.get("content", 0))
        self.made.load_state(*wanted)
        self._place, self._before = wanted if place.position else None, None

    def state(self) -> tuple[int, ...]:
        """The place after the last batch that was returned."""
        now = self.made.state()
        return self._before or now

    @property
    def fingerprint(self) -> int:
        return self.made.state()[2]

    # --- batches

    def next(self, stream: int) -> Batch | DeviceBatch | None:
        """`stream` is the handle of the device's stream on which the batch will be used. returned() or lost() comes next."""
        made = self.made
        now: tuple[int, ...] = made.state()
        if self._is_lost and self._before is not None and self._before != now:
            now = self._before
            made.load_state(*now)
        self._before, self._taker, self._is_lost = now, threading.get_ident(), False
        self.is_used = True
        if isinstance(made, _bale.CudaLoader):
            batch = made.next(stream, self.keys)
            self._fallbacks.warn(made)
            return batch
        return made.next(self.keys)

    def returned(self) -> None:
        """The caller has the batch."""
        self._place = self._before = None

    def lost(self) -> None:
        """An exception, such as that of Ctrl-C, came before the caller had the batch: it is the next one again."""
        self._is_lost = self._before is not None and self._taker == threading.get_ident()

    @property
    def num_deliveries(self) -> int:
        """Per epoch, on all ranks. Waits for the scan of shards that are scanned while they are read."""
        if self.num_deliveries_known is None:
            self.num_deliveries_known = self.made.num_samples() if self.chosen is None else len(self.chosen)
        return self.num_deliveries_known

    def plan(self, position: int = 0) -> _bale.RankPlan:
        """The plan for this rank of an epoch from a position on."""
        of = self.options
        return _bale.RankPlan(self.num_deliveries, position, of["batch_size"], of["rank"], of["world_size"], of["tail"])

    def is_at_end(self) -> bool:
        """Whether the last batch of the pass was taken, as far as it is known without waiting."""
        plan = None if self.num_deliveries_known is None else self.plan()
        return plan is not None and bool(self.made.state()[1] >= plan.position_after(plan.num_batches))

    # --- looking

    @property
    def bad_samples(self) -> list[BadSample]:
        known = {bad.sample for bad in self._earlier_bad}
        return self._earlier_bad + [bad._replace(shard=shown(bad.shard), reason=shown(bad.reason))
                                    for bad in map(BadSample._make, self.made.bad_samples()) if bad.sample not in known]

    @property
    def counters(self) -> Json:
        earlier = self._earlier_counters
        return {name: value + earlier[name] if name in earlier else value for name, value in self.made.counters().items()}

    def close(self) -> None:
        self._made.close()

    def close_at_exit(self) -> None:
        self._made.close_at_exit()
