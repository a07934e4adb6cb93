"""bale.pack(), plan(), pack_part() and merge() to S3: as the program."""
import pytest
from conftest import tree_bytes
from remote_support import moto, remote  # noqa: F401
from test_remote_writing import OPTIONS
from writing_support import moto_place  # noqa: F401

import bale as bl


@pytest.fixture
def place(moto_place, monkeypatch):  # noqa: F811
    for name, value in moto_place.run.env.items():
        monkeypatch.setenv(name, value)
    return moto_place


def test_pack_and_resume(bale, place, photos, tmp_path):
    report = bl.pack(photos, place.name, name="x", shard_samples=7, progress=False, staging_dir=str(tmp_path))
    assert report["samples"] == 40
    bale.pack(photos, tmp_path / "local", *OPTIONS)
    assert place.objects() == tree_bytes(tmp_path / "local")
    place.remove("x-000002.tar")
    bl.pack(photos, place.name, name="x", shard_samples=7, progress=False, resume=True)
    assert place.objects() == tree_bytes(tmp_path / "local")


def test_parts(bale, place, photos, tmp_path):
    bl.plan(photos, place.name, tmp_path / "plan", name="x", shard_samples=7)
    bl.pack_part(tmp_path / "plan", 1, 2, staging_dir=tmp_path)
    with pytest.raises(bl.Error) as missing:
        bl.merge(tmp_path / "plan")
    assert missing.value.code == "retryable"
    bl.pack_part(tmp_path / "plan", 0, 2)
    bl.merge(tmp_path / "plan")
    bale.pack(photos, tmp_path / "local", *OPTIONS)
    assert place.objects() == tree_bytes(tmp_path / "local")


def test_samples_are_written_to_directories(place):
    with pytest.raises(bl.Error, match="bale writes local files"):
        bl.pack(iter([(b"x", 0)]), place.name)
    assert not place.proxy.log
