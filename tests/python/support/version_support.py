"""A dataset that has two versions."""
import json
import shutil
import types

import pytest
from conftest import make_images


def version_of(bale, spec):
    return json.loads(bale.ok("inspect", "--json", spec).out)["version"]


def publish(bale, old, new, destination, message="week 48"):
    """The dataset `old` with the shards of `new`, of the same name, as its second version."""
    bale.ok("merge", old, new, "-o", destination, "--name", "x")
    parent = version_of(bale, old)
    (destination / "versions").mkdir()
    shutil.copy(old / "manifest.json", destination / "versions" / f"{parent}.json")
    manifest = json.loads((destination / "manifest.json").read_text())
    del manifest["checksum"]
    change = {"verb": "add", "num_samples": manifest["num_samples"] - 6, "message": message}
    (destination / "manifest.json").write_text(json.dumps({**manifest, "parent": parent, "change": change}))


@pytest.fixture(scope="session")
def versions(bale, tmp_path_factory):
    """`packed` with two versions, `first` and `second`; `old` is a dataset that is like the first one."""
    root = tmp_path_factory.mktemp("versions")
    for name in ("old", "new"):
        make_images.make_tree(root / "files" / name, classes=2, per_class=3, size=(24, 18), seed=len(name + "x") + (name == "new"))
        for file in list((root / "files" / name).rglob("*.*")):
            file.rename(file.with_name(f"{name}_{file.name}"))
        bale.pack(root / "files" / name, root / name, "--name", "x")
    publish(bale, root / "old", root / "new", root / "packed")
    return types.SimpleNamespace(root=root, packed=root / "packed", old=root / "old", new=root / "new",
                                 first=version_of(bale, root / "old"), second=version_of(bale, root / "packed"))
