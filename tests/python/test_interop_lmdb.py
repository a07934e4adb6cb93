"""Plain py-lmdb reads our files, and we read what others write with py-lmdb."""
import pickle

import lmdb
import pytest
from conftest import check_images_of_others, images_in_order, shards, tree_bytes


# --- others read ours

def test_ten_plain_lines(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "lmdb", "--name", "x", "--shard-samples", "25")
    images, labels = [], []
    for path in shards(tmp_path / "p"):
        env = lmdb.open(str(path), subdir=False, readonly=True, lock=False)
        with env.begin() as txn:
            for i in range(int(txn.get(b"__len__"))):
                images.append(txn.get(b"%08d" % i))
                labels.append(int(txn.get(b"%08d.cls" % i)))
        env.close()
    assert list(zip(images, labels)) == [(image, label) for _, image, label in images_in_order(photos)]


def test_opening_ours_with_py_lmdb_changes_nothing(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "lmdb")
    before = tree_bytes(tmp_path / "p")
    with lmdb.open(str(shards(tmp_path / "p")[0]), subdir=False, readonly=True, lock=False) as env:
        with env.begin() as txn:
            assert sum(1 for _ in txn.cursor()) >= 40
    assert tree_bytes(tmp_path / "p") == before


# --- ours reads others'

def write(path, items, **options):
    env = lmdb.open(str(path), subdir=False, map_size=1 << 28, **options)
    with env.begin(write=True) as txn:
        for key, value in items:
            txn.put(key, value)
    env.close()


def jpegs_only(photos):
    """The common schemes hold JPEGs; the photos' PNG is left to the other tests."""
    return [sample for sample in images_in_order(photos) if sample[1].startswith(b"\xff\xd8")]


@pytest.fixture(scope="module")
def jpeg_folder(photos, tmp_path_factory):
    root = tmp_path_factory.mktemp("jpegs")
    for key, image, _ in jpegs_only(photos):
        (root / key).parent.mkdir(exist_ok=True)
        (root / f"{key}.JPEG").write_bytes(image)
    return root


def test_numbered_bytes(bale, jpeg_folder, tmp_path):
    items = [(b"%08d" % i, image) for i, (_, image, _) in enumerate(images_in_order(jpeg_folder))]
    write(tmp_path / "x.lmdb", [*items, (b"__len__", str(len(items)).encode())])
    check_images_of_others(bale, tmp_path / "x.lmdb", jpeg_folder, tmp_path, labels=False)


def test_directory_environment(bale, jpeg_folder, tmp_path):
    """lmdb.open("x.lmdb") without subdir=False makes a directory with data.mdb in it."""
    (tmp_path / "x").mkdir()
    items = [(b"%08d" % i, image) for i, (_, image, _) in enumerate(images_in_order(jpeg_folder))]
    write(tmp_path / "x" / "data.mdb", items)
    check_images_of_others(bale, tmp_path / "x" / "data.mdb", jpeg_folder, tmp_path, labels=False)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def datum(image, label, encoded=True):
    """caffe.proto: channels=1, height=2, width=3, data=4, label=5, encoded=7."""
    message = b"\x08" + varint(3) + b"\x10" + varint(72) + b"\x18" + varint(96)
    message += b"\x22" + varint(len(image)) + image + b"\x28" + varint(label)
    return message + (b"\x38\x01" if encoded else b"")


def test_caffe_datum(bale, jpeg_folder, tmp_path):
    write(tmp_path / "x.lmdb", [(b"%08d_%s.JPEG" % (i, key.encode()), datum(image, label))
                                for i, (key, image, label) in enumerate(images_in_order(jpeg_folder))])
    check_images_of_others(bale, tmp_path / "x.lmdb", jpeg_folder, tmp_path)


def test_file_names_as_keys(bale, jpeg_folder, tmp_path):
    write(tmp_path / "x.lmdb", [(key.encode(), image) for key, image, _ in images_in_order(jpeg_folder)])
    check_images_of_others(bale, tmp_path / "x.lmdb", jpeg_folder, tmp_path, labels=False)


class Explosive:
    """Unpickling this would tell."""

    def __reduce__(self):
        return (open, ("/tmp/bale-unpickled-what-it-must-not", "w"))


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickles_are_refused(bale, photos, protocol, tmp_path):
    """The common PyTorch recipe: %08d -> pickle({image, label})."""
    items = [(b"%08d" % i, pickle.dumps({"image": image, "label": label, "x": Explosive()}, protocol))
             for i, (_, image, label) in enumerate(images_in_order(photos))]
    write(tmp_path / "x.lmdb", items)
    for command in (["inspect", tmp_path / "x.lmdb"], ["convert", tmp_path / "x.lmdb", tmp_path / "out"]):
        result = bale(*command)
        assert result.code == 1
        assert "pickle" in result.error_line().lower() and "x.lmdb" in result.error_line()


def test_efficient_pytorch_style_is_refused(bale, photos, tmp_path):
    """Unpadded keys and __keys__, __len__ as pickles."""
    expected = images_in_order(photos)
    items = [(str(i).encode(), pickle.dumps((image, label))) for i, (_, image, label) in enumerate(expected)]
    keys = [str(i).encode() for i in range(len(expected))]
    write(tmp_path / "x.lmdb", [*items, (b"__keys__", pickle.dumps(keys)), (b"__len__", pickle.dumps(len(keys)))])
    result = bale("inspect", tmp_path / "x.lmdb")
    assert result.code == 1 and "pickle" in result.error_line().lower()
