"""DALI and the `tfrecord` package read our files with our indexes, and we read what others write."""
import gzip
import io
import json
import struct

import crc32c
import numpy as np
import pytest
import tfrecord
from conftest import fields_by_key, flip, images_in_order, key_list, shards, tree_bytes
from PIL import Image
from tfrecord import example_pb2
from tfrecord.tools import tfrecord2idx

PACK_OPTIONS = ["--format", "tfrecord", "--name", "photos", "--shard-samples", "15"]
DAMAGED = 3


def masked_crc(data):
    crc = crc32c.crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """Data of every record, both checksums compared."""
    data, found, at = path.read_bytes(), [], 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert length_crc == masked_crc(data[at:at + 8])
        record = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked_crc(record)
        found.append(record)
        at += length + 16
    return found


# --- others read ours

def test_names_frames_and_indexes(ours, tmp_path):
    assert [p.name for p in shards(ours)] == [f"photos-{i:05d}-of-00003" for i in range(3)]
    for shard in shards(ours):
        assert len(records(shard)) in (15, 10)
        tfrecord2idx.create_index(str(shard), str(tmp_path / "idx"))
        assert (ours / f"{shard.name}.idx").read_bytes() == (tmp_path / "idx").read_bytes()


def test_protobuf_reads_ours(bale, ours, photos):
    """Python's own protobuf on slim's names."""
    found = []
    for shard in shards(ours):
        for record in records(shard):
            features = example_pb2.Example.FromString(record).features.feature
            assert all(sum(len(getattr(f, kind).value) for kind in ("bytes_list", "int64_list", "float_list")) == 1
                       for f in features.values())
            key = features["__key__"].bytes_list.value[0].decode()
            image = features["image/encoded"].bytes_list.value[0]
            label = features["image/class/label"].int64_list.value[0]
            found.append((key, image, label))
            assert features["image/class/text"].bytes_list.value[0].decode() == key.partition("/")[0]
            assert features["image/filename"].bytes_list.value[0].decode() == key.partition("/")[2] + ".jpg"
            assert features["image/format"].bytes_list.value[0] == b"JPEG"
            size = (features["image/width"].int64_list.value[0], features["image/height"].int64_list.value[0])
            assert size == Image.open(io.BytesIO(image)).size
    assert found == images_in_order(photos)


def test_tfrecord_package_reads_ours(ours, photos):
    """With our indexes, by two workers that share each file."""
    wanted = {"image/encoded": "byte", "image/class/label": "int"}
    found = []
    for shard in shards(ours):
        for worker in range(2):
            for sample in tfrecord.example_loader(str(shard), f"{shard}.idx", wanted, shard=(worker, 2)):
                found.append((bytes(sample["image/encoded"]), int(sample["image/class/label"][0])))
    assert found == [(image, label) for _, image, label in images_in_order(photos)]


@pytest.mark.parametrize("base", [0, 1])
def test_dali_reads_ours(bale, photos, base, tmp_path):
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali import tfrecord as dali_tfrecord

    options = ["--label-base", "1"] if base else []
    bale.pack(photos, tmp_path / "p", "--format", "tfrecord", "--shard-samples", "15", *options)
    paths = [str(p) for p in shards(tmp_path / "p")]

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        sample = fn.readers.tfrecord(path=paths, index_path=[f"{p}.idx" for p in paths], features={
            "image/encoded": dali_tfrecord.FixedLenFeature((), dali_tfrecord.string, ""),
            "image/class/label": dali_tfrecord.FixedLenFeature([1], dali_tfrecord.int64, -1),
            "image/height": dali_tfrecord.FixedLenFeature([1], dali_tfrecord.int64, 0)})
        return sample["image/encoded"], sample["image/class/label"], sample["image/height"]

    run = pipeline()
    run.build()
    found = []
    for _ in images_in_order(photos):
        image, label, height = (np.array(output[0]) for output in run.run())
        assert height.item() == Image.open(io.BytesIO(image.tobytes())).height
        found.append((image.tobytes(), label.item()))
    assert found == [(image, label + base) for _, image, label in images_in_order(photos)]
    assert fields_by_key(bale, tmp_path / "p") == {
        key: {"jpg": image, "cls": str(label).encode()} for key, image, label in images_in_order(photos)}


# --- ours reads others'

def write_slim(path, samples, **more):
    """As slim's converters name things; labels from 1, as for its ImageNet."""
    writer = tfrecord.TFRecordWriter(str(path))
    for key, image, label in samples:
        writer.write({"image/encoded": (image, "byte"), "image/format": (b"JPEG", "byte"),
                      "image/filename": (key.partition("/")[2].encode() + b".JPEG", "byte"),
                      "image/class/label": (label + 1, "int"), "image/class/synset": (key.partition("/")[0].encode(), "byte"),
                      "image/height": (72, "int"), "image/width": (96, "int"), "image/colorspace": (b"RGB", "byte"),
                      "image/object/bbox/xmin": ([0.25, 0.1], "float"), **more})
    writer.close()


def check_slim(bale, spec, photos, tmp_path):
    expected = {}
    for key, image, label in images_in_order(photos):
        expected[key.partition("/")[2]] = {
            "jpg": image, "cls": str(label + 1).encode(), "image_class_synset": key.partition("/")[0].encode(),
            "image_colorspace": b"RGB", "image_object_bbox_xmin.json": b"[0.25, 0.1]"}
    bale.ok("inspect", spec)
    bale.ok("verify", spec)
    bale.ok("convert", spec, tmp_path / "converted", "--format", "tar")
    assert fields_by_key(bale, tmp_path / "converted") == expected
    # Without our index there are no labels in fields, only in the index that scanning makes.
    for sample in expected.values():
        del sample["cls"]
    assert fields_by_key(bale, spec) == expected


def test_slim_files_without_a_manifest(bale, photos, tmp_path):
    """A directory of shards as slim names them: no suffix tells what they are."""
    (tmp_path / "slim").mkdir()
    samples = images_in_order(photos)
    for number in range(4):
        write_slim(tmp_path / "slim" / f"train-{number:05d}-of-00004", samples[number * 10:number * 10 + 10])
    check_slim(bale, tmp_path / "slim", photos, tmp_path)
    bale.ok("index", tmp_path / "slim")
    assert len(list((tmp_path / "slim").glob("*.bidx"))) == 4
    bale.ok("verify", tmp_path / "slim")
    keys = key_list(bale, tmp_path / "slim")
    assert bale.ok("cat", tmp_path / "slim", keys[33], "--field", "jpg").stdout == samples[33][1]
    assert json.loads(bale.ok("cat", tmp_path / "slim", keys[0], "--field", "image_object_bbox_xmin.json").out) == [0.25, 0.1]


def test_names_of_other_tools(bale, photos, tmp_path):
    """TFDS: `image`, `label`, no format, no file names; numbers are keys, distinguished by their shards when converted."""
    for number, half in enumerate((images_in_order(photos)[:20], images_in_order(photos)[20:])):
        writer = tfrecord.TFRecordWriter(str(tmp_path / f"x.tfrecord-{number:05d}-of-00002"))
        for _, image, label in half:
            writer.write({"image": (image, "byte"), "label": (label, "int")})
        writer.close()
    spec = str(tmp_path / "x.tfrecord-{00000..00001}-of-00002")
    assert key_list(bale, spec)[:2] == [b"00000000", b"00000001"]
    bale.ok("convert", spec, tmp_path / "converted", "--format", "lmdb")
    files = fields_by_key(bale, tmp_path / "converted")
    assert [key for key in sorted(files)][20] == "x.tfrecord-00001-of-00002/00000000"
    # The photos' PNG and its like are named by what they are.
    images = [next(v for k, v in sample.items() if k != "cls") for _, sample in sorted(files.items())]
    assert images == [image for _, image, _ in images_in_order(photos)]
    assert [int(s["cls"]) for _, s in sorted(files.items())] == [label for _, _, label in images_in_order(photos)]
    assert {k for s in files.values() for k in s} == {"jpg", "png", "cls"}


def test_gzip_is_refused(bale, photos, tmp_path):
    write_slim(tmp_path / "x.tfrecord", images_in_order(photos)[:2])
    (tmp_path / "x.tfrecord.gz").write_bytes(gzip.compress((tmp_path / "x.tfrecord").read_bytes()))
    result = bale("inspect", tmp_path / "x.tfrecord.gz")
    assert result.code == 1 and "compressed" in result.error_line() and "x.tfrecord.gz" in result.error_line()


def test_sequences_and_other_data(bale, tmp_path):
    """The context of a SequenceExample is read as an example has it; what is not a message is reported."""
    writer = tfrecord.TFRecordWriter(str(tmp_path / "s.tfrecord"))
    writer.write({"name": (b"x", "byte")}, {"steps": ([[1, 2], [3]], "int")})
    writer.close()
    assert fields_by_key(bale, tmp_path / "s.tfrecord") == {"00000000": {"name": b"x"}}
    text = b"no message at all"
    header = struct.pack("<Q", len(text))
    (tmp_path / "t.tfrecord").write_bytes(header + struct.pack("<I", masked_crc(header)) + text +
                                          struct.pack("<I", masked_crc(text)))
    result = bale("inspect", tmp_path / "t.tfrecord")
    assert result.code == 1 and "record 0 is not a tf.train.Example" in result.error_line()


def test_damage_in_others_files_is_named(bale, photos, tmp_path):
    """A flipped bit in an image: the record's own checksum tells, with or without our index."""
    path = tmp_path / "x.tfrecord"
    samples = images_in_order(photos)[:5]
    write_slim(path, samples)
    good = path.read_bytes()
    where = good.index(samples[3][1])
    offset = sum(len(r) + 16 for r in records(path)[:3])
    flip(path, where + 100)
    result = bale("verify", path)
    assert result.code == DAMAGED and "record 3" in result.out + result.err
    key = samples[3][0].partition("/")[2]
    result = bale("cat", path, key, "--field", "jpg")
    assert result.code != 0 and result.stdout == b""
    line = result.error_line()
    assert "x.tfrecord" in line and "record 3" in line and str(where) in line or str(offset) in line
    assert bale.ok("cat", path, samples[2][0].partition("/")[2], "--field", "jpg").stdout == samples[2][1]
    result = bale("index", path)
    assert result.code != 0 and "record 3" in result.error_line()
    assert not (tmp_path / "x.tfrecord.bidx").exists()
    # In a length: nothing behind it is looked for.
    path.write_bytes(good)
    flip(path, offset)
    result = bale("ls", path)
    assert result.code != 0 and "record 3: checksum of its length" in result.error_line()
    assert str(offset) in result.error_line()


def test_a_sidecar_with_wrong_offsets_is_found(bale, ours, fresh_copy):
    copy = fresh_copy(ours)
    sidecar = copy / f"{shards(copy)[1].name}.idx"
    good = sidecar.read_text()
    sidecar.write_text(good.replace("0 ", "1 ", 1))
    result = bale("verify", copy)
    assert result.code == DAMAGED and sidecar.name in result.out + result.err
    sidecar.unlink()
    result = bale("verify", copy)
    assert result.code == DAMAGED and sidecar.name in result.out + result.err
    sidecar.write_text(good)
    bale.ok("verify", copy)


def test_overwrite_takes_its_sidecars_along(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "tfrecord", "--name", "x", "--shard-samples", "15")
    (tmp_path / "p" / "mine.idx").write_text("mine")
    bale.pack(photos, tmp_path / "p", "--format", "tar", "--name", "x", "--overwrite")
    assert set(tree_bytes(tmp_path / "p")) == {"mine.idx", "manifest.json", "x-000000.tar", "x-000000.tar.bidx"}
