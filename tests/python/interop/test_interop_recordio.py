"""DALI reads our image records with our indexes, and we read records made as dmlc's writer and im2rec make them.

mxnet itself is no longer kept up; what its 1.9.1 wrote is in tests/unit/formats/recordio_test.cpp.
"""
import os
import struct

import numpy as np
import pytest
from conftest import fields_by_key, flip, images_in_order, key_list, shards, write_tar

PACK_OPTIONS = ["--format", "recordio", "--name", "photos", "--shard-samples", "15"]
DAMAGED = 3
MAGIC = struct.pack("<I", 0xCED7230A)


def record(payload):
    """As dmlc-core's RecordIOWriter::WriteRecord splits and pads it."""
    out, begin = b"", 0
    for at in range(0, len(payload) // 4 * 4, 4):
        if payload[at:at + 4] == MAGIC:
            out += MAGIC + struct.pack("<I", (1 if begin == 0 else 2) << 29 | at - begin) + payload[begin:at]
            begin = at + 4
    out += MAGIC + struct.pack("<I", (3 if begin else 0) << 29 | len(payload) - begin) + payload[begin:]
    return out + b"\0" * (-len(out) % 4)


def records(path):
    """[(offset, payload)] as dmlc-core's RecordIOReader::NextRecord puts them together."""
    data, found, at = path.read_bytes(), [], 0
    while at < len(data):
        start, payload, kind = at, b"", 1
        while kind in (1, 2):
            magic, word = struct.unpack_from("<4sI", data, at)
            kind, length = word >> 29, word & (1 << 29) - 1
            assert magic == MAGIC
            payload += data[at + 8:at + 8 + length] + (MAGIC if kind in (1, 2) else b"")
            at += 8 + (length + 3) // 4 * 4
        found.append((start, payload))
    return found


def image_record(label, number, image):
    """mxnet.recordio.pack."""
    if isinstance(label, (int, float)):
        return struct.pack("<IfQQ", 0, label, number, 0) + image
    return struct.pack("<IfQQ", len(label), 0, number, 0) + np.float32(label).tobytes() + image


def write_im2rec(stem, samples):
    """`im2rec --pass-through`: .rec, .idx and .lst; numbers in another order than the records."""
    rec, idx, lst = b"", "", ""
    for place, (key, image, label) in enumerate(samples):
        number = 1000 - place
        idx += f"{number}\t{len(rec)}\n"
        labels = [label] if isinstance(label, (int, float)) else label
        lst += f"{number}\t" + "".join(f"{value:f}\t" for value in labels) + f"{key}.JPEG\n"
        rec += record(image_record(label, number, image))
    for suffix, content in ((".rec", rec), (".idx", idx.encode()), (".lst", lst.encode())):
        stem.with_name(stem.name + suffix).write_bytes(content)


@pytest.fixture(scope="module")
def split_folder(photos, tmp_path_factory):
    """Images with the magic number behind their end, at every alignment: most records come in parts."""
    root = tmp_path_factory.mktemp("split")
    for number, (key, image, _) in enumerate(images_in_order(photos)):
        path = root / f"{key}.JPEG"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(image + b"\0" * (number % 4) + MAGIC + b"between" + MAGIC * (number % 3) + b"end"[:number % 4])
    return root


# --- others read ours

def test_bytes_are_those_of_im2rec(ours, photos):
    """Frames, headers, index and list; nothing of ours in them."""
    samples = images_in_order(photos)
    for number, shard in enumerate(shards(ours)):
        assert shard.name == f"photos-{number:06d}.rec"
        part = samples[number * 15:number * 15 + 15]
        plain = [(place, image_record(label, place, image)) for place, (_, image, label) in enumerate(part)]
        # The photos hold a PNG that is called .JPEG: its name is not what its bytes say, so it has a table.
        found = records(shard)
        for (offset, payload), (place, expected) in zip(found, plain, strict=True):
            assert payload == expected or (payload.startswith(expected) and b"\x89PNG" in expected
                                           and payload.endswith(b"BALEREC1"))
        assert shard.read_bytes() == b"".join(record(payload) for _, payload in found)
        assert shard.with_suffix(".idx").read_text() == "".join(f"{i}\t{at}\n" for i, (at, _) in enumerate(found))
        assert shard.with_suffix(".lst").read_text() == "".join(
            f"{i}\t{label:f}\t{key}.jpg\n" for i, (key, _, label) in enumerate(part))


def dali_samples(directory):
    """[(data, labels)]. DALI's reader takes one index, so a pipeline a shard."""
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline(path):
        images, labels = fn.readers.mxnet(path=[str(path)], index_path=[str(path.with_suffix(".idx"))])
        return images, labels

    found = []
    for shard in shards(directory):
        run = pipeline(shard)
        run.build()
        for _ in shard.with_suffix(".idx").read_text().splitlines():
            image, label = run.run()
            found.append((np.array(image[0]).tobytes(), np.array(label[0]).tolist()))
    return found


def without_table(image, expected):
    """What DALI hands to a decoder, which stops at the image's end."""
    return image[:len(expected)] if image.endswith(b"BALEREC1") else image


def test_dali_reads_ours(ours, photos):
    found, samples = dali_samples(ours), images_in_order(photos)
    assert [(without_table(image, expected), label) for (image, label), (_, expected, _) in zip(found, samples)] == \
        [(image, [float(label)]) for _, image, label in samples]


def test_dali_decodes_images_with_a_table_after_them(bale, photos, tmp_path):
    from nvidia.dali import fn, pipeline_def

    folder = tmp_path / "pairs"
    images = [(key, image) for key, image, _ in images_in_order(photos) if image.startswith(b"\xff\xd8")][:8]
    for key, image in images:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{key}.jpg").write_bytes(image)
        (folder / f"{key}.json").write_text("{}" * 50)
    for name, options in (("plain", ["--exclude", "*.json"]), ("pairs", ["--pair", "jpg,json"])):
        bale.pack(folder, tmp_path / f"{name}-packed" / "p", "--format", "recordio", "--name", "x", *options)

    @pipeline_def(batch_size=8, num_threads=1, device_id=None)
    def pipeline(path):
        data, _ = fn.readers.mxnet(path=[str(path)], index_path=[str(path.with_suffix(".idx"))])
        return fn.decoders.image(data, device="cpu")

    pixels = []
    for name in ("plain", "pairs"):
        shard = shards(tmp_path / f"{name}-packed" / "p")[0]
        assert all(p.endswith(b"BALEREC1") == (name == "pairs") for _, p in records(shard))
        run = pipeline(shard)
        run.build()
        pixels.append([np.array(image) for image in run.run()[0]])
    assert all(np.array_equal(a, b) for a, b in zip(*pixels, strict=True))


def test_dali_reads_our_split_records(bale, split_folder, tmp_path):
    bale.pack(split_folder, tmp_path / "p", "--format", "recordio", "--name", "x", "--shard-samples", "15")
    in_parts = sum(MAGIC in p[24:] for shard in shards(tmp_path / "p") for _, p in records(shard))
    assert in_parts == 40
    found = dali_samples(tmp_path / "p")
    expected = images_in_order(split_folder)
    assert [(without_table(image, e), label) for (image, label), (_, e, _) in zip(found, expected)] == \
        [(image, [float(label)]) for _, image, label in expected]


def test_dali_reads_our_several_labels(bale, photos, tmp_path):
    """Through tar, where any field has a name: `labels.json` is what image records call theirs."""
    expected = []
    members = []
    for number, (_, image, _) in enumerate(images_in_order(photos)[:6]):
        members += [(f"{number}.jpg", image), (f"{number}.labels.json", b"[%d, 0.5, -1]" % number)]
        expected.append((image, [float(number), 0.5, -1.0]))
    write_tar(tmp_path / "x.tar", members)
    bale.ok("convert", tmp_path / "x.tar", tmp_path / "p", "--format", "recordio")
    shard = shards(tmp_path / "p")[0]
    found = dali_samples(tmp_path / "p")
    assert [(without_table(image, e), label) for (image, label), (e, _) in zip(found, expected)] == expected
    assert shard.with_suffix(".lst").read_text().splitlines()[3] == "3\t3.000000\t0.500000\t-1.000000\t3.jpg"
    back = fields_by_key(bale, tmp_path / "p")
    assert back["4"] == {"jpg": expected[4][0], "labels.json": b"[4, 0.5, -1]"}


# --- ours reads others'

def packed_by_others(bale, spec, samples, tmp_path, labels="cls"):
    bale.ok("inspect", spec)
    bale.ok("verify", spec)
    bale.ok("convert", spec, tmp_path / "converted", "--format", "lmdb")
    for source in (spec, tmp_path / "converted"):
        files = fields_by_key(bale, source)
        assert list(files) == sorted(key for key, _, _ in samples)
        for key, image, label in samples:
            fields = files[key]
            assert fields.pop(labels).decode() == str(label)
            assert list(fields.values()) == [image]
            assert list(fields) == ["png" if image.startswith(b"\x89PNG") else "jpg"]


@pytest.mark.parametrize("folder", ["photos", "split_folder"])
def test_we_read_im2rec(bale, folder, request, tmp_path):
    samples = images_in_order(request.getfixturevalue(folder))
    write_im2rec(tmp_path / "train", samples)
    packed_by_others(bale, tmp_path / "train.rec", samples, tmp_path)
    assert key_list(bale, tmp_path / "train.rec") == [key.encode() for key, _, _ in samples]
    bale.ok("index", tmp_path / "train.rec")
    bale.ok("verify", tmp_path / "train.rec")
    key, image, _ = samples[17]
    assert bale.ok("cat", tmp_path / "train.rec", key, "--field", "jpg").stdout == image
    (tmp_path / "train.rec.bidx").unlink()
    lines = (tmp_path / "train.lst").read_text().splitlines(keepends=True)
    for some in (lines[:2] + lines[3:], [line.replace("\t", " ") for line in lines]):  # lost lines, and no tabs
        (tmp_path / "train.lst").write_text("".join(some))
        done = bale.ok("ls", tmp_path / "train.rec")
        assert done.out.startswith("00001000\n") and "train.lst does not have each record once (such as " in done.err
    (tmp_path / "train.lst").unlink()
    assert key_list(bale, tmp_path / "train.rec")[:2] == [b"00001000", b"00000999"]


def test_lists_next_to_a_file(bale, photos, tmp_path):
    """A list with a byte order mark is one, and a .idx tells that a file was cut between two records."""
    samples = images_in_order(photos)[:9]
    write_im2rec(tmp_path / "train", samples)
    listed = (tmp_path / "train.lst").read_bytes()
    (tmp_path / "train.lst").write_bytes(b"\xef\xbb\xbf" + listed)
    done = bale.ok("ls", tmp_path / "train.rec")
    assert done.out.split() == [key for key, _, _ in samples] and "train." not in done.err
    lines = (tmp_path / "train.idx").read_text().splitlines(keepends=True)
    (tmp_path / "train.idx").write_text("".join(lines[:4]))
    assert "train.idx lists 4 records, and the file has 9: all are read\n" in bale.ok("ls", tmp_path / "train.rec").err
    (tmp_path / "train.idx").write_text("".join(lines))
    os.truncate(tmp_path / "train.rec", int(lines[5].split("\t")[1]))
    done = bale.ok("convert", tmp_path / "train.rec", tmp_path / "q")
    assert "train.idx lists 9 records, and the file has 5: was it cut? Then copy it again\n" in done.err
    assert bale("convert", tmp_path / "train.rec", tmp_path / "r", "--strict").code != 0
    (tmp_path / "train.idx").unlink()
    assert "train.lst lists 9 records, and the file has 5: was it cut? Then copy it again\n" in bale.ok("ls", tmp_path / "train.rec").err


def test_a_list_that_was_cut_in_its_last_line_is_told(bale, photos, tmp_path):
    samples = images_in_order(photos)[:3]
    write_im2rec(tmp_path / "train", samples)
    listed, told = (tmp_path / "train.lst").read_text(), "train.lst ends without a line end: if it was cut"
    for lost, is_told in ((0, False), (1, False), (6, True)):
        (tmp_path / "train.lst").write_text(listed[:len(listed) - lost])
        assert (told in bale.ok("ls", tmp_path / "train.rec").err) == is_told


@pytest.mark.parametrize("listed", ["{:f}\t0.500000", "7{:.0f}.000000", "cat"], ids=["more", "others", "words"])
def test_a_list_with_other_labels_is_told(bale, photos, tmp_path, listed):
    """im2rec without --pack-label writes the first label into the record; the labels of the list override it in MXNet."""
    samples = images_in_order(photos)[:3]
    write_im2rec(tmp_path / "train", samples)
    told = f"train.lst has other labels than 3 of {len(samples)} records (such as 1000); those of the records are delivered"
    assert told not in bale.ok("ls", tmp_path / "train.rec").err
    lines = [line.split("\t") for line in (tmp_path / "train.lst").read_text().splitlines()]
    (tmp_path / "train.lst").write_text("".join(f"{number}\t{listed.format(float(label))}\t{path}\n" for number, label, path in lines))
    done = bale.ok("ls", tmp_path / "train.rec")
    assert told in done.err and done.out.split() == [key for key, _, _ in samples]


def test_we_read_several_labels(bale, photos, tmp_path):
    samples = [(key, image, [label, 0.1]) for key, image, label in images_in_order(photos)]
    write_im2rec(tmp_path / "train", samples)
    packed_by_others(bale, tmp_path / "train.rec", samples, tmp_path, labels="labels.json")


def test_back_to_records_gives_the_same_payloads(bale, split_folder, tmp_path):
    """Through tar and back: what the records hold is what im2rec would write for the same images."""
    samples = images_in_order(split_folder)
    bale.pack(split_folder, tmp_path / "tar", "--format", "tar")
    bale.ok("convert", tmp_path / "tar", tmp_path / "rec", "--format", "recordio")
    assert fields_by_key(bale, tmp_path / "rec") == {
        key: {"jpg": image, "cls": str(label).encode()} for key, image, label in samples}
    bale.ok("verify", tmp_path / "rec")


def test_damage_in_others_files_is_named(bale, photos, tmp_path):
    samples = images_in_order(photos)[:6]
    write_im2rec(tmp_path / "x", samples)
    path = tmp_path / "x.rec"
    good = path.read_bytes()
    offset = records(path)[4][0]
    for at, why in ((offset, "no magic number"), (offset + 7, "part"), (offset + 9, "labels")):
        path.write_bytes(good)
        flip(path, at, 0x60)
        for command in ("verify", "ls"):
            result = bale(command, path)
            assert result.code != 0, (at, command)
            reported = result.out + result.err
            assert "x.rec" in reported and "record 4" in reported and str(offset) in reported and why in reported, reported
    path.write_bytes(good[:offset + 30])
    result = bale("verify", path)
    assert result.code == DAMAGED and "record 4: the file ends" in result.out + result.err


def test_an_unsound_image_is_found_by_our_index(bale, photos, tmp_path):
    """RecordIO has no checksums: without our index a flipped bit in an image goes unseen; with it, it is named."""
    samples = images_in_order(photos)[:6]
    write_im2rec(tmp_path / "x", samples)
    bale.ok("index", tmp_path / "x.rec")
    where = (tmp_path / "x.rec").read_bytes().index(samples[2][1])
    flip(tmp_path / "x.rec", where + 50)
    result = bale("verify", tmp_path / "x.rec")
    reported = result.out + result.err
    assert result.code == DAMAGED and samples[2][0] in reported and str(where) in reported
