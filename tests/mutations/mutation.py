"""What one mutation is."""
from typing import NamedTuple


class Mutation(NamedTuple):
    name: str
    file: str
    old: str  # occurs once in the file
    new: str
    test: tuple  # ("python", file, option...), or a C++ test program's name and its arguments
