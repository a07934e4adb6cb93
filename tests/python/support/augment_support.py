"""The tools behind the tests of augmentation: what ours draws and makes of images, and other means to do the same.

BALE_TEST_TORCHVISION=PYTHON  a Python with torchvision (/usr/bin/python3, which has Debian's)
"""
import functools
import json
import os
import struct
import subprocess
import sys

from conftest import BUILD, REPO

TOOL = BUILD / "tests" / "bale_augment_tool"
REPLAY = REPO / "tests" / "support" / "programs" / "replay_augment.py"
PYTHONS = {"pillow": sys.executable, "torchvision": os.environ.get("BALE_TEST_TORCHVISION", "/usr/bin/python3")}
JITTER = (0.4, 0.4, 0.4, 0.1)


def tool(*args, stdin=b""):
    done = subprocess.run([TOOL, *map(str, args)], input=stdin, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def transformed(files, **options):
    """[(description, bytes)] of each file."""
    out = tool("images", *(f"{name}={value}" for name, value in options.items()),
               stdin="".join(f"{file}\n" for file in files).encode())
    found, at = [], 0
    while at < len(out):
        end = out.index(b"\n", at)
        line = json.loads(out[at:end])
        at = end + 1 + line.get("bytes", 0)
        found.append((line, out[end + 1 : at]))
    assert len(found) == len(files)
    return found


def draws(width, height, count, **options):
    out = tool("draws", width, height, count, *(f"{name}={value}" for name, value in options.items()))
    return [json.loads(line) for line in out.splitlines()]


class Replay:
    """replay_augment.py under another Python, which takes a while to start: one for all tests."""

    def __init__(self, python):
        self.process = subprocess.Popen([python, "-W", "ignore", REPLAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "OMP_NUM_THREADS": "1"})

    def __call__(self, mode, **job):
        self.process.stdin.write(json.dumps({"mode": mode, **job}).encode() + b"\n")
        self.process.stdin.flush()
        head = self.process.stdout.read(8)
        assert len(head) == 8, "the replay has failed; see its message above"
        (size,) = struct.unpack("<q", head)
        answer = self.process.stdout.read(size)
        assert len(answer) == size
        return answer


@functools.cache
def replay_of(python):
    return Replay(PYTHONS[python])  # ends when this process does, with its stdin


def replay(python, mode, **job):
    return replay_of(python)(mode, **job)


@functools.cache
def pass_order(python):
    """The order of passes of that Python's Pillow."""
    about = json.loads(replay(python, "about"))
    if python == "torchvision":
        assert about["torchvision"], f"{PYTHONS[python]} has no torchvision (Debian: python3-torchvision)"
    return "pillow_13" if int(about["pillow"].split(".")[0]) >= 13 else "pillow_12"
