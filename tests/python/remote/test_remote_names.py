"""Names of other machines that bale does not read from, and of commands, wherever a dataset or a source may be named: it says so,
and what to do. (Names that it reads from: test_remote_http.py and its neighbors.)"""
import subprocess

import pytest
from python_support import ENVIRONMENT, command

NAMES = {"gs://bucket/packed": "gcloud storage cp", "az://container/x": "download it first",
         "pipe:aws s3 cp s3://bucket/x.tar -": "run the command",
         "s3:/bucket/packed": "write s3://"}  # as pathlib spells s3://bucket/packed
READERS = [["inspect"], ["ls"], ["cat", ..., "key"], ["extract", ..., "out"], ["verify"], ["stats"], ["preview", ..., "x.html"],
           ["read"], ["bench"], ["tune"], ["doctor"], ["index"], ["convert", ..., "out"], ["pack", ..., "out"],
           ["pack", "--source", "folder", ..., "out"], ["pack", "--source", "list", ..., "out"],
           ["pack", "--files-from", ..., "out"], ["pack", "--dry-run", ..., "out"]]


def is_told(result, name, what, verb="reads", others=""):
    line = result.error_line()
    if name.startswith("pipe:"):  # its arguments may be secret
        name = f"{name.split()[0]} ***"
    assert result.code == 2 and f"bale {verb} local files{others}: {name} is " in line and what in line, result


@pytest.mark.parametrize("words", READERS, ids=lambda words: " ".join(w for w in words if w is not ...))
def test_every_command(bale, tmp_path, words):
    words = words if ... in words else [*words, ...]
    for name in ("gs://bucket/packed", "pipe:cat x.tar"):
        result = bale(*[name if word is ... else word for word in words], cwd=tmp_path)
        is_told(result, name, NAMES.get(name, "run the command"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_name(bale, photos, tmp_path, name):
    is_told(bale("inspect", name), name, NAMES[name])
    bale.pack(photos, tmp_path / "packed")
    is_told(bale("inspect", f"{tmp_path}/packed::{name}"), name, NAMES[name])


def test_destinations(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed")
    for words in (["pack", photos], ["convert", tmp_path / "packed"], ["pack", "--dry-run", photos]):
        is_told(bale(*words, "gs://bucket/out", cwd=tmp_path), "gs://bucket/out", "copy it from there", "writes", " and s3://")
    is_told(bale("extract", tmp_path / "packed", "s3://bucket/out", cwd=tmp_path), "s3://bucket/out", "copy it", "writes")
    is_told(bale("preview", tmp_path / "packed", "s3://bucket/x.html"), "s3://bucket/x.html", "copy it", "writes")
    assert [path.name for path in tmp_path.iterdir()] == ["packed"]


def test_names_in_lists_and_tables(bale, tmp_path):
    (tmp_path / "list.txt").write_text("https://host/cat/1.jpg\n")
    result = bale("pack", "--files-from", tmp_path / "list.txt", tmp_path / "out", "--flat")
    is_told(result, "https://host/cat/1.jpg", "curl -O")
    assert "list.txt" in result.error_line() and "line 1" in result.error_line()
    (tmp_path / "table.csv").write_text("path,label\ns3://bucket/1.jpg,0\n")
    is_told(bale("pack", tmp_path / "table.csv", tmp_path / "out"), "s3://bucket/1.jpg", "aws s3 sync")
    (tmp_path / "own.csv").write_text("path,label\n1.jpg,0\n")
    is_told(bale("pack", tmp_path / "own.csv", tmp_path / "out", "--root", "gs://bucket"), "gs://bucket", "gcloud")


def test_a_local_name_that_looks_so_is_local(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "pipe:x")
    bale.ok("verify", "pipe:x", cwd=tmp_path)
    (tmp_path / "gs:" / "bucket").mkdir(parents=True)
    (tmp_path / "pipe:x").rename(tmp_path / "gs:" / "bucket" / "packed")
    bale.ok("verify", "gs://bucket/packed", cwd=tmp_path)
    for name in ("a:b", "C:x", "notes: s3://", "x-{0..1}:y.tar"):  # no such file, as before
        result = bale("inspect", name, cwd=tmp_path)
        assert result.code == 1 and "local files" not in result.error_line(), result


def test_from_python(tmp_path):
    script = """
import os, pathlib, bale
for open_it in (bale.Dataset, bale.Loader, bale.inspect, bale.verify, lambda spec: bale.pack(spec, "out"),
                lambda spec: bale.Dataset(["x", spec]), lambda spec: bale.Dataset("x::" + os.fsdecode(spec))):
    for spec in ("gs://bucket/packed", pathlib.Path("s3://bucket/packed"), b"az://a/b", "pipe:cat x"):
        try:
            open_it(spec)
        except ValueError as error:
            assert "bale reads local files: " in str(error), error
        else:
            raise AssertionError(spec)
"""
    subprocess.run(command(script), check=True, cwd=tmp_path, env=ENVIRONMENT)
