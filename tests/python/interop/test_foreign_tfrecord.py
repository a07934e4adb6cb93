"""TFRecords of other tools: what is not delivered is named, and one odd feature does not make a file unreadable."""
import gzip
import io
import json
import struct
import zlib

import pytest
import tfrecord
from conftest import fields_by_key, images_in_order
from PIL import Image
from test_interop_tfrecord import masked_crc, write_slim

NAME_BYTES = 4000


def frame(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def field(number, data):
    """A length-delimited field of a message."""
    length, size = b"", len(data)
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def entry(name, *values):
    return field(1, field(1, name) + field(2, field(1, b"".join(field(1, value) for value in values))))


def example(*entries):
    return frame(field(1, b"".join(entries)))


def reported(bale, path):
    result = bale.ok("inspect", "--json", path)
    return json.dumps(json.loads(result.out)) + result.err


def test_feature_lists_are_named(bale, tmp_path):
    path = tmp_path / "s.tfrecord"
    writer = tfrecord.TFRecordWriter(str(path))
    for i in range(3):
        writer.write({"name": (b"x%d" % i, "byte")}, {"steps": ([[1, 2], [3]], "int"), "words": ([[b"a"]], "byte")})
    writer.close()
    for command in (["inspect", path], ["verify", path], ["index", path], ["convert", path, tmp_path / "p"]):
        (tmp_path / "s.tfrecord.bidx").unlink(missing_ok=True)
        result = bale.ok(*command)
        assert "feature list of a SequenceExample" in result.out + result.err, (command, result)
    (tmp_path / "s.tfrecord.bidx").unlink(missing_ok=True)
    assert "steps" in reported(bale, path)
    assert fields_by_key(bale, path) == {f"0000000{i}": {"name": b"x%d" % i} for i in range(3)}


@pytest.mark.parametrize("name", [b"label", b"image/class/label"])
def test_a_text_called_cls_next_to_the_label(bale, photos, tmp_path, name):
    """It is a field of another name: the label stays that of its feature, also for readers of the converted pack."""
    image = next(image for _, image, _ in images_in_order(photos))
    label = field(1, field(1, name) + field(2, field(3, field(1, b"\5"))))
    (tmp_path / "x.tfrecord").write_bytes(example(entry(b"cls", b"cat"), entry(b"image/encoded", image), label))
    assert fields_by_key(bale, tmp_path / "x.tfrecord") == {"00000000": {"jpg": image, "cls_1": b"cat"}}
    assert bale.ok("convert", tmp_path / "x.tfrecord", tmp_path / "packed").err == ""
    assert fields_by_key(bale, tmp_path / "packed") == {"00000000": {"jpg": image, "cls": b"5", "cls_1": b"cat"}}
    assert [json.loads(bale.ok("ls", "--json", tmp_path / spec).out)["label"] for spec in ("x.tfrecord", "packed")] == [5, 5]


def test_of_a_repeated_feature_the_last_counts(bale, tmp_path):
    (tmp_path / "x.tfrecord").write_bytes(example(entry(b"a", b"first"), entry(b"b", b"1"), entry(b"a", b"last")) +
                                          example(entry(b"a", b"only")))
    # The Python library, as every reader of protobuf's maps.
    reader = tfrecord.tfrecord_loader(str(tmp_path / "x.tfrecord"), None, {"a": "byte"})
    assert [bytes(sample["a"]) for sample in reader] == [b"last", b"only"]
    assert "earlier value of a repeated feature" in reported(bale, tmp_path / "x.tfrecord")
    assert fields_by_key(bale, tmp_path / "x.tfrecord") == {
        "00000000": {"a": b"last", "b": b"1"}, "00000001": {"a": b"only"}}


def test_one_odd_name_leaves_the_rest_readable(bale, tmp_path):
    (tmp_path / "x.tfrecord").write_bytes(example(
        entry(b"a/b", b"1"), entry(b"a_b", b"2"), entry(b"c", b"3", b"4"), entry(b"c.json", b"5"),
        entry(b"n" * (NAME_BYTES + 1), b"6")))
    out = reported(bale, tmp_path / "x.tfrecord")
    assert "feature whose field another feature has taken" in out and "feature with a name that is too long" in out
    assert fields_by_key(bale, tmp_path / "x.tfrecord") == {
        "00000000": {"a_b": b"1", "c.json": b'["3", "4"]'}}


def test_long_names_and_many_features(bale, tmp_path):
    """Waymo's names have over 47 bytes; a table has over 255 columns."""
    names = [b"scene/" + b"a_name_of_a_feature/" * 5 + b"%d" % i for i in range(3)] + [b"column/%d" % i for i in range(300)]
    path = tmp_path / "x.tfrecord"
    path.write_bytes(b"".join(example(*(entry(name, b"%d" % i + name) for name in names)) for i in range(2)))
    expected = {f"0000000{i}": {name.decode().replace("/", "_"): b"%d" % i + name for name in names} for i in range(2)}
    assert fields_by_key(bale, path) == expected
    bale.ok("index", path)
    assert fields_by_key(bale, path) == expected
    for layout in ("tar", "lmdb", "hdf5.blob", "tfrecord"):
        bale.ok("convert", path, tmp_path / layout, "--format", layout)
        bale.ok("verify", tmp_path / layout)
        assert fields_by_key(bale, tmp_path / layout) == expected


def test_sizes_are_those_of_the_images(bale, photos, tmp_path):
    """Converters often write `image/height` and `image/width` the wrong way round."""
    path, samples = tmp_path / "x.tfrecord", images_in_order(photos)[:6]
    write_slim(path, samples, **{"image/height": (4096, "int"), "image/width": (2, "int")})
    sizes = [Image.open(io.BytesIO(image)).size for _, image, _ in samples]
    bale.ok("convert", path, tmp_path / "p")
    bale.ok("convert", path, tmp_path / "t", "--format", "tfrecord")
    for name in ("p", "t"):
        listed = [json.loads(line) for line in bale.ok("ls", "--json", tmp_path / name).out.splitlines()]
        assert [(sample["width"], sample["height"]) for sample in listed] == sizes
    assert all("width" not in json.loads(line) for line in bale.ok("ls", "--json", path).out.splitlines())
    bale.ok("index", path)
    listed = [json.loads(line) for line in bale.ok("ls", "--json", path).out.splitlines()]
    assert [(sample["width"], sample["height"]) for sample in listed] == sizes
    # Pixels without a header need them.
    path.write_bytes(example(entry(b"image/encoded", bytes(12))) + frame(field(1, entry(b"image/encoded", bytes(12)) + entry(
        b"image/format", b"RAW") + field(1, field(1, b"image/height") + field(2, field(3, b"\x08\x02"))))))
    (tmp_path / "x.tfrecord.bidx").unlink()
    assert fields_by_key(bale, path)["00000001"]["image_height.json"] == b"[2]"


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_feature_has_one_name_in_a_file(bale, tmp_path, first):
    """Captions: one of some images and several of others."""
    values = [[b"one"], [b"two", b"three"], [b"\xff"], [b"four"], []]
    values = values[first:] + values[:first]
    path = tmp_path / "x.tfrecord"
    path.write_bytes(b"".join(example(entry(b"image/text", *some), entry(b"id", b"7"), entry(b"png", b"\x89PNG\r\n\x1a\n"))
                              for some in values))
    found = list(fields_by_key(bale, path).values())
    assert all(sample["id"] == b"7" for sample in found)
    lists = [[{"hex": "ff"} if value == b"\xff" else value.decode() for value in some] for some in values]
    assert [json.loads(sample.get("image_text.json", b"[]")) for sample in found] == lists
    assert all("image_text" not in sample for sample in found)
    bale.ok("verify", path)
    bale.ok("index", path)
    bale.ok("verify", path)
    assert list(fields_by_key(bale, path).values()) == found
    bale.ok("convert", path, tmp_path / "p", "--format", "lmdb")
    assert list(fields_by_key(bale, tmp_path / "p").values()) == found


@pytest.mark.parametrize("indexed", [False, True])
def test_a_feature_with_two_names_in_two_files_is_reported(bale, tmp_path, indexed):
    for name, values in (("a", [[b"one"], [b"two"]]), ("b", [[b"three", b"four"], [b"five"]]), ("c", [[b"six"]])):
        (tmp_path / f"{name}.tfrecord").write_bytes(b"".join(example(entry(b"text", *some), entry(b"id", b"7")) for some in values))
        if indexed:
            bale.ok("index", tmp_path / f"{name}.tfrecord")
    warning = "the field text of some shards is text.json in others"
    for order, is_told in (("a", False), ("b", False), ("{a,c}", False), ("{a,b,c}", True), ("b.tfrecord::a", True)):
        spec = "::".join(f"{tmp_path}/{part}" for part in f"{order}.tfrecord".split("::"))
        assert reported(bale, spec).count(warning) == 2 * is_told, order  # for people, and in the JSON document
    found = [sorted(sample) for sample in fields_by_key(bale, f"{tmp_path}/a.tfrecord::{tmp_path}/b.tfrecord").values()]
    assert found == [["id", "text"]] * 2 + [["id", "text.json"]] * 2


@pytest.mark.parametrize("name", ["x.tfrecord", "x.rec", "x.npy", "train-00000-of-00001", "x.bin"])
def test_compressed_files_are_refused_by_name(bale, photos, tmp_path, name):
    """TFRecordOptions("ZLIB"), and what somebody compressed as a whole."""
    write_slim(tmp_path / "plain", images_in_order(photos)[:5])
    content = (tmp_path / "plain").read_bytes()
    for kind, packed in (("gzip", gzip.compress(content)), *(("zlib", zlib.compress(content, level)) for level in (1, 5, 6, 9))):
        path = tmp_path / name
        path.write_bytes(packed)
        for command in ("inspect", "verify"):
            done = bale(command, path)
            assert done.code in (1, 3) and f"the whole file is compressed by {kind}" in done.out + done.err, (name, done)
        assert bale("convert", path, tmp_path / "p").code == 1


def numbers(name, count):
    """A feature of one byte per number, which is three or more as text."""
    return field(1, field(1, name) + field(2, field(3, field(1, bytes(i % 100 for i in range(count))))))


def test_a_truncated_file_gives_the_records_before_its_end(bale, tmp_path):
    """Also if values are longer as text than in the file, and samples differ in their fields."""
    path = tmp_path / "in" / "s.tfrecord"
    path.parent.mkdir()
    records = [example(entry(b"txt", b"x%d" % i), *[entry(b"note", b"n")] * (i % 3 == 0), numbers(b"boxes", 200)) for i in range(9)]
    path.write_bytes(b"".join(records[:6]) + records[6][:-10])
    result = bale("convert", path.parent, tmp_path / "out", "--on-error", "skip")
    assert result.code == 4 and "6 samples before it are taken" in result.err, result
    assert [found["txt"] for found in fields_by_key(bale, tmp_path / "out").values()] == [b"x%d" % i for i in range(6)]


def test_a_record_is_compared_with_its_own_checksum(bale, photos, tmp_path):
    """Also if samples before it were removed, and the index that has checksums is gone."""
    out = tmp_path / "out"
    bale.pack(photos, out, "--format", "tfrecord")
    shard, keys = next(path for path in out.iterdir() if "-of-" in path.name and path.suffix != ".bidx"), list(fields_by_key(bale, out))
    bale.ok("remove", out, keys[0])
    (out / f"{shard.name}.bidx").unlink()
    content = bytearray(shard.read_bytes())
    content[-100] ^= 1  # of the last record
    shard.write_bytes(content)
    result = bale("convert", out, tmp_path / "copy", "--on-error", "skip")
    assert result.code == 4 and list(fields_by_key(bale, tmp_path / "copy")) == keys[1:-1], result
