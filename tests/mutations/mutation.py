"""What one mutation is."""
import re
from typing import NamedTuple


class Mutation(NamedTuple):
    name: str
    file: str
    old: str  # occurs once in the file, however its lines are broken
    new: str
    test: tuple  # ("python", file, option...), or a C++ test program's name and its arguments

    def pattern(self):
        """A compiled pattern of `old` in which any white space stands for any other."""
        words = re.split(r"(\s+)", self.old)
        return re.compile("".join(r"\s+" if word.isspace() else re.escape(word) for word in words))

    def applied_to(self, text):
        """The text with `new` in place of `old`, and how many times `old` is in it."""
        return self.pattern().subn(lambda _: self.new, text)
