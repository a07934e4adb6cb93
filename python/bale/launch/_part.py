"""One attempt at a part of a plan: a process of `bale pack --plan`, on whatever machine this is."""
from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from bale._cli import program_path
from bale.errors import code_of_exit, make_error

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
