"""MosaicML's shards: files that their own MDSWriter wrote (tests/foreign/make_mds.py) are read in place and converted."""
import importlib.util
import io
import json
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from conftest import by_tier, fields_by_key, flip
from PIL import Image
from python_support import EXAMPLES_PYTHON, run_script
from remote_support import remote, serve  # noqa: F401

FOREIGN = pathlib.Path(__file__).parents[2] / "foreign"
sys.path.insert(0, str(FOREIGN))
import make_mds  # noqa: E402

WRITTEN = FOREIGN / "mds"


def stored(path):
    """[{column: bytes}] of a shard, by the layout of mosaicml-streaming's mds/reader.py."""
    data = path.read_bytes()
    count, = struct.unpack_from("<I", data)
    offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
    config = json.loads(data[4 * (count + 2):offsets[0]])
    samples = []
    for begin in offsets[:-1]:
        sizes, at = [], begin
        for size in config["column_sizes"]:
            sizes.append(size or struct.unpack_from("<I", data, at)[0])
            at += 0 if size else 4
        sample = {}
        for name, size in zip(config["column_names"], sizes):
            sample[name], at = data[at:at + size], at + size
        samples.append(sample)
    return samples


@pytest.fixture
def copy(tmp_path):
    def copy_of(name):
        return pathlib.Path(shutil.copytree(WRITTEN / name, tmp_path / name))
    return copy_of


def test_images_with_classes(bale, tmp_path):
    shards = sorted((WRITTEN / "classes").glob("*.mds"))
    expected = [sample for shard in shards for sample in stored(shard)]
    assert len(shards) > 2 and len(expected) == 10
    packed = tmp_path / "packed"
    bale.ok("convert", WRITTEN / "classes", packed)
    assert bale.ok("diff", WRITTEN / "classes", packed).err == ""  # a directory with its own list is not guessed to be shards
    for spec, labels in ((WRITTEN / "classes", False), (packed, True)):
        fields = fields_by_key(bale, spec)
        # `img.3.JPEG`: the further dot is encoded, as in every key that bale makes from a file's name.
        keys = [f"class_{i % 3}/img%2E{i}" for i in range(10)]
        assert bale.ok("ls", spec).out.split() == keys and len(fields) == 10
        for number, found in enumerate(fields[key] for key in keys):
            assert found.pop("cls", None) == (b"%d" % (number % 3) if labels else None)
            assert found == {"jpg": expected[number]["image"]}
    listed = [json.loads(line)["label"] for line in bale.ok("ls", "--json", WRITTEN / "classes").out.splitlines()]
    assert listed == [i % 3 for i in range(10)]
    bale.ok("verify", packed)


def test_every_encoding(bale, tmp_path):
    raw = stored(WRITTEN / "everything" / "shard.00000.mds")
    result = bale.ok("convert", WRITTEN / "everything", tmp_path / "packed")
    assert "MDS's encoding pkl" in result.out + result.err
    fields = fields_by_key(bale, tmp_path / "packed")
    assert list(fields) == ["00000000", "00000001", "00000002"]
    for number, found in enumerate(fields.values()):
        written = make_mds.everything(number)
        assert np.array_equal(np.load(io.BytesIO(found.pop("npy"))), np.asarray(written["img"]))
        mask = Image.open(io.BytesIO(found.pop("mask.png")))
        assert mask.mode == "L" and np.array_equal(np.asarray(mask), np.asarray(written["mask"]))
        assert found.pop("cls") == b"%d" % written["y"]
        assert found.pop("caption.txt").decode() == written["caption"]
        assert json.loads(found.pop("meta.json")) == written["meta"]
        assert found.pop("digits.txt") == str(written["digits"]).encode()
        assert found.pop("blob") == written["blob"]
        assert found.pop("anything.pkl") == raw[number]["anything"]
        for name in ("weight", "half", "points", "box", "fixed"):
            array = np.load(io.BytesIO(found.pop(f"{name}.npy")))
            assert array.dtype == written[name].dtype and array.shape == written[name].shape, name
            assert np.array_equal(array, written[name]), name
        assert not found, number


def test_gray_images_and_negative_classes(bale):
    fields = fields_by_key(bale, WRITTEN / "gray")
    for number, found in enumerate(fields.values()):
        image = Image.open(io.BytesIO(found["pgm"]))
        assert image.mode == "L" and np.array_equal(np.asarray(image), np.asarray(make_mds.image(number, "L")))
    listed = [json.loads(line)["label"] for line in bale.ok("ls", "--json", WRITTEN / "gray").out.splitlines()]
    assert listed == [0, -1, -2]


def write_shard(path, columns, rows):
    """A shard by the layout of mds/writer.py; `columns`: name: (encoding, size), `rows`: {column: bytes}."""
    names = sorted(columns)
    config = json.dumps({"version": 2, "format": "mds", "compression": None, "hashes": [], "size_limit": None, "column_names": names,
                         "column_encodings": [columns[name][0] for name in names], "column_sizes": [columns[name][1] for name in names]},
                        sort_keys=True).encode()
    samples = [b"".join(struct.pack("<I", len(row[name])) for name in names if not columns[name][1]) + b"".join(row[name] for name in names)
               for row in rows]
    first = 4 * (len(samples) + 2) + len(config)
    offsets = np.cumsum([first] + [len(sample) for sample in samples]).astype("<u4")
    path.write_bytes(struct.pack("<I", len(samples)) + offsets.tobytes() + config + b"".join(samples))


def test_columns_whose_names_become_one(bale, tmp_path):
    """They are two fields, and the file is not damaged."""
    jpeg = make_mds.encoded(make_mds.image(1), "JPEG")
    columns = {"Cap": ("str", None), "cap": ("str", None), "image": ("jpeg", None), "n/a": ("int", 8), "n_a": ("int", 8)}
    row = {"Cap": b"large", "cap": b"small", "image": jpeg, "n/a": struct.pack("<q", 1), "n_a": struct.pack("<q", 2)}
    write_shard(tmp_path / "x.mds", columns, [row])
    found = fields_by_key(bale, tmp_path / "x.mds")["00000000"]
    numbers = {name: int(np.load(io.BytesIO(found.pop(name)))) for name in ("n_a.npy", "n_a_4.npy")}
    assert numbers == {"n_a.npy": 1, "n_a_4.npy": 2} and found == {"cap.txt": b"large", "cap_1.txt": b"small", "jpg": jpeg}


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_column_that_is_called_as_the_image(bale, tmp_path, kind):
    """The image of a sample stays the one that is chosen by its column, whatever its content is."""
    image, other = make_mds.encoded(make_mds.image(1), kind), make_mds.encoded(make_mds.image(2), "JPEG")
    write_shard(tmp_path / "x.mds", {"image": ("bytes", None), "jpg": ("bytes", None), "png": ("str", None)},
                [{"image": image, "jpg": other, "png": b"words"}])
    field = {"JPEG": "jpg", "PNG": "png"}[kind]
    assert fields_by_key(bale, tmp_path / "x.mds") == {"00000000": {field: image, "jpg_1.jpg": other, "png.txt": b"words"}}


def test_columns_whose_fields_would_have_one_name(bale, tmp_path):
    """The later one gets its number, but bytes that are an image have no extension instead."""
    jpeg, png = (make_mds.encoded(make_mds.image(1), kind) for kind in ("JPEG", "PNG"))
    pixels = np.uint32([4, 3, 3]).tobytes() + b"RGB" + bytes(range(36))
    array = {"a": ("ndarray:uint8:2", 2), "a.npy": ("bytes", None), "b": ("ndarray:uint8:1", 1), "b.npy": ("ndarray:uint8:2", 2)}
    columns = {**array, "c": ("str", None), "c.txt": ("str", None), "image": ("pil", None), "m": ("bytes", None), "m.png": ("bytes", None),
               "npy": ("bytes", None)}
    row = {"a": b"\1\2", "a.npy": b"x", "b": b"\3", "b.npy": b"\4\5", "c": b"c", "c.txt": b"d", "image": pixels, "m": png, "m.png": jpeg,
           "npy": b"y"}
    write_shard(tmp_path / "x.mds", columns, [row])
    bale.ok("convert", tmp_path / "x.mds", tmp_path / "packed")
    for spec in (tmp_path / "x.mds", tmp_path / "packed"):
        found = fields_by_key(bale, spec)["00000000"]
        arrays = {name: np.load(io.BytesIO(found.pop(name))).tobytes() for name in ("a.npy", "b.npy", "b.npy_3.npy", "npy")}
        assert arrays == {"a.npy": b"\1\2", "b.npy": b"\3", "b.npy_3.npy": b"\4\5", "npy": bytes(range(36))}
        assert found == {"a.npy_1": b"x", "c.txt": b"c", "c.txt_5.txt": b"d", "m": png, "m.png.jpg": jpeg, "npy_9": b"y"}


@pytest.mark.parametrize("label", [False, True])
def test_bytes_that_are_called_as_the_label(bale, tmp_path, label):
    """They are the label, as in every container, or a field next to it: nobody reads one for the other."""
    jpeg = make_mds.encoded(make_mds.image(1), "JPEG")
    columns = {"cls": ("bytes", None), "image": ("jpeg", None), **({"label": ("int", 8)} if label else {})}
    write_shard(tmp_path / "x.mds", columns, [{"cls": b"7", "image": jpeg, "label": struct.pack("<q", 5)}])
    bale.ok("convert", tmp_path / "x.mds", tmp_path / "packed")
    listed = [bale.ok("ls", "--json", spec).out for spec in (tmp_path / "x.mds", tmp_path / "packed")]
    assert [json.loads(line)["label"] for line in listed] == ([5, 5] if label else [7, 7])
    assert fields_by_key(bale, tmp_path / "packed")["00000000"] == {
        "jpg": jpeg, **({"cls": b"5", "cls_0": b"7"} if label else {"cls": b"7"})}


@pytest.mark.parametrize("mode", ["YCbCr", "HSV", "LAB"])
def test_images_of_other_colors_are_not_taken_for_rgb(bale, tmp_path, mode):
    """As the image they would train on wrong colors; as another field they are arrays."""
    value = np.uint32([4, 3, len(mode)]).tobytes() + mode.encode() + bytes(range(36))
    write_shard(tmp_path / "x.mds", {"image": ("pil", None), "other": ("pil", None)}, [{"image": value, "other": value}])
    found = fields_by_key(bale, tmp_path / "x.mds")["00000000"]
    assert sorted(found) == ["other.npy", "pil"] and found["pil"] == value
    assert np.load(io.BytesIO(found["other.npy"])).tobytes() == bytes(range(36))
    assert "delivered as the bytes of MDS's encoding pil" in bale.ok("convert", tmp_path / "x.mds", tmp_path / "packed").err


def test_an_index_next_to_each_shard(bale, copy):
    """Random access with checksums, the shards untouched; damage costs one sample and is named."""
    data = copy("classes")
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    bale.ok("index", data)
    assert {path.name: path.read_bytes() for path in data.iterdir() if path.suffix != ".bidx"} == before
    bale.ok("verify", data)
    shard = data / "shard.00001.mds"
    flip(shard, shard.read_bytes().index(b"\xff\xd8") + 100)
    result = bale("verify", data)
    assert result.code == 3 and "shard.00001.mds" in result.out + result.err and "class_" in result.out + result.err


def test_a_shard_of_the_list_that_is_missing_or_cut(bale, copy):
    """index.json names every shard: none is lost silently."""
    data = copy("classes")
    (data / "shard.00003.mds").unlink()
    result = bale("ls", data)
    assert result.code == 1 and 'index.json: the shard "shard.00003.mds" that it lists is not there' in result.error_line()
    (data / "shard.00003.mds").write_bytes((WRITTEN / "classes" / "shard.00003.mds").read_bytes()[:-1])
    result = bale("convert", data, data.parent / "packed")
    assert result.code == 1 and "not those it lists" in result.error_line()
    result = bale("ls", data / "shard.00003.mds")
    assert result.code == 1 and "its header says" in result.error_line() and "offset" in result.error_line()


def test_a_list_that_is_cut(bale, copy):
    """It may have named other shards than those that are there; a shard that is named itself is read."""
    data = copy("classes")
    (data / "index.json").write_bytes((data / "index.json").read_bytes()[:-3])
    result = bale("ls", data)
    assert result.code == 1 and "index.json: " in result.error_line() and "copy it again" in result.error_line()
    assert bale.ok("ls", data / "shard.00000.mds").out
    (data / "index.json").write_text("{ of another program")
    assert len(bale.ok("ls", data).out.split()) == 10


def test_lists_with_what_is_not_read(bale, copy):
    """A list is not passed over for what it has, since the files that are there are others than those it lists."""
    data = copy("classes")
    index = json.loads((data / "index.json").read_text())
    lines = {"columns": {"a": "str"}, "format": "json", "raw_data": {"basename": "a.json", "bytes": 1}, "raw_meta": None, "zip_data": None}
    for changed, said in (({"shards": [lines, *index["shards"][1:]]}, 'index.json: lists shards of the format "json"'),
                          ({"version": 3}, "index.json: a list of version 3, this bale reads 2")):
        (data / "index.json").write_text(json.dumps(index | changed))
        result = bale("ls", data)
        assert result.code == 1 and said in result.error_line(), result


def compress(data):
    """The shards of a dataset compressed by zstd's program, and listed as Streaming lists them."""
    index = json.loads((data / "index.json").read_text())
    for shard in index["shards"]:
        raw = data / shard["raw_data"]["basename"]
        subprocess.run(["zstd", "-q", "--rm", "-12", raw, "-o", f"{raw}.zstd"], check=True)
        packed = raw.with_name(raw.name + ".zstd")
        shard["zip_data"] = {"basename": packed.name, "bytes": packed.stat().st_size, "hashes": {}}
        shard["compression"] = "zstd:12"
    (data / "index.json").write_text(json.dumps(index))
    return data


def test_compressed_shards(bale, tmp_path):
    """What MDSWriter(compression="zstd:7") wrote is read as what it wrote without compression."""
    assert fields_by_key(bale, WRITTEN / "zstd") == fields_by_key(bale, WRITTEN / "classes")
    listed = [json.loads(line)["label"] for line in bale.ok("ls", "--json", WRITTEN / "zstd").out.splitlines()]
    assert listed == [i % 3 for i in range(10)]
    for name in ("zstd", "classes"):
        bale.ok("convert", WRITTEN / name, tmp_path / name)
    assert fields_by_key(bale, tmp_path / "zstd") == fields_by_key(bale, tmp_path / "classes")
    one = WRITTEN / "zstd" / "shard.00001.mds.zstd"
    assert fields_by_key(bale, one) == fields_by_key(bale, WRITTEN / "classes" / "shard.00001.mds")


def test_every_encoding_compressed(bale, copy):
    """Also values that bale makes an array file of, and columns of numbers and pixels."""
    assert fields_by_key(bale, compress(copy("everything"))) == fields_by_key(bale, WRITTEN / "everything")


def test_an_index_next_to_compressed_shards(bale, copy):
    data = copy("zstd")
    bale.ok("index", data)
    bale.ok("verify", data)
    assert fields_by_key(bale, data) == fields_by_key(bale, WRITTEN / "classes")
    flip(data / "shard.00001.mds.zstd", 500)
    result = bale("verify", data)
    assert result.code == 3 and "shard.00001.mds.zstd" in result.out + result.err


def test_a_compressed_shard_that_is_missing_or_cut(bale, copy):
    data = copy("zstd")
    shard = data / "shard.00002.mds.zstd"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1])
    result = bale("ls", data)
    assert result.code == 1 and "not those it lists" in result.error_line()
    for size in range(1, len(whole), by_tier(83, 3)):
        shard.write_bytes(whole[:size])
        result = bale("ls", shard)
        assert result.code == 1 and "shard.00002.mds.zstd: " in result.error_line(), size
    shard.unlink()
    result = bale("ls", data)
    assert result.code == 1 and 'the shard "shard.00002.mds.zstd" that it lists is not there' in result.error_line()


@pytest.mark.parametrize("name", ["br:11", "gz", "bz2:9", "snappy"])
def test_other_compressions_are_refused_by_name(bale, copy, name):
    data = copy("zstd")
    index = (data / "index.json").read_text()
    (data / "index.json").write_text(index.replace('"zstd:7"', json.dumps(name)))
    result = bale("ls", data)
    assert result.code == 1 and f'lists shards compressed by "{name}", bale reads zstd' in result.error_line()
    shard = data / f"shard.00009.mds.{name.split(':')[0]}"
    shard.write_bytes(b"\x1f\x8b\x08 these are compressed bytes of some kind")
    result = bale("ls", shard)
    assert result.code == 1 and f"compressed by {name.split(':')[0]}, bale reads zstd" in result.error_line()


def test_directories_that_streaming_merged(bale, copy, tmp_path):
    """Its merge_index() lists the shards of directories below. Nothing else may lead out of a directory."""
    copy("classes"), copy("zstd")
    make_mds.merge_indexes(tmp_path, ["classes", "zstd"])
    listed = json.loads((tmp_path / "index.json").read_text())["shards"]
    count = len(bale.ok("ls", tmp_path / "classes").out.split()) + len(bale.ok("ls", tmp_path / "zstd").out.split())
    for command in ("convert", "pack"):
        bale.ok(command, tmp_path, tmp_path.parent / f"{tmp_path.name}-{command}")
        assert len(bale.ok("ls", tmp_path.parent / f"{tmp_path.name}-{command}").out.split()) == count
    assert len(bale.ok("ls", tmp_path).out.split()) == count
    bale.ok("verify", tmp_path)
    for name in ("../classes/x.mds", "/x.mds", "classes/../../x.mds", "", "./x.mds", "a//x.mds"):
        listed[0]["raw_data"]["basename"] = name
        (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": listed}))
        result = bale("ls", tmp_path)
        assert result.code == 1 and "index.json: lists a shard outside its directory" in result.error_line(), name


def test_a_directory_above_the_shards_names_theirs(bale, copy):
    """As the splits of StreamingDataset(local=..., split="train")."""
    data = copy("classes")
    for command in ("ls", "convert", "verify"):
        result = bale(command, data.parent, *([data.parent / "packed"] if command == "convert" else []))
        assert result.code == 1 and result.error_line().endswith(f"name the directory of the shards, such as {data}"), result


def test_what_streaming_merges(bale, copy, tmp_path):
    """With the real package: its list is the one of the tests, and is read."""
    if not EXAMPLES_PYTHON.exists():
        pytest.skip("tests/python/requirements-examples.txt is not installed")
    copy("classes"), copy("zstd")
    make_mds.merge_indexes(tmp_path, ["classes", "zstd"])
    ours = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").unlink()
    run_script("""
        import sys
        sys.path.insert(0, sys.argv[2])
        from make_mds import import_streaming
        import_streaming()
        from streaming.base.util import merge_index
        merge_index(sys.argv[1])
        """, tmp_path, FOREIGN, python=EXAMPLES_PYTHON)
    theirs = json.loads((tmp_path / "index.json").read_text())
    theirs["shards"].sort(key=lambda shard: shard["raw_data"]["basename"])
    assert theirs == ours
    assert len(bale.ok("ls", tmp_path).out.split()) == sum(shard["samples"] for shard in ours["shards"])


def test_truncations(bale, copy):
    """Each is one error that names the shard."""
    shard = copy("everything") / "shard.00000.mds"
    whole = shard.read_bytes()
    for size in range(0, len(whole), by_tier(151, 3)):
        shard.write_bytes(whole[:size])
        result = bale("ls", shard)
        assert result.code == 1 and "shard.00000.mds: " in result.error_line(), size


def test_it_has_no_sidecars(bale, copy):
    result = bale("index", copy("classes"), "--sidecars", "wds2idx")
    assert result.code == 2 and "have no files for other readers" in result.error_line()


def test_it_is_not_written(bale, tiny, tmp_path):
    result = bale("pack", tiny, tmp_path / "packed", "--format", "mds")
    assert result.code == 2 and "bale reads mds and does not write it" in result.error_line()
    assert "mds" in bale.ok("formats").out


@pytest.mark.skipif(importlib.util.find_spec("streaming") is None, reason="needs mosaicml-streaming")
def test_the_writer_still_writes_these_files(tmp_path):
    make_mds.write(tmp_path)
    for path in sorted(WRITTEN.rglob("*.mds")):
        ours, theirs = stored(path), stored(tmp_path / path.relative_to(WRITTEN))
        assert [list(sample) for sample in ours] == [list(sample) for sample in theirs]


@pytest.mark.parametrize("name", ["classes", "gray"])
def test_over_http(bale, remote, serve, name, tmp_path):  # noqa: F811
    """What MosaicML's writer wrote reads from a server as from the disk: their shards, and what they are converted to."""
    local = sorted((WRITTEN / name).glob("*.mds"))
    server = serve(WRITTEN / name)
    spec, url = "::".join(map(str, local)), "::".join(f"{server.url}/{path.name}" for path in local)
    assert fields_by_key(remote, url) == fields_by_key(bale, spec)
    bale.ok("convert", spec, tmp_path / "a", "--name", "p")
    remote.ok("convert", url, tmp_path / "b", "--name", "p")
    shards = sorted(path.name for path in (tmp_path / "a").glob("*.tar"))
    assert shards and all((tmp_path / "a" / shard).read_bytes() == (tmp_path / "b" / shard).read_bytes() for shard in shards)
