"""Fixtures: the program under test, a folder of small images, and helpers to look at what came out."""
import fcntl
import importlib.util
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import termios

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BALE_BUILD_DIR", REPO / "build")).resolve()
PROGRAM = BUILD / "bin" / "bale"
SHIM = BUILD / "tests" / "libbale_test_shim.so"

LONG = "BALE_LONG_TESTS" in os.environ  # scripts/test.sh --long

FORMATS = ["tar", "lmdb", "hdf5", "tfrecord", "recordio"]
ALL_FORMATS = [*FORMATS, "npy"]  # with the one that holds pixels, not the packed bytes


def format_options(name):
    """Options that choose a format, such that it takes images of several sizes."""
    return ["--format", name, *(["--size", "32"] if name == "npy" else [])]


# Layouts that keep the packed bytes, as (format, layout).
LAYOUTS = [("tar", "plain"), ("tar", "gz"), ("tar", "zst"), ("lmdb", "plain"), ("hdf5", "blob"), ("hdf5", "vlen"),
           ("tfrecord", "example"), ("recordio", "image")]


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """A temporary directory of this run's own: pytest's default is shared by all runs, and one that starts takes away
    the permissions that another has just given to an ordinary user."""
    if not config.option.basetemp:
        config.option.basetemp = tempfile.mkdtemp(prefix="bale-pytest-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


def by_tier(short_tier, long_tier):
    """How much of something to do."""
    return long_tier if LONG else short_tier


class Result:
    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    @property
    def out(self):
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def err(self):
        return self.stderr.decode("utf-8", "surrogateescape")

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def error_line(self):
        """The one line that tells what went wrong: there must be exactly one."""
        lines = [line for line in self.err.splitlines() if line.startswith("bale: ")]
        assert len(lines) == 1, self
        return lines[0]


def on_terminal(command, **options):
    """Popen of a command whose terminal is its own, and the other end of that: b"\\x03" written there is Ctrl-C."""
    ours, its = pty.openpty()

    def take_terminal():
        fcntl.ioctl(its, termios.TIOCSCTTY, 0)
    process = subprocess.Popen(command, stdin=its, start_new_session=True, preexec_fn=take_terminal, **options)
    os.close(its)
    return process, ours


class Bale:
    """Runs the program. A run that takes minutes is a hang, and fails the test."""

    def __call__(self, *args, env=None, stdin=None, cwd=None, prefix=(), timeout=120):
        command = [*prefix, PROGRAM, *args]
        done = subprocess.run(command, capture_output=True, input=stdin, stdin=None if stdin is not None else
                              subprocess.DEVNULL, env={**os.environ, **(env or {})}, cwd=cwd, timeout=timeout)
        return Result(done.returncode, done.stdout, done.stderr)

    def ok(self, *args, **kwargs):
        result = self(*args, **kwargs)
        if result.code != 0:  # not an assert: pytest would cut the output short
            pytest.fail(f"bale {' '.join(map(str, args))}: {result!r}")
        return result

    def pack(self, source, destination, *args, **kwargs):
        return self.ok("pack", source, destination, *args, **kwargs)


@pytest.fixture(scope="session")
def bale():
    assert PROGRAM.exists(), f"{PROGRAM} is not built"
    return Bale()


def load_make_images():
    spec = importlib.util.spec_from_file_location("make_images", REPO / "scripts" / "make_images.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_images"] = module  # so that its worker processes can find the functions
    spec.loader.exec_module(module)
    return module


make_images = load_make_images()


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """40 small images in 5 classes: gray, CMYK and a PNG named .JPEG among them. Read-only by convention."""
    root = tmp_path_factory.mktemp("photos")
    make_images.make_tree(root, classes=5, per_class=8, size=(96, 72), odd=True)
    return root


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """6 images of about 1 KB in 2 classes, for tests that run hundreds of times."""
    root = tmp_path_factory.mktemp("tiny")
    make_images.make_tree(root, classes=2, per_class=3, size=(24, 18))
    return root


def shards(directory):
    """Shard files of a dataset, in order."""
    names = sorted(p for p in pathlib.Path(directory).iterdir()
                   if re.search(r"-\d{6}(\.|$)|-\d{5}-of-\d{5}$", p.name)
                   and p.suffix not in (".bidx", ".bentry", ".idx", ".lst"))
    return names


def tree_bytes(directory, ignore=()):
    """{relative path: content} of every file below `directory`."""
    directory = pathlib.Path(directory)
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*"))
            if p.is_file() and p.name not in ignore}


def fields_by_key(bale, spec, directory):
    """{key: {field: bytes}} of a dataset with plain keys, extracted to `directory`."""
    bale.ok("extract", spec, directory)
    samples = {}
    for name, content in tree_bytes(directory).items():
        _, _, field = name.rpartition("/")[2].partition(".")
        samples.setdefault(name[:len(name) - len(field) - 1], {})[field] = content
    return samples


def images_by_key(folder):
    """{key: (bytes, class index)} as ImageFolder would number them, for plain file names."""
    folder = pathlib.Path(folder)
    found = {}
    for index, class_dir in enumerate(sorted(p for p in folder.iterdir() if p.is_dir())):
        for path in sorted(class_dir.rglob("*")):
            if path.is_file():
                found[str(path.relative_to(folder).with_suffix(""))] = (path.read_bytes(), index)
    return found


@pytest.fixture
def fresh_copy(tmp_path):
    """fresh_copy(DIR) -> a copy of DIR to damage."""
    def copy(directory, name="copy"):
        target = tmp_path / name
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(directory, target)
        return target
    return copy


def key_list(bale, spec):
    """Keys of a dataset in order, as raw bytes."""
    return bale.ok("ls", "-0", spec).stdout.split(b"\0")[:-1]


def class_names(directory):
    """Class names in the manifest, as raw bytes."""
    names = json.loads((pathlib.Path(directory) / "manifest.json").read_text())["classes"]
    return [bytes.fromhex(n["hex"]) if isinstance(n, dict) else n.encode() for n in names]


def read_tar(directory):
    """[(key, {field: bytes})] of a directory of plain tars, in order, by Python's tarfile and WebDataset's naming."""
    samples = []
    for shard in shards(directory):
        with tarfile.open(shard, encoding="utf-8", errors="surrogateescape") as tar:
            for info in tar:
                base, _, extension = info.name.rpartition("/")[2].partition(".")
                key = info.name[:len(info.name) - len(extension) - 1]
                if not samples or samples[-1][0] != key:
                    samples.append((key, {}))
                samples[-1][1][extension] = tar.extractfile(info).read()
    return samples
