"""The launcher for Kubernetes: the manifest of an indexed Job. Pods read their part from their environment."""
from __future__ import annotations

import json
import os
import posixpath
import re
import shlex
from collections.abc import Sequence

from bale._types import Path
from bale.errors import make_error

_MANIFEST = """\
# Packs {what} of {plan}.
# When the Job has ended, in a pod or on a machine that has the volume: bale merge {quoted_plan} --parts {parts}
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {completions}
  parallelism: {in_flight}
  backoffLimitPerIndex: {retries}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: bale
        image: {image}
        command:
        - sh
        - -c
        - {command}
        resources:
          requests: {{cpu: {jobs}}}
        volumeMounts:
        - {{name: shared, mountPath: {mount}}}
      volumes:
      - name: shared
        persistentVolumeClaim: {{claimName: {claim}}}
"""


def kubernetes_manifest(plan: Path, parts: int, *, image: str, claim: str, mount: str = "/shared",
                        missing: str | Sequence[int] | None = None, jobs: int = 1, in_flight: int | None = None, retries: int = 3,
                        name: str | None = None) -> str:
    """The manifest of an indexed Job that packs the parts of a plan, for `kubectl apply -f -`.

    Nothing is read or started here: the plan may exist in the volume only. Run `bale merge` when the Job has ended. If it names
    missing parts, make a manifest of those (`missing`).

    Parameters
    ----------
    plan : path
        The plan file as pods see it, an absolute path below `mount`. It must hold absolute paths.
    parts : int
        Number of parts.
    image : str
        A container image with `bale` and `sh`.
    claim : str
        The persistentVolumeClaim with source, plan and destination.
    mount : str, default "/shared"
        Where pods mount it.
    missing : str, sequence of int or None, default None
        The parts to pack, as `bale merge` prints them: "3,17-19". None: all.
    jobs : int, default 1
        Shards that a part writes at a time, and processors that its pod asks for.
    in_flight : int or None, default None
        Pods that run at a time. None: one per part.
    retries : int, default 3
        How often a part that fails is tried again (`backoffLimitPerIndex`, Kubernetes 1.29).
    name : str or None, default None
        Name of the Job. None: of the plan file.

    Returns
    -------
    str
        YAML.

    Raises
    ------
    ValueError
        An argument makes no sense (also a bale.Error).
    """
    path = os.fsdecode(plan)
    if not posixpath.isabs(path):
        raise make_error("invalid_argument", f"{path}: pods need the absolute path of the plan")
    if parts < 1 or jobs < 1 or (in_flight is not None and in_flight < 1) or retries < 0:
        raise make_error("invalid_argument", "parts, jobs and in_flight are at least 1, and retries at least 0")
    numbers = list(range(parts)) if missing is None else _numbers(missing) if isinstance(missing, str) else list(missing)
    if not numbers or min(numbers) < 0 or max(numbers) >= parts:
        raise make_error("invalid_argument", f"missing: {missing!r} are not parts of {parts}, which are numbered from 0")
    what = f"{parts} parts" if missing is None else f"{len(numbers)} of {parts} parts"
    return _MANIFEST.format(
        what=what, plan=path, quoted_plan=shlex.quote(path), parts=parts, completions=len(numbers),
        in_flight=in_flight or len(numbers), retries=retries, jobs=jobs, image=json.dumps(image), claim=json.dumps(claim),
        mount=json.dumps(mount), name=name or _job_name(path),
        command=json.dumps(_command(path, parts, jobs, None if missing is None else numbers)))


def _command(plan: str, parts: int, jobs: int, numbers: list[int] | None) -> str:
    """For sh. Exit code 4 (samples were skipped, as the plan allows) is a success here."""
    choose, part = "", "$JOB_COMPLETION_INDEX"
    if numbers is not None:
        choose, part = f'set -- {" ".join(map(str, numbers))}; shift "$JOB_COMPLETION_INDEX"; ', "$1"
    return f'{choose}bale pack --plan {shlex.quote(plan)} --part "{part}/{parts}" --jobs {jobs} --quiet || [ $? -eq 4 ]'


def _numbers(text: str) -> list[int]:
    """3,17-19 as [3, 17, 18, 19]."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise make_error("invalid_argument", f"missing: {text!r} is not a list of parts such as 3,17-19")
    ranges = [[int(number) for number in piece.split("-")] for piece in text.split(",")]
    return [number for ends in ranges for number in range(ends[0], ends[-1] + 1)]


def _job_name(plan: str) -> str:
    """A valid name of a Job: lower case letters, digits and hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", os.path.splitext(os.path.basename(plan))[0].lower()).strip("-")
    return f"bale-{words}"[:52].rstrip("-")
