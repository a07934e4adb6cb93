"""The launcher of this machine: a process per part."""
from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed

from bale._docs import launcher
from bale._types import Path, Report
from bale.launch._parts import DatasetParts, PartProgress, Parts, run_part


@launcher
def pack_locally(plan: Path, parts: int | None = None, *, jobs: int = 1, in_flight: int | None = None, retries: int = 3,
                 program: Path | None = None, progress: bool | None = None) -> Report:
    """Packs the missing parts of a plan on this machine, a process per part, and merges them.

    Parameters
    ----------
    parts : int or None, default None
        Number of parts. None: one per GiB of payload, at least two per part that runs at a time, at most 1,000 and at most one per
        `jobs` shards.
    jobs : int, default 1
        Shards that a part writes at a time.
    in_flight : int or None, default None
        Parts that run at a time. None: as many as there are processors for.
    retries : int, default 3
        How often a part that fails is tried again.
    program : path or None, default None
        The program `bale`. None: that of this package.
    """
    at_once = in_flight or max(len(os.sched_getaffinity(0)) // max(jobs, 1), 1)
    dataset = DatasetParts(plan, parts, jobs=jobs, program=program, engine="local", workers=2 * at_once)

    def attempt(parts: Parts, missing: list[int]) -> list[Exception]:
        failed: list[Exception] = []
        with PartProgress("local", len(missing), progress) as shown, ThreadPoolExecutor(at_once) as pool:
            try:
                for future in as_completed([pool.submit(_with_retries, parts, part, retries) for part in missing]):
                    error = future.exception()
                    if error is None:
                        shown.packed()
                    elif isinstance(error, Exception):
                        failed.append(error)
                        shown.failed(error)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return failed

    return dataset.pack(attempt)


def _with_retries(parts: Parts, part: int, retries: int) -> None:
    for attempt in range(retries + 1):
        try:
            run_part(parts, part)
            return
        except Exception:
            if attempt == retries:
                raise
