"""Names of fields: each layout keeps a name, also without its indexes, or refuses it before anything is written."""
import pytest
from conftest import LAYOUTS, fields_by_key, format_options, write_tar

JPEG = b"\xff\xd8\xff\xe0 no image, but named like one"
KEPT = ["x.zst", "x", ".zst", "zst", "json.zst.zst", "a.b", "images", "data", "labels.json", "a b", "t\tn\nl", "\u00fc", "n" * 240]
REFUSED = [("", "hdf5.blob"), ("", "hdf5.vlen"), (".", "hdf5.blob"), ("__key__", "tfrecord"), ("__key__", "lmdb"),
           ("__primary__", "lmdb"), ("k" * 256, "recordio"), ("k" * 503, "lmdb"), ("k" * 4001, "tfrecord")]


def odd_tar(path, names):
    return write_tar(path, [("a.jpg", JPEG), ("a.cls", b"3"), *((f"a.{name}", b"one " + name.encode()) for name in names),
                            ("b.jpg", JPEG), *((f"b.{name}", bytes(500)) for name in names[::2]), ("c.jpg", JPEG)])


def forget_indexes(folder):
    for path in [*folder.glob("*.bidx"), folder / "manifest.json"]:
        path.unlink()


@pytest.mark.parametrize("compress", [[], ["--compress", "zstd"]], ids=["", "zstd"])
@pytest.mark.parametrize("layout", [".".join(layout) for layout in LAYOUTS])
def test_names_are_kept_without_an_index(bale, tmp_path, layout, compress):
    names = KEPT + ([] if layout.startswith("hdf5") else [""])
    source, out = odd_tar(tmp_path / "x.tar", names), tmp_path / "p"
    expected = fields_by_key(bale, source)
    assert set(expected["a"]) == {"jpg", "cls", *names}
    bale.ok("convert", source, out, *format_options(layout), *compress)
    assert fields_by_key(bale, out) == expected
    bale.ok("verify", out)
    if layout.startswith("tar") and compress:
        return  # without its index, a compressed field of a tar is a field X.zst
    forget_indexes(out)
    bale.ok("index", out)
    found = fields_by_key(bale, out)
    assert list(found.values()) == list(expected.values())
    assert layout.startswith("recordio") or found == expected  # its keys are in the index and the list next to it


@pytest.mark.parametrize("name,layout", REFUSED)
def test_other_names_are_refused_before_anything_is_written(bale, tmp_path, name, layout):
    source = odd_tar(tmp_path / "x.tar", [name])
    for command, *options in (["convert", "--on-error", "skip"], ["plan", "--output", tmp_path / "x.plan"]):
        out = tmp_path / command
        done = bale(command, source, out, "--format", layout, *options)
        assert done.code == 2 and "cannot hold a field of the name" in done.error_line(), (command, done)
        assert not (tmp_path / "x.plan").exists() and (not out.exists() or not list(out.iterdir()))
