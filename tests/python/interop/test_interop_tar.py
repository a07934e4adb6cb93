"""Other programs read our tars as we meant them, and we read theirs."""
import io
import subprocess
import tarfile

import numpy as np
import pytest
import webdataset
from conftest import images_by_key, shards, tree_bytes, write_tar

PACK_OPTIONS = ["--format", "tar", "--name", "photos", "--shard-samples", "15"]


def as_members(photos):
    """What the tars must hold, in order."""
    members = []
    for key, (image, label) in sorted(images_by_key(photos).items()):
        members += [(f"{key}.cls", str(label).encode()), (f"{key}.jpg", image)]
    return sorted(members)


# --- others read ours

def test_webdataset_reads_ours(ours, photos):
    found = {}
    for sample in webdataset.WebDataset(str(ours / "photos-{000000..000002}.tar"), shardshuffle=False):
        found[sample["__key__"]] = (sample["jpg"], int(sample["cls"]))
    assert found == images_by_key(photos)


def test_webdataset_decodes_ours(ours):
    pipeline = webdataset.WebDataset(str(ours / "photos-000000.tar"), shardshuffle=False)
    count = 0
    for image, label in pipeline.decode("rgb8").to_tuple("jpg", "cls"):
        assert image.dtype == np.uint8 and image.ndim == 3 and isinstance(label, int)
        count += 1
    assert count == 15


def test_dali_reads_ours(ours, photos):
    """DALI finds the samples by itself; no index file is needed."""
    from nvidia.dali import fn, pipeline_def

    paths = [str(p) for p in shards(ours)]

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        images, labels = fn.readers.webdataset(paths=paths, ext=["jpg", "cls"], missing_component_behavior="error")
        return images, labels

    run = pipeline()
    run.build()
    found = []
    for _ in range(len(images_by_key(photos))):
        image, label = run.run()
        found.append((np.array(image[0]).tobytes(), int(np.array(label[0]).tobytes())))
    assert found == [value for _, value in sorted(images_by_key(photos).items())]


LISTERS = {"GNU tar": ["tar", "-tf"], "bsdtar": ["bsdtar", "-tf"]}
EXTRACTORS = {"GNU tar": ["tar", "-xf"], "bsdtar": ["bsdtar", "-xf"]}


@pytest.mark.parametrize("program", EXTRACTORS)
def test_tar_programs_list_and_extract_ours(ours, photos, program, tmp_path):
    names = []
    for shard in shards(ours):
        names += subprocess.run([*LISTERS[program], shard], check=True, capture_output=True).stdout.decode().split("\n")
        done = subprocess.run([*EXTRACTORS[program], shard, "-C", tmp_path], check=True, capture_output=True)
        assert done.stderr == b""
    assert sorted(n for n in names if n) == [name for name, _ in as_members(photos)]
    assert sorted(tree_bytes(tmp_path).items()) == as_members(photos)


@pytest.mark.parametrize("layout", ["gz", "zst"])
def test_bsdtar_reads_our_compressed_tars(bale, photos, layout, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "tar", "--layout", layout)
    (tmp_path / "files").mkdir()
    for shard in shards(tmp_path / "p"):
        subprocess.run(["bsdtar", "-xf", shard, "-C", tmp_path / "files"], check=True)
    assert sorted(tree_bytes(tmp_path / "files").items()) == as_members(photos)


def test_python_tarfile_reads_ours_and_metadata_is_fixed(ours, photos):
    members = []
    for shard in shards(ours):
        with tarfile.open(shard) as tar:
            for info in tar:
                assert info.isreg() and (info.uid, info.gid, info.mode & 0o777) == (0, 0, 0o444), info
                members.append((info.name, tar.extractfile(info).read(), info.mtime))
    assert sorted(m[:2] for m in members) == as_members(photos)
    assert len({m[2] for m in members}) == 1


# --- ours reads others'

def check_we_read(bale, spec, photos, tmp_path, labels=True):
    """inspect, verify, cat, extract and convert of a foreign pack that holds exactly the photos."""
    expected = images_by_key(photos)
    assert bale.ok("inspect", spec)
    assert bale.ok("verify", spec)
    key = sorted(expected)[17]
    assert bale.ok("cat", spec, key, "--field", "jpg").stdout == expected[key][0]
    bale.ok("convert", spec, tmp_path / "converted", "--format", "tar")
    for name, source in [("a", spec), ("b", tmp_path / "converted")]:
        bale.ok("extract", source, tmp_path / name)
        files = tree_bytes(tmp_path / name)
        assert {n[:-4]: c for n, c in files.items() if n.endswith(".jpg")} == {k: v[0] for k, v in expected.items()}
        if labels:
            assert {n[:-4]: int(c) for n, c in files.items() if n.endswith(".cls")} == \
                {k: v[1] for k, v in expected.items()}


def test_we_read_webdataset_shardwriter(bale, photos, tmp_path):
    with webdataset.ShardWriter(str(tmp_path / "x-%06d.tar"), maxcount=16, verbose=0) as writer:
        for key, (image, label) in sorted(images_by_key(photos).items()):
            writer.write({"__key__": key, "jpg": image, "cls": label})
    check_we_read(bale, tmp_path / "x-{000000..000002}.tar", photos, tmp_path)
    assert "x-000000.tar" in bale.ok("inspect", tmp_path / "x-*.tar").out


@pytest.mark.parametrize("compress", ["", ".gz"])
def test_we_read_webdataset_tarwriter(bale, photos, compress, tmp_path):
    path = tmp_path / f"x.tar{compress}"
    with webdataset.TarWriter(str(path)) as writer:
        for key, (image, label) in sorted(images_by_key(photos).items()):
            writer.write({"__key__": key, "jpg": image, "cls": label})
    check_we_read(bale, path, photos, tmp_path)


@pytest.fixture(scope="module")
def jpg_tree(photos, tmp_path_factory):
    """The photos and their labels as plain files, for tar programs to pack."""
    root = tmp_path_factory.mktemp("tree")
    for key, (image, label) in images_by_key(photos).items():
        (root / key).parent.mkdir(exist_ok=True)
        (root / f"{key}.jpg").write_bytes(image)
        (root / f"{key}.cls").write_text(str(label))
    return root


@pytest.mark.parametrize("variant", ["gnu", "posix", "ustar", "v7", "oldgnu"])
def test_we_read_gnu_tar(bale, photos, jpg_tree, variant, tmp_path):
    command = ["tar", f"--format={variant}", "--sort=name", "-cf", tmp_path / "x.tar"]
    subprocess.run([*command, *sorted(p.name for p in jpg_tree.iterdir())], cwd=jpg_tree, check=True)
    check_we_read(bale, tmp_path / "x.tar", photos, tmp_path)


@pytest.mark.parametrize("variant", ["gnutar", "pax", "ustar"])
def test_we_read_bsdtar(bale, photos, jpg_tree, variant, tmp_path):
    names = sorted(str(p.relative_to(jpg_tree)) for p in jpg_tree.rglob("*") if p.is_file())
    command = ["bsdtar", f"--format={variant}", "-cf", tmp_path / "x.tar"]
    subprocess.run([*command, *names], cwd=jpg_tree, check=True)
    check_we_read(bale, tmp_path / "x.tar", photos, tmp_path)


@pytest.mark.parametrize("program", ["-z", "--zstd"])
def test_we_read_compressed_tars(bale, photos, jpg_tree, program, tmp_path):
    names = sorted(str(p.relative_to(jpg_tree)) for p in jpg_tree.rglob("*") if p.is_file())
    path = tmp_path / ("x.tar.gz" if program == "-z" else "x.tar.zst")
    subprocess.run(["bsdtar", program, "-cf", path, *names], cwd=jpg_tree, check=True)
    check_we_read(bale, path, photos, tmp_path)


@pytest.mark.parametrize("variant", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_both_ways(bale, variant, tmp_path):
    """Names that ustar has no room for, written by Python's tarfile and by us."""
    long_key = "/".join(["d" * 120, "e" * 90, "f" * 150])
    names = {f"{long_key}.jpg": b"one", "short/ä.jpg": b"two"}
    path = tmp_path / "x.tar"
    write_tar(path, names.items(), format=variant)
    bale.ok("convert", path, tmp_path / "p", "--format", "tar")
    with tarfile.open(shards(tmp_path / "p")[0]) as tar:
        assert {info.name: tar.extractfile(info).read() for info in tar} == names


def test_webdataset_and_we_agree_on_odd_members(bale, photos, tmp_path):
    """Directories, links, members of __meta__/ and names without a dot are ignored by both.

    Dotfiles (AppleDouble's `._x.jpg`, say) we pass over too; WebDataset makes a sample "c/" of them.
    """
    path = tmp_path / "x.tar"
    image = next(iter(images_by_key(photos).values()))[0]
    with tarfile.open(path, "w") as tar:
        def add(name, content=image, kind=tarfile.REGTYPE, link=""):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(content) if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(content) if kind == tarfile.REGTYPE else None)

        add("c", kind=tarfile.DIRTYPE)
        add("__header__.json", b"{}")
        add("c/plain.JPG")
        add("c/plain.Seg.PNG", b"mask")
        add("c/noextension")
        add("c/.hidden")
        add("c/link.jpg", kind=tarfile.SYMTYPE, link="plain.jpg")
        add("c.d/x.y.jpg")
        add("__meta__/a.jpg")
    theirs = {s["__key__"]: {k: v for k, v in s.items() if not k.startswith("__")}
              for s in webdataset.WebDataset(str(path), shardshuffle=False)}
    del theirs["c/"]
    bale.ok("extract", path, tmp_path / "out")
    ours = tree_bytes(tmp_path / "out")
    assert ours == {f"{key}.{field}": content for key, fields in theirs.items() for field, content in fields.items()}
    assert set(theirs) == {"__header__", "c/plain", "c.d/x"}
