"""Plain py-lmdb reads our files, and we read what others write with py-lmdb."""
import pickle

import lmdb
import pytest
from conftest import check_images_of_others, fields_by_key, images_in_order, shards, tree_bytes

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


@pytest.mark.parametrize("dumped", [b"\x92\xc5\x00\x02ab\x07", b"\xdf\x00\x00\x00\x00"])
def test_msgpack_is_not_called_a_pickle(bale, dumped, tmp_path):
    write(tmp_path / "x.lmdb", [(b"00000000", dumped), (b"__keys__", b"\x91\xa800000000")])
    line = bale("inspect", tmp_path / "x.lmdb").error_line()
    assert "msgpack" in line and "pickle" not in line.lower()


# --- lists of text recognition: image-000000001, label-000000001, num-samples

WORDS = [f"word{i}" for i in range(1, 7)]


def lists_of(images, *further, count=len(WORDS)):
    items = [(b"image-%09d" % i, images[i % len(images)]) for i in range(1, 7)]
    items += [(b"label-%09d" % i, word.encode()) for i, word in enumerate(WORDS, 1)]
    return [*items, (b"num-samples", str(count).encode()), *further]


@pytest.fixture
def images(photos):
    return [image for _, image, _ in jpegs_only(photos)]


def reported(bale, path):
    result = bale.ok("ls", path)
    return result.out + result.err


@pytest.mark.parametrize("key, value, field", [
    (b"meta", b"{}", None), (b"lang", b"en", None), (b"zz\xff", b"\0\1", None), (b"000000001", b"odd", None),
    (b"thumbnail", None, None), (b"lexicon-000000002", b"a,b", "lexicon.txt"), (b"wh-000000002", b"\x80\0\0\0", "wh.bin"),
    (b"mask-000000002", None, "mask.jpg"), (b"label-000000099", b"nobody's", None)])
def test_further_keys_do_not_end_the_pairs(bale, images, key, value, field, tmp_path):
    path = tmp_path / "x.lmdb"
    write(path, lists_of(images, (key, value or images[3])))
    found = fields_by_key(bale, path)
    assert [fields["txt"].decode() for _, fields in sorted(found.items())] == WORDS
    assert all(fields["jpg"] == images[int(name) % len(images)] for name, fields in found.items())
    text = reported(bale, path)
    if field:
        assert found["000000002"][field] == (value or images[3]) and field not in found["000000003"]
        assert f"{key.decode().split('-')[0]} has entries for 1 of 6 samples" in text
    else:
        assert f": {key.decode('utf-8', 'backslashreplace')})" in text and "ignored 1 entry" in text


@pytest.mark.parametrize("plain", ["image_hr", "image"])
def test_images_of_two_sizes_are_one_sample(bale, images, plain, tmp_path):
    """TextZoom."""
    path = tmp_path / "x.lmdb"
    write(path, [(b"%s-%09d" % (name, i), images[i + more]) for i in range(1, 4)
                 for name, more in ((plain.encode(), 0), (b"image_lr", 5))]
          + [(b"label-%09d" % i, b"word") for i in range(1, 4)] + [(b"num-samples", b"3")])
    found = fields_by_key(bale, path)
    assert len(found) == 3
    for key, fields in found.items():
        assert fields == {"jpg": images[int(key)], "image_lr.jpg": images[int(key) + 5], "txt": b"word"}
    assert "ignored" not in reported(bale, path)


@pytest.mark.parametrize("count", [5, 7, 0])
def test_a_count_that_disagrees_is_reported(bale, images, count, tmp_path):
    path = tmp_path / "x.lmdb"
    write(path, lists_of(images, count=count))
    assert f"num-samples is {count}, and there are 6 samples" in reported(bale, path)
    assert bale("verify", path).code == 3
    write(tmp_path / "good.lmdb", lists_of(images))
    assert bale("verify", tmp_path / "good.lmdb").code == 0


@pytest.mark.parametrize("key", [b"length", b"num_samples", b"nSamples", b"__len__"])
@pytest.mark.parametrize("name", [b"%05d", b"256-%05d", b"name%d.x"])
def test_a_count_is_not_a_sample(bale, images, key, name, tmp_path):
    path = tmp_path / "x.lmdb"
    write(path, [*((name % i, images[i]) for i in range(6)), (key, b"6")])
    assert len(fields_by_key(bale, path)) == 6
    bale.ok("verify", path)
    write(path, [(key, b"9")])
    assert f"{key.decode()} is 9, and there are 6 samples" in reported(bale, path)


def test_names_of_cameras_are_not_lists(bale, images, tmp_path):
    path = tmp_path / "x.lmdb"
    keys = [b"IMG_0001", b"DSC_0001", b"IMG_0002", b"img_0003"]
    write(path, [(key, images[i]) for i, key in enumerate(keys)])
    assert sorted(fields_by_key(bale, path)) == sorted(key.decode() for key in keys)
