"""Fixtures: the program under test, a folder of small images, and helpers to look at what came out."""
import fcntl
import importlib.util
import io
import json
import os
import pathlib
import pty
import re
import shutil
import signal
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
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]  # runs a command as an ordinary user

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in the background of a script; programs under test would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = "BALE_LONG_TESTS" in os.environ  # scripts/test.sh --long


def _listed_layouts():
    """[(format, layout, suffix, whether it keeps the packed bytes)] as the program lists them. The first layout of a
    format is its default."""
    assert PROGRAM.exists(), f"{PROGRAM} is not built"
    listed = subprocess.run([PROGRAM, "formats"], capture_output=True, text=True, check=True).stdout
    written, _, _ = listed.partition("\n\n")  # without the formats that bale only reads
    return [(*line.split()[:3], "decoded pixels" not in line) for line in written.splitlines()[1:]]


_LISTED = _listed_layouts()
ALL_LAYOUTS = [(name, layout) for name, layout, _, _ in _LISTED]
LAYOUTS = [(name, layout) for name, layout, _, keeps_bytes in _LISTED if keeps_bytes]
SUFFIXES = sorted({suffix for _, _, suffix, _ in _LISTED if suffix.startswith(".")})  # "-of-N" is none
_DEFAULTS = {name: layout for name, layout in reversed(ALL_LAYOUTS)}
ALL_FORMATS = list(dict.fromkeys(name for name, _ in ALL_LAYOUTS))
FORMATS = [name for name in ALL_FORMATS if (name, _DEFAULTS[name]) in LAYOUTS]  # not those that hold pixels
assert FORMATS and LAYOUTS, _LISTED


def format_options(name):
    """Options that choose a format, such that it takes images of several sizes."""
    format_name, _, layout = name.partition(".")
    keeps_bytes = (format_name, layout or _DEFAULTS[format_name]) in LAYOUTS
    return ["--format", name, *([] if keeps_bytes else ["--size", "32"])]


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """A temporary directory of this run's own: pytest's default is shared by all runs, and one that starts takes away
    the permissions that another has just given to an ordinary user."""
    if not config.option.basetemp:
        config.option.basetemp = tempfile.mkdtemp(prefix="bale-pytest-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


def pytest_collection_modifyitems(config, items):
    """BALE_TEST_PART=2/3: the second third of the tests, in order, so that fixtures are made once."""
    part, parts = map(int, os.environ.get("BALE_TEST_PART", "1/1").split("/"))
    begin, end = len(items) * (part - 1) // parts, len(items) * part // parts
    config.hook.pytest_deselected(items=items[:begin] + items[end:])
    items[:] = items[begin:end]


def by_tier(short_tier, long_tier):
    """How much of something to do."""
    return long_tier if LONG else short_tier


def shim(**settings):
    """The environment of a run with the shim (tests/support/shim/shim.c): its settings without BALE_SHIM_."""
    return {"LD_PRELOAD": str(SHIM), **{f"BALE_SHIM_{name}": str(value) for name, value in settings.items()}}


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
        lines = [line for line in self.err.splitlines() if line.startswith("bale: ") and not line.startswith("bale: warning: ")]
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
    spec = importlib.util.spec_from_file_location("make_images", REPO / "tests" / "support" / "make_images.py")
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


@pytest.fixture(scope="module")
def pack(request, bale, photos, tmp_path_factory):
    """The photos, packed with the module's PACK_OPTIONS if it has any. Read-only by convention."""
    root = tmp_path_factory.mktemp("pack") / "pack"
    bale.pack(photos, root, *getattr(request.module, "PACK_OPTIONS", []))
    return root


@pytest.fixture(scope="module")
def ours(pack):
    """What tests call it that compare it with other programs' files."""
    return pack


def let_others_in(directory):
    """Lets any user get to `directory`: pytest makes its directories for their owner only."""
    for path in (directory, *directory.parents):
        if "pytest-" in str(path):
            path.chmod(0o755)


def shards(directory):
    """Shard files of a dataset, in order."""
    names = sorted(p for p in pathlib.Path(directory).iterdir()
                   if re.search(r"-\d{6}(\.|$)|-\d{5}-of-\d{5}$", p.name)
                   and p.suffix not in (".bidx", ".bseek", ".idx", ".lst"))
    return names


def tree_bytes(directory, ignore=()):
    """{relative path: content} of every file below `directory`."""
    directory = pathlib.Path(directory)
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*"))
            if p.is_file() and p.name not in ignore}


def fields_by_key(bale, spec):
    """{key: {field: bytes}} of a dataset, as it is extracted."""
    keys = {key.replace("%2E", ".").replace("%25", "%"): key for key in key_names(bale, spec)}
    samples = {}
    with tempfile.TemporaryDirectory() as directory:
        bale.ok("extract", spec, directory)
        for name, content in tree_bytes(directory).items():
            dots = [at for at, letter in enumerate(name) if letter == "." and at > name.rfind("/")]
            at = next((at for at in reversed(dots) if name[:at] in keys), dots[0])
            samples.setdefault(keys.get(name[:at], name[:at]), {})[name[at + 1:]] = content
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


def images_in_order(folder):
    """[(key, image, label)] as packing orders them."""
    return [(key, *value) for key, value in sorted(images_by_key(folder).items())]


def flip(path, at, mask=1):
    """Other bits in one byte of a file."""
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ mask]))


def check_images_of_others(bale, spec, folder, tmp_path, labels=True):
    """inspect, verify, cat and convert: a file that another program made holds exactly the folder's images, as jpg, or by their kind."""
    expected = images_in_order(folder)
    bale.ok("inspect", spec)
    bale.ok("verify", spec)
    keys = key_list(bale, spec)
    assert len(keys) == len(expected)
    assert bale.ok("cat", spec, keys[5], "--field", "jpg").stdout == expected[5][1]
    bale.ok("convert", spec, tmp_path / "converted", "--format", "tar")
    files = fields_by_key(bale, tmp_path / "converted")
    for key, (_, image, label) in zip(key_names(bale, tmp_path / "converted"), expected, strict=True):
        assert files[key].get("jpg", files[key].get("png")) == image
        if labels:
            assert int(files[key]["cls"]) == label


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


def key_names(bale, spec):
    """Keys of a dataset in order, as Python has file names."""
    return [os.fsdecode(key) for key in key_list(bale, spec)]


def manifest_of(directory):
    """What its manifest says."""
    return json.loads((pathlib.Path(directory) / "manifest.json").read_text())


def class_names(directory):
    """Class names in the manifest, as raw bytes."""
    return [bytes.fromhex(n["hex"]) if isinstance(n, dict) else n.encode() for n in manifest_of(directory)["classes"]]


def labels_by_key(bale, spec):
    rows = [json.loads(line) for line in bale.ok("ls", "--json", spec).out.splitlines()]
    return {row["key"]: row.get("label") for row in rows}


def names_of(directory):
    return [name.decode() for name in class_names(directory)]


def ledger(directory):
    """What was skipped, an entry per source file or shard."""
    return [json.loads(line) for line in (pathlib.Path(directory) / "skipped.jsonl").read_text().splitlines()]


def write_tar(path, members, **options):
    """Writes an archive of [(name, content)] with Python's tarfile; gives its path."""
    with tarfile.open(path, "w", **options) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


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
