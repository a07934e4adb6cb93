"""The program `bale` of this package, as a command."""
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # of typing, which takes longer to import than the rest of the command
if TYPE_CHECKING:
    from typing import NoReturn

_BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def program_path(name: str = "bale") -> str:
    """Path of a program of this package."""
    return os.path.join(_BIN, name)


def main() -> NoReturn:
    """The console command: replaces this process by the program."""
    os.execv(program_path(), ["bale", *sys.argv[1:]])
