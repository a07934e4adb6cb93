"""A dataset that has two versions."""
import json
import shutil
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
