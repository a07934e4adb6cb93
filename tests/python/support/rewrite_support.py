"""What tests of bale rewrite share: a dataset of which one sample has a marker."""
import json

import pytest
import version_support
from conftest import tree_bytes
from version_support import make_files, make_marked


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("files")
    make_marked(root / "old")
    make_files(root / "new", "new", classes=2, per_class=3)
    return root


def packed(bale, files, out, *options, layout="tar.plain", samples=4):
    bale.pack(files / "old", out, "--format", layout, "--name", "x", "--shard-samples", str(samples), *options)
    return out


def rewrite(bale, out, *options, code=0):
    result = bale("rewrite", out, "--json", *options)
    assert result.code == code, result
    return json.loads(result.out)


def versions_of(bale, out):
    return [version["version"] for version in json.loads(bale.ok("log", "--json", out).out)["versions"]]


def has_marker(directory):
    return version_support.has_marker(tree_bytes(directory))


def relabel(bale, out, tmp_path, key, label):
    (tmp_path / "labels.csv").write_text(f"key,label\n{key},{label}\n")
    bale.ok("set", out, f"label={tmp_path / 'labels.csv'}")
