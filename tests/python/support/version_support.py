"""A dataset that has two versions."""
import json
import shutil
import subprocess
import types

import pytest
from conftest import make_images


def version_of(bale, spec):
    return json.loads(bale.ok("inspect", "--json", spec).out)["version"]


def make_files(root, prefix, classes=2, per_class=3):
    """Small images whose names begin with `prefix`."""
    make_images.make_tree(root, classes=classes, per_class=per_class, size=(24, 18), seed=len(prefix))
    for file in list(root.rglob("*.*")):
        file.rename(file.with_name(f"{prefix}_{file.name}"))
    return root


MARKER = b"a marker that is nowhere else 48151623"
MARKED = "amber/o_amber_0003"  # the key of the sample that has it


def make_marked(root, per_class=6):
    """As make_files(), with a comment in the JPEG of one sample."""
    make_files(root, "o", per_class=per_class)
    image = root / f"{MARKED}.JPEG"
    content = image.read_bytes()
    comment = b"\xff\xfe" + (len(MARKER) + 2).to_bytes(2, "big") + MARKER
    image.write_bytes(content[:2] + comment + content[2:])
    return root


def has_marker(files):
    """Whether {name: content} have anything of that sample, also in what was compressed."""
    for name, content in files.items():
        if name.endswith((".zst", ".gz")):
            program = "zstd" if name.endswith(".zst") else "gzip"
            content = subprocess.run([program, "-dc"], input=content, stdout=subprocess.PIPE, check=True).stdout
        if MARKER in content or MARKED.split("/")[1].encode() in content:
            return True
    return False


@pytest.fixture(scope="session")
def versions(bale, tmp_path_factory):
    """`packed` with two versions, `first` and `second`; `old` and `new` are datasets of what they were made of."""
    root = tmp_path_factory.mktemp("versions")
    for name in ("old", "newer"):
        bale.pack(make_files(root / "files" / name, name), root / name, "--name", "x")
    shutil.copytree(root / "old", root / "packed")
    bale.ok("add", root / "packed", root / "files" / "newer", "-m", "week 48")
    return types.SimpleNamespace(root=root, packed=root / "packed", old=root / "old", new=root / "newer",
                                 first=version_of(bale, root / "old"), second=version_of(bale, root / "packed"))
