"""The launcher for Ray: a task per part."""
from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from types import ModuleType
from typing import Any

from bale._docs import launcher
from bale._types import Path, Report
from bale.launch._parts import DatasetParts, PartProgress, Parts, run_part


@launcher
def pack_on_ray(plan: Path, parts: int | None = None, *, jobs: int = 1, in_flight: int | None = None, retries: int = 3,
                program: Path | None = None, progress: bool | None = None, task_options: Mapping[str, object] | None = None) -> Report:
    """Packs the missing parts of a plan as tasks of Ray, and merges them in this process.

    It uses the cluster that ray.init() has joined. Otherwise it calls ray.init(), which joins the cluster of RAY_ADDRESS or
    starts one on this machine, and leaves that at the end. Each machine needs bale, and source, destination and plan under the
    same paths.

    Parameters
    ----------
    in_flight : int or None, default None
        Tasks that are submitted at a time. None: twice as many as the cluster has processors for.
    retries : int, default 3
        How often Ray tries a part again that failed, or whose worker or machine died.
    task_options : mapping or None, default None
        Further options of ray.remote, such as {"resources": {"disk": 1}}.

    Raises
    ------
    ImportError
        Ray is not installed.
    """
    import ray  # type: ignore[import-not-found, unused-ignore]

    dataset = DatasetParts(plan, parts, jobs=jobs, program=program, engine="ray")
    options = {"num_cpus": jobs, "max_retries": retries, "retry_exceptions": True, **(task_options or {})}

    def attempt(parts: Parts, missing: list[int]) -> list[Exception]:
        is_ours = not ray.is_initialized()
        if is_ours:
            ray.init(log_to_driver=False)
        try:
            at_once = in_flight or max(2 * int(ray.cluster_resources().get("CPU", 1) // jobs), 1)
            with PartProgress("ray", len(missing), progress) as shown:
                return _run(ray, ray.remote(**options)(run_part), parts, missing, at_once, shown)
        finally:
            if is_ours:
                ray.shutdown()

    return dataset.pack(attempt)


def _run(ray: ModuleType, task: Any, parts: Parts, missing: list[int], at_once: int, shown: PartProgress) -> list[Exception]:
    waiting = iter(missing)
    running: dict[object, int] = {}
    failed: list[Exception] = []
    try:
        while True:
            for part in islice(waiting, at_once - len(running)):
                running[task.remote(parts, part)] = part
            if not running:
                return failed
            for reference in ray.wait(list(running), num_returns=1)[0]:
                part = running.pop(reference)
                try:
                    ray.get(reference)
                    shown.packed()
                except ray.exceptions.RayError as error:
                    failed.append(_reason(error, part, parts.count))
                    shown.failed(failed[-1])
    except BaseException:
        for reference in running:
            ray.cancel(reference, force=True)
        raise


def _reason(error: object, part: int, count: int) -> Exception:
    """What the task raised, or why it could not run."""
    from bale.errors import Error, make_error

    cause = getattr(error, "cause", None)
    if isinstance(cause, Error):
        return cause
    return make_error("retryable", f"part {part} of {count}: {str(error).splitlines()[0]}")
