"""A tar of tars, as ImageNet's training images are shipped, is read in place: the classes are the inner archives."""
import gzip
import io
import subprocess
import tarfile
import zipfile

import pytest
from conftest import class_names, fields_by_key, flip


def write(path, archives, extra=()):
    """{name: bytes} in order; `extra` likewise."""
    with tarfile.open(path, "w") as out:
        for name, data in [*archives.items(), *extra]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    return path


def class_archives(folder):
    """One tar for each class, by GNU tar, in an order that is not that of the names."""
    return {f"{path.name}.tar": subprocess.run(["tar", "-C", path, "--transform", "s,^\\./,,", "-cf", "-", "."], check=True,
                                               capture_output=True).stdout
            for path in sorted(folder.iterdir(), reverse=True)}


@pytest.mark.parametrize("compress", [None, "gzip", "zstd"])
def test_classes_are_those_of_imagefolder(bale, photos, tmp_path, compress):
    path = write(tmp_path / "train.tar", class_archives(photos))
    if compress:
        subprocess.run([compress, "-q", "--keep" if compress == "gzip" else "-k", path], check=True)
        path = path.with_suffix({"gzip": ".tar.gz", "zstd": ".tar.zst"}[compress])
    bale.ok("pack", photos, tmp_path / "folder")
    bale.ok("pack", path, tmp_path / "packed", "--class-folders")
    assert class_names(tmp_path / "packed") == class_names(tmp_path / "folder")
    assert fields_by_key(bale, tmp_path / "packed") == fields_by_key(bale, tmp_path / "folder")
    bale.ok("index", path)
    bale.ok("verify", path)


def test_damage_is_named_by_its_offset(bale, tiny, tmp_path):
    archives = class_archives(tiny)
    path = write(tmp_path / "x.tar", archives)
    bale.ok("index", path)
    data = path.read_bytes()
    flip(path, data.index(b"\xff\xd8\xff") + 200)
    result = bale("verify", path)
    assert result.code == 3 and "offset" in result.out + result.err
    (tmp_path / "x.tar.bidx").unlink()
    broken = bytearray(data)
    inner = data.rindex(next(reversed(archives.values())))
    broken[inner + 600] ^= 1  # in the header after the first, or its data
    broken[inner:inner + 4] = b"\xff" * 4
    path.write_bytes(broken)
    result = bale("ls", path)
    assert result.code == 1 and "archive in the archive: is not a tar" in result.error_line()
    assert f"offset {inner}" in result.error_line()


def test_other_archives_stay_what_they_are(bale, tiny, tmp_path):
    """A sample with a field of another kind, or a field called tar that is none."""
    archives = class_archives(tiny)
    path = write(tmp_path / "x.tar", archives, [("note.txt", b"1")])
    assert {key: set(fields) for key, fields in fields_by_key(bale, path).items()} == {
        **{name[:-4]: {"tar"} for name in archives}, "note": {"txt"}}
    path = write(tmp_path / "y.tar", {"a.tar": b"no archive", "b.tar": b"2"})
    assert fields_by_key(bale, path) == {"a": {"tar": b"no archive"}, "b": {"tar": b"2"}}


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_other_nestings_are_refused_by_name(bale, tiny, tmp_path):
    archives = class_archives(tiny)
    zips = {name.removesuffix(".tar") + ".zip": zipped({"a.jpg": b"\xff\xd8\xff"}) for name in archives}
    first = next(iter(zips))
    for suffix in ("", ".gz"):
        path = write(tmp_path / "x.tar", zips)
        if suffix:
            path.with_suffix(".tar.gz").write_bytes(gzip.compress(path.read_bytes()))
            path = path.with_suffix(".tar.gz")
        result = bale("ls", path)
        assert result.code == 1 and f"a tar of zip archives, such as {first}" in result.error_line() and "unpack the tar" in result.error_line()
    (tmp_path / "x.zip").write_bytes(zipped(archives))
    result = bale("pack", tmp_path / "x.zip", tmp_path / "out")
    assert result.code == 1 and f"an archive without images: its members are such as {next(iter(archives))}" in result.error_line()
    assert not (tmp_path / "out").exists()
    path = write(tmp_path / "y.tar", {"a.zip": b"no archive"})
    assert fields_by_key(bale, path) == {"a": {"zip": b"no archive"}}
