"""What all launchers share: which parts are missing, packing those, and the merge that says whether all are there."""
from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from bale._cli import program_path
from bale._progress_bar import Bar, bar_class, is_watched
from bale._types import Json, Path, Report
from bale.errors import Error, code_of_exit, make_error

_FINE = (0, 4)  # 4: samples were skipped, as the plan allows; the merge lists them


@dataclass(frozen=True)
class Parts:
    """What every attempt needs to know. It is sent to other machines, so it holds plain values only.

    plan        absolute path of the plan file
    count       number of parts
    jobs        shards that an attempt writes at a time
    program     path of the program `bale`; None: the package's own, on the machine that runs the attempt
    directory   directory that attempts run in if it exists there: plans with relative paths need it
    """

    plan: str
    count: int
    jobs: int
    program: str | None
    directory: str

    def command(self, part: int) -> list[str]:
        """The words of the command that packs a part."""
        return [self.program or program_path(), "pack", "--plan", self.plan, "--part", f"{part}/{self.count}",
                "--jobs", str(self.jobs), "--quiet"]


def run_part(parts: Parts, part: int) -> int:
    """Packs a part and returns its number. Raises bale.Error with what the program printed. If this process or thread is killed,
    so is the program: another attempt may follow at once."""
    setpriv = shutil.which("setpriv")
    words = [setpriv, "--pdeathsig", "KILL", *parts.command(part)] if setpriv else parts.command(part)
    directory = parts.directory if os.path.isdir(parts.directory) else None
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=directory,
                              check=False)
    except OSError as error:
        raise make_error("io", f"part {part} of {parts.count}: cannot run {words[0]}: {error.strerror}") from None
    if done.returncode not in _FINE:
        raise failure(f"part {part} of {parts.count}", done.returncode, done.stderr)
    return part


def failure(what: str, code: int, printed: bytes) -> Exception:
    """The bale.Error of a process that ended with `code`, of what it printed to standard error."""
    lines = os.fsdecode(printed).splitlines()
    said = [line.removeprefix("bale: ") for line in lines if line.startswith("bale: ")] or lines
    reason = f"ended by signal {-code}" if code < 0 else said[-1] if said else f"ended with exit code {code}"
    return make_error(code_of_exit(code), f"{what}: {reason}")


Attempt = Callable[[Parts, list[int]], "list[Exception]"]

_MAX_DEFAULT_PARTS = 1000  # what a Slurm cluster takes if nobody configured it
# Each part is a process, and what it packs should take long compared with its start.
_DEFAULT_PART_BYTES = 1 << 30
_RETRYABLE = 5
# Seconds between merges that miss parts whose attempts succeeded: caches of network file systems live this long.
_VISIBLE_AFTER_S = (1, 2, 4, 8, 16, 32)


class DatasetParts:
    """A plan, cut into parts.

    plan      path of the plan file
    count     number of parts; None: one per GiB of payload, at least `workers`, at most 1,000 and at most one per `jobs` shards
    jobs      shards that each attempt writes at a time
    workers   parts that the engine should have at least, if there are enough shards
    program   the program `bale` of attempts; None: the package's own
    engine    words of the command line after `python -m bale.launch` that packs what is missing
    """

    def __init__(self, plan: Path, count: int | None, *, jobs: int, program: Path | None, engine: str,
                 workers: int = 16) -> None:
        if jobs < 1:
            raise make_error("invalid_argument", f"jobs: {jobs} is less than 1")
        if count is not None and count < 1:
            raise make_error("invalid_argument", f"parts: {count} is less than 1")
        path = os.path.abspath(os.fsdecode(plan))
        self._report: Report | None = None
        number = self._default_count(path, jobs, workers) if count is None else count
        self.parts = Parts(path, number, jobs, os.fsdecode(program) if program else None, os.getcwd())
        self._again = f"python -m bale.launch {engine} {shlex.quote(path)} --parts {number}"
        self.array = ""  # the missing parts as `bale merge` writes them: 3,17-19

    def _default_count(self, plan: str, jobs: int, workers: int) -> int:
        state = self._merge(plan, None)
        if self._report is not None:
            return 1
        wanted = max(-(-int(state["payload_bytes"]) // _DEFAULT_PART_BYTES), workers)
        return min(wanted, -(-int(state["shards"]) // jobs), _MAX_DEFAULT_PARTS)

    def missing(self) -> list[int]:
        """Numbers of the parts that are missing. If none is, the dataset is published."""
        if self._report is None:
            state = self._merge(self.parts.plan, self.parts.count)
            if self._report is None:
                self.array = state["array"]
                numbers: list[int] = state["missing_parts"]
                return numbers
        return []

    def pack(self, attempt: Attempt) -> Report:
        """Packs the missing parts by `attempt` and returns the report of the merge. Raises the bale.Error of a part that failed,
        with the missing parts and the command that packs them."""
        missing = self.missing()
        if missing:
            failed = attempt(self.parts, missing)
            missing = self.missing()
            for seconds in () if failed else _VISIBLE_AFTER_S:
                if not missing:
                    break
                time.sleep(seconds)
                missing = self.missing()
            if missing:
                raise self._incomplete(missing, failed)
        assert self._report is not None
        return self._report

    def _incomplete(self, missing: list[int], failed: list[Exception]) -> Exception:
        first = failed[0] if failed else None
        reason = f"{first}; " if first else ""
        text = (f"{len(missing)} of {self.parts.count} parts not packed: {self.array}: {reason}"
                f"the others are kept; to pack these, run `{self._again}`")
        error = make_error(first.code if isinstance(first, Error) else "retryable", text)
        error.__cause__ = first
        return error

    def _merge(self, plan: str, count: int | None) -> Json:
        """Merges, or returns what is missing."""
        parts = [] if count is None else ["--parts", str(count)]
        done = subprocess.run([program_path(), "merge", plan, "--json", "--quiet", *parts], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False)
        if done.returncode not in (0, 4, _RETRYABLE) or not done.stdout:
            raise failure("merge", done.returncode, done.stderr)
        # Names of files may be of any bytes.
        said: Json = json.loads(done.stdout.decode("utf-8", "surrogateescape"))
        if done.returncode != _RETRYABLE:
            self._report = said
        return said


class PartProgress:
    """Shows the parts that ended. `shown`: None shows them in a terminal or a notebook only."""

    def __init__(self, engine: str, total: int, shown: bool | None) -> None:
        self._engine, self._total, self._packed, self._failed = engine, total, 0, 0
        watched = is_watched()
        self._shown = watched if shown is None else shown
        make = bar_class() if self._shown and watched else None  # a log gets lines
        self._bar: Bar | None = make(desc=engine, total=total, unit="part") if make else None

    def __enter__(self) -> PartProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    def packed(self) -> None:
        self._packed += 1
        if self._bar is not None:
            self._bar.update()
        else:
            self._say(f"{self._packed} of {self._total} parts packed" + (f", {self._failed} failed" if self._failed else ""))

    def failed(self, error: Exception) -> None:
        self._failed += 1
        self._say(str(error))

    def _say(self, text: str) -> None:
        if not self._shown:
            return
        line = f"{self._engine}: {text}"
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)
