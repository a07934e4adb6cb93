"""Keys of other tools' containers: kept where the container holds any key, and given back where it does not."""
import tarfile

import h5py
import lmdb
import pytest
from conftest import key_list, manifest_of, shards
from test_interop_lmdb import write
from test_interop_tfrecord import records
from tfrecord import example_pb2

KEYS = [b"50%", b"__meta__", b"__meta__/x", b"%5F_meta__/x", b"a%2Ejpg", b"a.jpg", b"d.1/plain", b"n01/img_0.JPEG",
        b"n01/img_0%2EJPEG", b"n02/.hidden", b"\xff\xfe.bin", "ü.png".encode()]


@pytest.fixture
def foreign(tmp_path):
    write(tmp_path / "x.lmdb", [(key, b"bytes of " + key) for key in sorted(KEYS)])
    return tmp_path / "x.lmdb"


def lmdb_keys(directory):
    """Keys as any program finds them, with the bytes of their samples."""
    found = []
    for path in shards(directory):
        with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
            for i in range(int(txn.get(b"__len__"))):
                key = txn.get(b"%08d.__key__" % i)
                assert txn.get(b"%08d" % i) == b"bytes of " + key
                found.append(key)
    return found


def test_lmdb_to_lmdb_keeps_every_key(bale, foreign, tmp_path):
    assert key_list(bale, foreign) == sorted(KEYS)
    bale.ok("convert", foreign, tmp_path / "p", "--format", "lmdb")
    assert lmdb_keys(tmp_path / "p") == key_list(bale, tmp_path / "p") == sorted(KEYS)
    bale.ok("verify", tmp_path / "p")


@pytest.mark.parametrize("between", [["tar"], ["tar", "tar.zst", "hdf5"], ["tfrecord", "tar"],
                                     ["hdf5.blob", "tar.gz", "tfrecord"]], ids=" ".join)
def test_keys_come_back_through_other_containers(bale, foreign, between, tmp_path):
    place = foreign
    for number, layout in enumerate(between):
        bale.ok("convert", place, tmp_path / f"p{number}", "--format", layout, "--shard-samples", "5")
        place = tmp_path / f"p{number}"
        bale.ok("verify", place)
        encoded = layout.startswith("tar")
        assert manifest_of(place).get("keys") == ("encoded" if encoded else None)
        keys = key_list(bale, place)
        assert len(set(keys)) == len(KEYS) and (keys == sorted(KEYS)) != encoded
    bale.ok("convert", place, tmp_path / "last", "--format", "lmdb")
    assert lmdb_keys(tmp_path / "last") == sorted(KEYS)


def test_other_programs_see_the_keys(bale, foreign, tmp_path):
    bale.ok("convert", foreign, tmp_path / "h", "--format", "hdf5", "--layout", "vlen")
    with h5py.File(shards(tmp_path / "h")[0]) as file:
        assert [bytes(key) for key in file["keys"][:]] == sorted(KEYS)
    bale.ok("convert", foreign, tmp_path / "t", "--format", "tfrecord")
    found = [example_pb2.Example.FromString(record).features.feature["__key__"].bytes_list.value[0]
             for record in records(shards(tmp_path / "t")[0])]
    assert found == sorted(KEYS)
    bale.ok("convert", foreign, tmp_path / "p", "--format", "tar")
    with tarfile.open(shards(tmp_path / "p")[0], errors="surrogateescape") as tar:
        names = [name.encode("utf-8", "surrogateescape") for name in tar.getnames()]
    assert names[:3] == [b"%255F_meta__/x.bin", b"50%25.bin", b"%5F_meta__.bin"]
    assert b"a%2Ejpg.bin" in names and b"a%252Ejpg.bin" in names


def test_what_is_left_of_a_selection_comes_back_too(bale, foreign, tmp_path):
    bale.ok("convert", foreign, tmp_path / "p", "--format", "tar")
    bale.ok("convert", tmp_path / "p", tmp_path / "some", "--format", "lmdb", "--include", "n01/*")
    assert lmdb_keys(tmp_path / "some") == [b"n01/img_0%2EJPEG", b"n01/img_0.JPEG"]
    bale.ok("convert", foreign, tmp_path / "fit", "--format", "tar", "--include", "50%")
    assert key_list(bale, tmp_path / "fit") == [b"50%"]
    assert "keys" not in manifest_of(tmp_path / "fit")


@pytest.mark.parametrize("layout", ["tar", "lmdb", "recordio"])
def test_keys_that_name_files_are_taken_as_they_are(bale, photos, layout, tmp_path):
    """Also those with a '%': another tool's, and those that packing a folder has encoded."""
    image = next(path for path in photos.rglob("*.JPEG") if path.read_bytes().startswith(b"\xff\xd8"))
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for name in ("50%.jpg", "a%2Eb.jpg", "d.x/%25.jpg"):
            tar.add(image, name)
    bale.ok("convert", tmp_path / "x.tar", tmp_path / "p", "--format", layout)
    assert key_list(bale, tmp_path / "p") == [b"50%", b"a%2Eb", b"d.x/%25"]
    (tmp_path / "folder" / "c.1").mkdir(parents=True)
    for name in ("a.b.jpg", "50%.jpg", "a%2Eb.jpg"):
        (tmp_path / "folder" / "c.1" / name).write_bytes(image.read_bytes())
    expected = [b"c.1/50%25", b"c.1/a%252Eb", b"c.1/a%2Eb"]
    bale.pack(tmp_path / "folder", tmp_path / "f", "--format", layout)
    assert sorted(key_list(bale, tmp_path / "f")) == expected
    bale.ok("convert", tmp_path / "f", tmp_path / "g", "--format", "tar")
    assert sorted(key_list(bale, tmp_path / "g")) == expected


def test_keys_with_nul_need_another_format(bale, tmp_path):
    """As struct.pack() makes them of numbers."""
    write(tmp_path / "x.lmdb", [(b"\0\0\0\1", b"x")])
    assert "choose another format" in bale("convert", tmp_path / "x.lmdb", tmp_path / "p").error_line()
    bale.ok("convert", tmp_path / "x.lmdb", tmp_path / "h", "--format", "hdf5")


def test_shards_that_repeat_keys_are_told(bale, tmp_path):
    for number in range(2):
        write(tmp_path / f"{number}.lmdb", [(b"a", b"x"), (b"b", b"y")])
    done = bale.ok("convert", tmp_path / "{0..1}.lmdb", tmp_path / "p")
    assert 'shards repeat keys: each key begins with the name of its shard (such as "0.lmdb/a")' in done.err
    assert key_list(bale, tmp_path / "p") == [b"0.lmdb/a", b"0.lmdb/b", b"1.lmdb/a", b"1.lmdb/b"]
    assert "repeat" not in bale.ok("convert", tmp_path / "p", tmp_path / "again").err


def test_two_entries_of_one_field_leave_the_rest_readable(bale, tmp_path):
    write(tmp_path / "x.lmdb", [(b"00000000.jpeg", b"first"), (b"00000000.jpg", b"second"), (b"00000000.cls", b"3"),
                                (b"00000001.jpg", b"third"), (b"00000001.cls", b"4")])
    result = bale.ok("inspect", tmp_path / "x.lmdb")
    assert "entry whose field another entry has taken" in result.out + result.err
    assert bale.ok("cat", tmp_path / "x.lmdb", "00000000", "--field", "jpg").stdout == b"first"
    assert bale.ok("cat", tmp_path / "x.lmdb", "00000001", "--field", "jpg").stdout == b"third"
