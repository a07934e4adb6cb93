"""Files for other readers: what their own tools write, what their own code reads, and nobody's when they are ours."""
import importlib.util
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from conftest import REPO, format_options, images_by_key, manifest_of, tree_bytes
from PIL import Image

ALL = "wds2idx,wids,timm,energon"
PACK_OPTIONS = ["--format", "tar", "--name", "photos", "--shard-samples", "15", "--sidecars", ALL]


def energon_of(path):
    """Energon's own recipe: where every sample's first header lies, then the end."""
    offsets, last = [], None
    with tarfile.open(path, "r:", encoding="utf-8", errors="surrogateescape") as tar:
        for member in tar:
            if not member.isreg():
                continue
            key = member.name[:member.name.index(".", member.name.rfind("/") + 1)]
            if key != last:
                offsets.append(member.offset)
            last = key
        offsets.append(tar.offset)
    return struct.pack(f"={len(offsets)}Q", *offsets)


def test_all_are_there(ours):
    names = {path.name for path in ours.iterdir()}
    assert names == {"manifest.json", "shardindex.json", "_info.json"} | {
        f"photos-00000{i}.{suffix}" for i in range(3) for suffix in ("tar", "tar.bidx", "idx", "tar.idx")}


def test_index_is_what_wds2idx_writes(ours, tmp_path):
    for shard in ours.glob("*.tar"):
        subprocess.run([sys.executable, "-m", "wds2idx", shard, tmp_path / "x.idx"], check=True, capture_output=True)
        assert shard.with_suffix(".idx").read_text() == (tmp_path / "x.idx").read_text()


def test_dali_reads_by_it(ours, photos):
    dali = pytest.importorskip("nvidia.dali")
    expected = images_by_key(photos)

    @dali.pipeline_def(batch_size=8, num_threads=1, device_id=None)
    def pipeline():
        return tuple(dali.fn.readers.webdataset(paths=sorted(map(str, ours.glob("*.tar"))), ext=["jpg", "cls"],
                                                index_paths=sorted(map(str, ours.glob("photos-??????.idx")))))
    reader = pipeline()
    reader.build()
    found = []
    for _ in range(len(expected) // 8):
        images, labels = reader.run()
        found += [(np.asarray(images.at(i)).tobytes(), int(np.asarray(labels.at(i)).tobytes())) for i in range(8)]
    assert sorted(found) == sorted(expected.values())


def test_energon(ours):
    for shard in ours.glob("*.tar"):
        content = (ours / f"{shard.name}.idx").read_bytes()
        assert content == energon_of(shard)
        offsets = struct.unpack(f"={len(content) // 8}Q", content)
        for begin, end in zip(offsets, offsets[1:]):  # as Energon reads a sample
            with tarfile.open(fileobj=io.BytesIO(shard.read_bytes()[begin:end]), mode="r:") as tar:
                assert sorted(name.rpartition(".")[2] for name in tar.getnames()) == ["cls", "jpg"]


def test_wids_and_timm(ours):
    files = sorted(path.name for path in ours.glob("*.tar"))
    counts = [manifest_of(ours)["shards"][i]["num_samples"] for i in range(3)]
    wids = json.loads((ours / "shardindex.json").read_text())
    assert wids["__kind__"] == "wids-shard-index-v1" and wids["wids_version"] == 1 and wids["name"] == "photos"
    assert wids["shardlist"] == [{"url": f, "nsamples": n, "filesize": (ours / f).stat().st_size}
                                 for f, n in zip(files, counts)]
    timm = json.loads((ours / "_info.json").read_text())
    assert timm == {"splits": {"photos": {"name": "photos", "filenames": files, "shard_lengths": counts,
                                          "num_samples": sum(counts)}}}


TIMM = """
import json, sys
root, site_packages = sys.argv[1:]
sys.path.append(site_packages)  # last, for webdataset alone
from timm.data.readers.reader_wds import ReaderWds
reader = ReaderWds(root, split="photos", filename_key="__key__")
found = [[label, list(image.size), image.mode] for image, label in reader]
print(json.dumps([reader.split_info.num_samples, list(reader.split_info.filenames), found]))
"""


def test_timm_reads_by_it(ours, photos):
    """With its own reader, in the environment of the examples."""
    python = os.environ.get("BALE_TEST_EXAMPLES_PYTHON") or REPO / ".venv-examples" / "bin" / "python"
    if not pathlib.Path(python).exists():
        pytest.skip("no environment of the examples, which has timm")
    webdataset = pathlib.Path(importlib.util.find_spec("webdataset").origin).parents[1]
    done = subprocess.run([python, "-c", TIMM, ours, webdataset], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    count, files, found = json.loads(done.stdout.splitlines()[-1])
    expected = images_by_key(photos)
    assert count == len(expected) and files == sorted(path.name for path in ours.glob("*.tar"))
    sizes = [(label, list(Image.open(io.BytesIO(data)).size)) for data, label in expected.values()]
    assert found == [[label, size, "RGB"] for label, size in sizes]


def test_long_names_and_foreign_members(bale, tmp_path):
    """Extended headers belong to the sample they come before; what is in no sample is in no index."""
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        def add(name, content, type=tarfile.REGTYPE):
            info = tarfile.TarInfo(name)
            info.size, info.type = len(content), type
            tar.addfile(info, io.BytesIO(content))
        add("d", b"", tarfile.DIRTYPE)
        add("d/" + "k" * 120 + ".jpg", b"1" * 700)
        add("d/" + "k" * 120 + ".cls", b"3")
        add("d/\u00e9.jpg", b"2" * 10)
    bale.ok("index", tmp_path / "x.tar", "--sidecars", ALL)
    assert (tmp_path / "x.tar.idx").read_bytes() == energon_of(tmp_path / "x.tar")
    lines = (tmp_path / "x.idx").read_text().splitlines()
    assert lines[0] == "v1.2 2" and len(lines) == 3
    data = (tmp_path / "x.tar").read_bytes()
    for line in lines[1:]:
        words = line.split(" ")
        for extension, offset, size, name in zip(*[iter(words)] * 4):
            assert name.endswith("." + extension)
            with tarfile.open(tmp_path / "x.tar") as tar:
                assert data[int(offset):int(offset) + int(size)] == tar.extractfile(name).read()
    subprocess.run([sys.executable, "-m", "wds2idx", tmp_path / "x.tar", tmp_path / "theirs"], check=True,
                   capture_output=True)


def test_index_afterwards_is_packing_with_them(bale, ours, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "tar", "--name", "photos", "--shard-samples", "15")
    bale.ok("index", tmp_path / "p", "--sidecars", ALL)
    bale.ok("index", tmp_path / "p", "--sidecars", "timm")  # again changes nothing
    ignored = ("manifest.json",)
    assert tree_bytes(tmp_path / "p", ignored) == tree_bytes(ours, ignored)
    manifests = [manifest_of(path) for path in (tmp_path / "p", ours)]
    for manifest in manifests:
        del manifest["plan"], manifest["checksum"]
    assert manifests[0] == manifests[1]
    bale.ok("verify", tmp_path / "p")
    bale.pack(photos, tmp_path / "p", "--format", "lmdb", "--name", "photos", "--overwrite")
    left = {path.name for path in (tmp_path / "p").iterdir()}
    assert not [name for name in left if name.endswith((".idx", ".tar"))] and not left & {"_info.json", "shardindex.json"}


@pytest.mark.parametrize("file", ["photos-000001.idx", "photos-000002.tar.idx", "_info.json", "shardindex.json"])
def test_verify_looks_after_them(bale, ours, fresh_copy, file):
    copy = fresh_copy(ours)
    content = (copy / file).read_bytes()
    (copy / file).write_bytes(content.replace(b"1", b"2", 1) if b"1" in content else content[1:])
    changed = bale("verify", copy)
    assert changed.code == 3 and file in changed.out
    (copy / file).unlink()
    missing = bale("verify", copy)
    assert missing.code == 3 and file in missing.out


def test_overwrite_takes_nothing_that_is_not_ours(bale, photos, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "_info.json").write_text("mine")
    result = bale("pack", photos, tmp_path / "p", "--format", "tar", "--sidecars", "timm", "--overwrite")
    assert result.code == 1 and "_info.json" in result.error_line()
    assert (tmp_path / "p" / "_info.json").read_text() == "mine"
    bale.pack(photos, tmp_path / "q", "--format", "tar", "--name", "x")
    (tmp_path / "q" / "x-000000.idx").write_text("mine")
    result = bale("index", tmp_path / "q", "--sidecars", "wds2idx")
    assert result.code == 1 and "--force" in result.err
    assert (tmp_path / "q" / "x-000000.idx").read_text() == "mine"
    bale.ok("index", tmp_path / "q", "--sidecars", "wds2idx", "--force")
    assert (tmp_path / "q" / "x-000000.idx").read_text().startswith("v1.2 ")


@pytest.mark.parametrize("place, name", [("tar.gz", "wds2idx"), ("lmdb", "wids"), ("tar", "tfrecord"),
                                         ("tar", "no-such"), ("npy", "timm")])
def test_refused_where_they_make_no_sense(bale, photos, tmp_path, place, name):
    result = bale("pack", photos, tmp_path / "p", *format_options(place), "--sidecars", name)
    assert result.code == 2 and name in result.error_line()
    assert not (tmp_path / "p").exists()
    bale.pack(photos, tmp_path / "p", *format_options(place))
    before = tree_bytes(tmp_path / "p")
    result = bale("index", tmp_path / "p", "--sidecars", name)
    assert result.code == 2 and name in result.error_line()
    assert tree_bytes(tmp_path / "p") == before


def test_white_space_in_names(bale, tmp_path, tiny):
    (key, (data, _)), *_ = images_by_key(tiny).items()
    (tmp_path / "in" / "c").mkdir(parents=True)
    (tmp_path / "in" / "c" / "a b.jpg").write_bytes(data)
    bale.pack(tmp_path / "in", tmp_path / "p", "--format", "tar", "--name", "x")
    result = bale("index", tmp_path / "p", "--sidecars", "wds2idx")
    assert result.code == 1 and "white space" in result.error_line() and "leave wds2idx out" in result.error_line()
    bale.ok("verify", tmp_path / "p")
    assert {path.name for path in (tmp_path / "p").iterdir()} == {"manifest.json", "x-000000.tar", "x-000000.tar.bidx"}


def test_an_index_for_records_of_others(bale, tmp_path, photos):
    bale.pack(photos, tmp_path / "p", "--format", "tfrecord", "--name", "x")
    (shard,) = [path for path in (tmp_path / "p").iterdir() if "-of-" in path.name and not path.suffix]
    foreign = tmp_path / "foreign" / "train-00000-of-00001"
    foreign.parent.mkdir()
    foreign.write_bytes(shard.read_bytes())
    bale.ok("index", foreign, "--sidecars", "tfrecord")
    made = foreign.with_name(f"{foreign.name}.idx")
    assert made.read_bytes() == (tmp_path / "p" / f"{shard.name}.idx").read_bytes()
