"""The launcher for Slurm: an array job with a task per part."""
from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from bale._cli import program_path
from bale._docs import slurm_launcher, slurm_submitter
from bale._types import Path, Report
from bale.errors import make_error
from bale.launch._parts import DatasetParts, Parts

_SCRIPT = """\
#!/bin/sh
# Packs part $SLURM_ARRAY_TASK_ID of {count}. The exit code is that of bale; 4 (samples were skipped) is a success here.
{command} --part "$SLURM_ARRAY_TASK_ID/{count}" --jobs {jobs} --quiet
code=$?
[ "$code" -ne 4 ] || code=0
if [ "$code" -ne 0 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {retries} ]; then
  echo "part $SLURM_ARRAY_TASK_ID: exit code $code; requeued" >&2
  # Not $SLURM_JOB_ID: that of the last task is the array's, all of whose tasks would run again.
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" && sleep 60  # until Slurm ends this attempt
fi
exit "$code"
"""


@dataclass(frozen=True)
class SlurmJobs:
    """Jobs that submit_to_slurm() submitted.

    Attributes
    ----------
    array : str or None
        Job id of the array. None if no part was missing.
    merge : str or None
        Job id of the merge. None if no part was missing.
    parts : int
        Number of parts of the plan.
    missing : str
        The parts that the array packs: "3,17-19".
    """

    array: str | None
    merge: str | None
    parts: int
    missing: str


@slurm_submitter
def submit_to_slurm(plan: Path, parts: int | None = None, *, jobs: int = 1, in_flight: int | None = None, retries: int = 3,
                    program: Path | None = None, options: Sequence[str] = ()) -> SlurmJobs:
    """Submits an array job of the missing parts of a plan, and a job that merges when the array has ended.

    The merge job's exit code is that of `bale merge`: 0 if the dataset is published, and 5 if parts are missing, which its output
    names. Run the same again to submit only those.

    Parameters
    ----------
    options : sequence of str, default ()
        Further options of sbatch for both jobs: ["--partition=cpu", "--time=2:00:00"].

    Returns
    -------
    SlurmJobs
        The job ids, and which parts were missing.

    Raises
    ------
    bale.Error
        sbatch is not there, or refused a job; the message is its own.
    """
    dataset = DatasetParts(plan, parts, jobs=jobs, program=program, engine="slurm")
    if not dataset.missing():
        return SlurmJobs(None, None, dataset.parts.count, "")
    array = _job_id(_start(dataset.parts, _tasks(dataset.array, in_flight), retries, options))
    merge = f"#!/bin/sh\nexec {_command(dataset.parts, 'merge')} --parts {dataset.parts.count} --quiet\n"
    words = [*_sbatch(dataset.parts, "merge"), f"--dependency=afterany:{array}", *options]
    return SlurmJobs(array, _job_id(_submit(words, merge)), dataset.parts.count, dataset.array)


@slurm_launcher
def pack_on_slurm(plan: Path, parts: int | None = None, *, jobs: int = 1, in_flight: int | None = None, retries: int = 3,
                  program: Path | None = None, options: Sequence[str] = ()) -> Report:
    """Submits an array job of the missing parts of a plan, waits for it, and merges in this process.

    If this process is interrupted, it cancels the array.

    Parameters
    ----------
    options : sequence of str, default ()
        Further options of sbatch: ["--partition=cpu", "--time=2:00:00"].

    Raises
    ------
    bale.Error
        A task failed. The message has the exit code, the parts that are missing and the command that packs them. What the other
        parts packed is kept. Also if sbatch is not there or refused the job.
    """
    dataset = DatasetParts(plan, parts, jobs=jobs, program=program, engine="slurm --wait")

    def attempt(parts: Parts, missing: list[int]) -> list[Exception]:
        process = _start(parts, _tasks(dataset.array, in_flight), retries, ["--wait", *options])
        assert process.stdout is not None
        array = process.stdout.readline().decode().strip().partition(";")[0]
        try:
            errors = process.communicate()[1]
        except BaseException:
            if array:
                subprocess.run(["scancel", array], check=False)
            raise
        if process.returncode == 0:
            return []
        if not array:
            raise _refused(errors)
        # The exit code is the highest of the array's tasks.
        return [make_error("retryable", f"array job {array} ended with exit code {process.returncode} (see slurm-{array}_*.out)")]

    return dataset.pack(attempt)


def _tasks(array: str, in_flight: int | None) -> str:
    return f"{array}%{in_flight}" if in_flight else array


def _start(parts: Parts, tasks: str, retries: int, options: Sequence[str]) -> subprocess.Popen[bytes]:
    script = _SCRIPT.format(command=_command(parts, "pack --plan"), count=parts.count, jobs=parts.jobs, retries=retries)
    words = [*_sbatch(parts, "pack"), f"--array={tasks}", "--requeue", "--open-mode=append", f"--cpus-per-task={parts.jobs}", *options]
    return _submit(words, script)


def _command(parts: Parts, command: str) -> str:
    return f"{shlex.quote(parts.program or program_path())} {command} {shlex.quote(parts.plan)}"


def _sbatch(parts: Parts, what: str) -> list[str]:
    return ["sbatch", "--parsable", f"--job-name=bale-{what}-{os.path.basename(parts.plan)}", f"--chdir={parts.directory}"]


def _submit(words: list[str], script: str) -> subprocess.Popen[bytes]:
    """Starts sbatch, which reads the script and prints a job id."""
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise make_error("io", "sbatch not found: run this on a machine that submits jobs to Slurm") from None
    assert process.stdin is not None
    try:
        process.stdin.write(os.fsencode(script))
        process.stdin.close()
    except BrokenPipeError:  # it ended, and says why
        pass
    process.stdin = None
    return process


def _job_id(process: subprocess.Popen[bytes]) -> str:
    printed, errors = process.communicate()
    if process.returncode != 0:
        raise _refused(errors)
    return printed.decode().strip().partition(";")[0]  # JOB;CLUSTER if there are several clusters


def _refused(errors: bytes) -> Exception:
    lines = os.fsdecode(errors).strip().splitlines() or ["sbatch failed"]
    return make_error("io", lines[-1])
