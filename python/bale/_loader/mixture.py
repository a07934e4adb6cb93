"""A mixture: several datasets as the sources of one Loader, each with its share of the samples."""
from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bale import _bale
from bale._dataset.dataset import Dataset
from bale._dataset.spec import shown
from bale._loader.passes import Place
from bale._types import Json, Path
from bale._warnings import warn
from bale.errors import make_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bale._loader.options import Order
    from bale.transforms import Compose
    from bale.transforms._translation.translation import View

Sources = Mapping[str, "Path | Sequence[Path] | Dataset"]


class Source(NamedTuple):
    """A dataset of the mixture. If several names are the same content, it is one source, and their shares are added."""

    names: list[str]
    number: int  # of the first name, among all
    spec: str
    size: int
    version: str


class Schedule(NamedTuple):
    """What the order depends on, besides the sources and the seed."""

    shares: tuple[int, ...]  # per source
    begin: int               # deliveries before it, counted across epochs
    before: tuple[int, ...]  # of these, per source


class Mixture:
    """The sources of a Loader and the schedule by which they are mixed."""

    def __init__(self, given: Sources, order: Order, shuffle: object) -> None:
        """Opens the sources. Raises ValueError for options that contradict shares, and what Dataset() and with_shares() raise."""
        if order._chooses():
            raise ValueError("shares: a mixture has all samples of its sources, and where, subset, weights, num_draws and repeats choose samples, "
                             "too; leave them out")
        if shuffle == "node-local":
            raise ValueError("shares: with shuffle='node-local' each node has its own shards, so a source would not be gone through before it "
                             "repeats, and states would load on as many nodes only; leave it out: each node's cache knows when it needs a sample again")
        if shuffle is not True:
            raise ValueError(f"shares: shuffle={shuffle!r} has no meaning: each pass of a source is shuffled; leave it out")
        self.names = list(given)
        self._order = order
        self.sources: list[Source] = []
        for number, (name, spec) in enumerate(given.items()):
            if not isinstance(name, str):
                raise TypeError(f"sources: {name!r} is not a name; give a dict from str to dataset")
            dataset = spec if isinstance(spec, Dataset) else Dataset(spec)
            if len(dataset) == 0:
                raise make_error("invalid_argument", f"sources: {name!r} ({shown(dataset.spec)}) has no samples; leave it out")
            same = [source for source in self.sources if source.version == dataset.version]
            if same:
                same[0].names.append(name)
            else:
                held = dataset._dataset.version()[2]  # empty without a manifest
                self.sources.append(Source([name], number, _bale.with_version(dataset.spec, held), len(dataset), dataset.version))
        if order.shares is None:
            raise ValueError("sources: a dict of datasets needs shares, such as shares={" +
                             ", ".join(f"{name!r}: 1" for name in self.names) + "}; to read all once, give a list")
        self.schedule = Schedule((), 0, ())
        self.use_shares(order.shares, 0, {})

    def use_shares(self, shares: Mapping[str, object], begin: int, before: Mapping[str, int]) -> None:
        """From `begin` on, with `before` deliveries of the sources, by version. Raises ValueError for a source without a share, and for a share
        of no source or that is not a number above 0."""
        self._require_names("shares", shares)
        whole = dict(zip(shares, _bale.whole_shares([(name, str(share)) for name, share in shares.items()]), strict=True))
        self.schedule = Schedule(tuple(sum(whole[name] for name in source.names) for source in self.sources), begin,
                                 tuple(before.get(source.version, 0) for source in self.sources))
        self.selection = self._selection()

    def _require_names(self, what: str, given: Mapping[str, object]) -> None:
        for name in [*given, *self.names]:
            if name not in self.names or name not in given:
                raise make_error("invalid_argument", f"{what}: {'no source is called' if name in given else 'there is none for source'} {name!r}; the "
                                 f"sources are {', '.join(map(repr, self.names))}")

    def transforms(self, views: Sequence[View]) -> list[Compose]:
        """One per source and view; empty if all sources have the same. Raises ValueError for a source without one, and for equal sources with
        different ones."""
        for view in views:
            if isinstance(view, dict):
                self._require_names("transform", view)
                for source in self.sources:
                    other = next((name for name in source.names if view[name] != view[source.names[0]]), None)
                    if other is not None:
                        raise make_error("invalid_argument", f"transform: {source.names[0]!r} and {other!r} have the same content and are one source; "
                                         f"give them the same")
        if not any(isinstance(view, dict) for view in views):
            return []
        return [view[source.names[0]] if isinstance(view, dict) else view for source in self.sources for view in views]

    def _selection(self) -> _bale.Selection:
        shares, begin, before = self.schedule
        order = self._order
        return _bale.Selection.mixture([source.size for source in self.sources], shares, [int(source.version, 16) for source in self.sources],
                                       self._epoch_samples(), _count(order.exact_every, "exact_every"), order.together, begin, before)

    def _epoch_samples(self) -> int:
        wanted, shares = self._order.epoch_samples, self.schedule.shares
        if not isinstance(wanted, str):
            return _count(wanted, "epoch_samples")
        kind, _, name = wanted.partition(":")
        if kind != "pass" or name not in self.names:
            raise ValueError(f"epoch_samples: {wanted!r} is neither a number nor 'pass:' and one of {', '.join(map(repr, self.names))}")
        source = next(number for number, source in enumerate(self.sources) if name in source.names)
        together = self._order.together
        return -(-self.sources[source].size * sum(shares) // (shares[source] * together)) * together

    # --- what was delivered

    @property
    def spec(self) -> str:
        """Of all sources, as one dataset."""
        return "::".join(source.spec for source in self.sources)

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources)

    def sources_of(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each sample's source, of the names of equal sources that of the first."""
        import numpy

        ends = numpy.cumsum([source.size for source in self.sources])
        return numpy.asarray([source.number for source in self.sources])[numpy.searchsorted(ends, indices, side="right")]

    def _delivered(self, place: Place, seed: int) -> list[int]:
        return self.selection.delivered(place.epoch, place.position, seed)

    def passes(self, place: Place, seed: int) -> dict[str, float]:
        return {name: delivered / source.size for source, delivered in zip(self.sources, self._delivered(place, seed), strict=True)
                for name in source.names}

    # --- states

    def in_state(self, place: Place, seed: int) -> Json:
        sources = zip(self.sources, self.schedule.shares, self._delivered(place, seed), self.schedule.before, strict=True)
        return {"seed": seed, "begin": self.schedule.begin,
                "sources": {source.names[0]: {"dataset": source.version, "share": share, "delivered": delivered, "before": before}
                            for source, share, delivered, before in sources}}

    def use_state(self, state: Json, place: Place, seed: int, shares: Mapping[str, object] | None) -> bool:
        """Continues the schedule of a state; with shares, begins one with those at its place. Returns whether the order is another one now.
        Raises ValueError for states of another seed."""
        given: dict[str, Any] | None = state.get("mixture")
        if given is None:
            raise ValueError("the state is of a Loader without shares; load it in a Loader of one dataset")
        theirs, schedule = given["sources"], self.schedule
        if shares is None:
            ours = {source.version: share for source, share in zip(self.sources, schedule.shares, strict=True)}
            if ours != {one["dataset"]: one["share"] for one in theirs.values()}:
                for name, version, saw in self._at_other_versions(theirs):
                    raise ValueError(f"shares: the state saw source {name!r} at version {saw}, and it is at {version} now; give the source as PATH@{saw} "
                                     f"to continue, or begin its pass again by load_state_dict(state, shares=...)")
                shown_shares = ", ".join(f"{name!r}: {one['share']}" for name, one in theirs.items())
                raise ValueError(f"shares: the state is of other sources or shares, {{{shown_shares}}}; give those, or continue with others by "
                                 f"load_state_dict(state, shares=...)")
            before = {one["dataset"]: one["before"] for one in theirs.values()}
            self.schedule = schedule._replace(begin=given["begin"], before=tuple(before.get(source.version, 0) for source in self.sources))
            self.selection = self._selection()
            return self.schedule != schedule
        if given["seed"] != seed:
            raise ValueError(f"shares: the state is of seed {given['seed']}, and this Loader has {seed}: samples would be repeated; give it that seed")
        for name, version, saw in self._at_other_versions(theirs):
            warn(f"shares: source {name!r} is at version {version} and not at the state's, {saw}: its pass begins again")
        self.use_shares(shares, 0, {})
        self.use_shares(shares, place.epoch * len(self.selection) + place.position,
                        {one["dataset"]: one["delivered"] for one in theirs.values()})
        return True

    def _at_other_versions(self, theirs: Json) -> list[tuple[str, str, str]]:
        """(name, version, the state's version) of sources of a state that are at another version now."""
        saw = {one["dataset"] for one in theirs.values()}
        return [(name, source.version, theirs[name]["dataset"]) for source in self.sources for name in source.names[:1]
                if name in theirs and source.version not in saw]

    def back_to(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.selection = self._selection()


def _count(given: object, option: str) -> int:
    """0: not given."""
    if given is None:
        return 0
    number = operator.index(given)  # type: ignore[arg-type]
    if number < 1:
        raise ValueError(f"{option}: {number} is below 1")
    return number
