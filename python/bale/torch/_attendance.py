"""Whether all ranks make a pass: `if rank == 0: for batch in val` covers only that rank's share, and it is worth a warning."""
from __future__ import annotations

import atexit
import os
import time
from typing import Any, NamedTuple

import torch.distributed

from bale._dataset.spec import shown
from bale._warnings import warn

_TRIES_AT_EXIT, _BETWEEN_TRIES_S = 10, 0.1


class Pass(NamedTuple):
    """A pass that this rank has begun, of a dataset that all ranks share."""

    key: str     # of the pass, the same on all ranks
    turn: int    # how many passes this rank had begun by then
    spec: str
    epoch: int
    world_size: int


class Attendance:
    """Counts in the store of torch.distributed how many ranks have begun each pass, and how many have begun that many passes. Some
    messages per pass; no rank waits for another. Ranks that do the same count the pass before its turn. So if more ranks have come
    to the turn of a pass than have begun it, one of them leaves it out."""

    def __init__(self) -> None:
        self._process = os.getpid()   # a forked one begins again, with a connection of its own
        self._turn = 0
        self._counted: dict[str, Pass] = {}
        self._ended: list[Pass] = []  # that some ranks had not begun then
        self._store: object = None       # as long as there are such: its server may be in this process
        self._has_warned = False      # other ranks rely on the counts after that, too
        self._is_broken = False       # the store does not answer

    def begin(self, spec: str, fingerprint: int, number: int, epoch: int, world_size: int) -> Pass | None:
        """None if there is nothing to count with."""
        if self._process != os.getpid():
            Attendance.__init__(self)
        store = self._store or _default_store()
        key = f"bale/pass/{fingerprint}/{number}"
        if self._is_broken or store is None or key in self._counted:
            return self._counted.get(key)
        self._check(store)
        self._turn += 1
        begun = self._counted[key] = Pass(key, self._turn, spec, epoch, world_size)
        self._add(store, key, 1)
        self._add(store, _turn_key(self._turn), 1)
        return begun

    def end(self, ended: Pass | None) -> None:
        store = self._store or _default_store()
        if ended is None or self._has_warned or store is None or ended in self._ended or self._process != os.getpid():
            return
        self._ended.append(ended)
        self._check(store)

    def at_exit(self) -> None:
        """Nothing is left that other ranks would do before they begin the pass, if this one ends a moment after them."""
        for _ in range(_TRIES_AT_EXIT):
            if not self._ended or self._process != os.getpid():
                return
            time.sleep(_BETWEEN_TRIES_S)
            self._check(self._store)
        if self._ended:
            self._warn(self._ended[-1], self._add(self._store, self._ended[-1].key, 0))

    def _check(self, store: object) -> None:
        waited_for = []
        for ended in self._ended:
            come = self._add(store, _turn_key(ended.turn), 0)  # before `begun`, which may grow in the meantime
            begun = self._add(store, ended.key, 0)
            if come > begun:
                return self._warn(ended, begun)
            if begun < ended.world_size:
                waited_for.append(ended)
        self._ended = waited_for[-4:]
        self._store = store if waited_for else None

    def _add(self, store: Any, key: str, number: int) -> int:
        try:
            return 0 if self._is_broken else int(store.add(key, number))
        except Exception:  # of any kind of store
            self._is_broken = True
            return 0

    def _warn(self, ended: Pass, begun: int) -> None:
        self._ended, self._store = [], None
        if self._is_broken:
            return
        self._has_warned = True
        warn(shown(f"{ended.spec}: this rank has read its share, one of {ended.world_size}, of epoch {ended.epoch}, which "
                   f"{ended.world_size - begun} of {ended.world_size} ranks did not begin: the other shares were not read. A loader that one "
                   f"rank reads alone needs world_size=1. If all ranks read it, they need the same options, epochs and version of the dataset, such as PACKED@ID"))


def _turn_key(turn: int) -> str:
    return f"bale/turn/{turn}"


def _default_store() -> object:
    """That of the default process group; None if there is none."""
    try:
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return None
        return torch.distributed.distributed_c10d._get_default_store()  # type: ignore[no-untyped-call]
    except Exception:  # another version of torch, or a backend without a store
        return None

ATTENDANCE = Attendance()
atexit.register(ATTENDANCE.at_exit)
