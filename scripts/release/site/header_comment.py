#!/usr/bin/env python3
"""Doxygen's input filter: makes the comment at the beginning of a header the documentation of that file, and lists of errors, a code
and its reason on each line, lists.
"""
import pathlib
import re
import sys

lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
count = next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))
head = ["///" + line[2:] for line in lines[:count]]
lines[count:] = [re.sub(r"^(\s*///) {2,3}(`\w+`) +", r"\1 - \2: ", line) for line in lines[count:]]
# As many lines as before: Doxygen tells where things are.
print("\n".join(["/// \\file" + (" \n" + "\n".join(head) if head else ""), *lines[count:]]))
