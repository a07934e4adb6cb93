"""Keys: what `bale ls` prints is what every option takes, and keys that shards repeat are distinguished in one way."""
import itertools
import json
import os
import shutil
import struct

import lmdb
import pytest
from conftest import format_options, key_list, read_tar, shards, tree_bytes, write_tar
from test_interop_lmdb import write

# Two of each pair were printed alike.
KEYS = [b"a\\x01", b"a\x01", b"n\\nl", b"n\nl", b"b\\", b"b\\\\", b"\xff", b"\\xff", b"x[1]", b"x1", b"star*", b"star2", b"n\\x0al", b"q?"]


@pytest.fixture(scope="module", params=["tar", "lmdb"])
def odd(request, tmp_path_factory):
    """A container with KEYS; the field of each holds its key."""
    place = tmp_path_factory.mktemp("odd") / f"x.{request.param}"
    if request.param == "lmdb":
        write(place, [(key, b"\xff\xd8\xff" + key) for key in sorted(KEYS)])
    else:
        write_tar(place, [(os.fsdecode(key) + ".jpg", b"\xff\xd8\xff" + key) for key in KEYS])
    return place


def printed_keys(bale, spec):
    lines = bale.ok("ls", spec).out.splitlines()
    keys = key_list(bale, spec)
    assert len(set(lines)) == len(lines) == len(keys), lines
    return dict(zip(lines, keys, strict=True))


def test_each_printed_key_is_one_sample_for_every_command(bale, odd, tmp_path):
    for number, (line, key) in enumerate(printed_keys(bale, odd).items()):
        assert bale.ok("cat", odd, line).stdout == b"\xff\xd8\xff" + key, line
        bale.ok("extract", odd, tmp_path / f"e{number}", "--include", line)
        contents = list(tree_bytes(tmp_path / f"e{number}").values())
        assert b"\xff\xd8\xff" + key in contents and (len(contents) == 1 or set(b"*?[") & set(key)), (line, contents)
        (tmp_path / "names.txt").write_text(line + "\n", encoding="utf-8")
        done = bale.ok("convert", odd, tmp_path / f"c{number}", "--format", "lmdb", "--exclude-from", tmp_path / "names.txt")
        assert "of no sample" not in done.err
        quoted = line.replace("'", "''")
        assert bale.ok("ls", odd, "--where", f"key = '{quoted}'").out == line + "\n"
        assert sorted(key_list(bale, tmp_path / f"c{number}")) == sorted(set(KEYS) - {key}), line


def test_a_list_of_raw_keys_ends_them_with_nul(bale, odd, tmp_path):
    (tmp_path / "names").write_bytes(b"a\\x01\0n\nl\0")
    bale.ok("convert", odd, tmp_path / "out", "--format", "lmdb", "--exclude-from", tmp_path / "names")
    assert sorted(key_list(bale, tmp_path / "out")) == sorted(set(KEYS) - {b"a\\x01", b"n\nl"})


def test_an_error_names_the_key_as_it_is_printed(bale, odd, tmp_path):
    assert bale("cat", odd, "no\\\\such\\x01").error_line().endswith('(key "no\\\\such\\x01"); `bale ls` lists the keys')


def test_the_key_that_packing_encodes_is_found_by_each_of_its_spellings(bale, photos, tmp_path):
    folder = tmp_path / "own" / "cat"
    folder.mkdir(parents=True)
    for name in ("photo.v2.jpg", "b.jpg", "c%2Ed.jpg", "c.d.jpg"):
        shutil.copy(next(photos.rglob("*.JPEG")), folder / name)
    bale.pack(tmp_path / "own", tmp_path / "packed")
    for number, (name, left) in enumerate([("cat/photo%2Ev2", 3), ("cat/photo.v2", 3), ("cat/c%2Ed", 3), ("cat/c%252Ed", 3)]):
        (tmp_path / "names.txt").write_text(name)
        for source, command in ((tmp_path / "own", "pack"), (tmp_path / "packed", "convert")):
            out = tmp_path / f"{command}{number}"
            bale.ok(command, source, out, "--exclude-from", tmp_path / "names.txt")
            keys = key_list(bale, out)
            assert len(keys) == left, (name, keys)
            if "c" in name[4:]:  # the key that `ls` prints goes before the name of a file
                assert (b"cat/c%2Ed" in keys) == (name == "cat/c%252Ed")
    assert bale.ok("cat", tmp_path / "packed", "cat/photo.v2").stdout == (folder / "photo.v2.jpg").read_bytes()


# Keys that shards repeat.

def restarting(place, kind, names):
    """Containers that each number their samples from 0."""
    made = []
    for number, name in enumerate(names):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        items = [(f"{i:03}", b"\xff\xd8\xff%d:%d" % (number, i)) for i in range(3)]
        if kind == "lmdb":
            env = lmdb.open(str(place / name), map_size=1 << 24)
            with env.begin(write=True) as txn:
                for key, value in items:
                    txn.put(key.encode(), value)
            env.close()
        else:
            write_tar(place / name, [(key + ".jpg", value) for key, value in items])
        made.append(place / name)
    return "::".join(map(str, made))


CASES = {"tars in folders": ("tar", ["p/00000.tar", "q/00000.tar"], ["p/00000.tar", "q/00000.tar"]),
         "tars deep": ("tar", ["p/x/0.tar", "q/x/0.tar", "q/y/0.tar"], ["p/x/0.tar", "q/x/0.tar", "q/y/0.tar"]),
         "tars": ("tar", ["0.tar", "1.tar"], ["0.tar", "1.tar"]),
         "lmdb": ("lmdb", ["A", "B"], ["A/data.mdb", "B/data.mdb"])}


@pytest.mark.parametrize("case", CASES)
def test_keys_that_repeat_are_distinguished_by_the_shortest_names(bale, tmp_path, case):
    kind, names, prefixes = CASES[case]
    spec = restarting(tmp_path / "in", kind, names)
    expected = {f"{prefix}/{i:03}": b"\xff\xd8\xff%d:%d" % (number, i) for number, prefix in enumerate(prefixes) for i in range(3)}
    bale.ok("convert", spec, tmp_path / "tar")
    found = {key: next(iter(fields.values())) for key, fields in read_tar(tmp_path / "tar")}
    assert found == expected
    extracted = bale.ok("extract", spec, tmp_path / "files")
    files = {name.rpartition(".")[0]: content for name, content in tree_bytes(tmp_path / "files").items()}
    assert files == expected and f"{len(expected)} files of {len(expected)} samples" in extracted.out
    for command in (["diff", spec, spec], ["diff", spec, tmp_path / "tar"]):
        assert bale.ok(*command).out == f"the same {len(expected)} samples\n"
    one = f"{prefixes[1]}/002"
    assert bale.ok("cat", spec, one).stdout == b"\xff\xd8\xff1:2"
    bale.ok("extract", spec, tmp_path / "one", "--include", one)
    assert list(tree_bytes(tmp_path / "one").values()) == [b"\xff\xd8\xff1:2"]
    (tmp_path / "names.txt").write_text(one)
    bale.ok("convert", spec, tmp_path / "less", "--exclude-from", tmp_path / "names.txt")
    assert sorted(key for key, _ in read_tar(tmp_path / "less")) == sorted(set(expected) - {one})
    refused = bale("cat", spec, "002")
    assert refused.code == 2 and f"{prefixes[1]}/002" in refused.error_line()
    (tmp_path / "names.txt").write_text("002")  # the key that ls prints: all that have it
    bale.ok("convert", spec, tmp_path / "fewer", "--exclude-from", tmp_path / "names.txt")
    assert sorted(key for key, _ in read_tar(tmp_path / "fewer")) == sorted(key for key in expected if not key.endswith("002"))


def test_a_shard_that_is_named_twice_is_two(bale, tmp_path):
    spec = restarting(tmp_path, "tar", ["0.tar"])
    bale.ok("convert", f"{spec}::{spec}", tmp_path / "out")
    assert len({key for key, _ in read_tar(tmp_path / "out")}) == 6
    bale.ok("extract", f"{spec}::{spec}", tmp_path / "files")
    assert len(tree_bytes(tmp_path / "files")) == 6
    assert bale.ok("diff", f"{spec}::{spec}", f"{spec}::{spec}").out == "the same 6 samples\n"


def test_packs_of_one_name_with_the_same_keys_are_converted_together(bale, photos, tmp_path):
    for name in ("a", "b"):
        bale.pack(photos, tmp_path / name / "train", "--name", "x")
    spec = f"{tmp_path}/a/train::{tmp_path}/b/train"
    bale.ok("convert", spec, tmp_path / "out")
    keys = [os.fsdecode(key) for key in key_list(bale, tmp_path / "out")]
    assert len(set(keys)) == 80 and {key.split("/")[0] for key in keys} == {"a", "b"}
    refused = bale("merge", tmp_path / "a/train", tmp_path / "b/train", "-o", tmp_path / "m")
    assert refused.code == 2 and "bale convert" in refused.error_line() and len(shards(tmp_path / "out")) > 0


def test_keys_of_several_packs_are_not_encoded_twice(bale, photos, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "in" / name / name).mkdir(parents=True)
        shutil.copy(next(photos.rglob("*.JPEG")), tmp_path / "in" / name / name / "photo.v2.jpg")
        bale.pack(tmp_path / "in" / name, tmp_path / f"f{name}", "--format", "lmdb")
        bale.ok("convert", tmp_path / f"f{name}", tmp_path / name)
    bale.ok("convert", f"{tmp_path}/a::{tmp_path}/b", tmp_path / "out")
    assert sorted(key_list(bale, tmp_path / "out")) == [b"a/photo%2Ev2", b"b/photo%2Ev2"]
    shown = [json.loads(line)["key"] for line in bale.ok("ls", "--json", tmp_path / "out").out.splitlines()]
    assert sorted(shown) == ["a/photo%2Ev2", "b/photo%2Ev2"]


# Keys that lead outside.

def write_mds(directory, rows):
    """A directory of MosaicML's, of columns key and image."""
    directory.mkdir()
    config = json.dumps({"column_encodings": ["str", "bytes"], "column_names": ["key", "image"], "column_sizes": [None, None],
                         "compression": None, "format": "mds", "hashes": [], "size_limit": 1 << 26, "version": 2}).encode()
    bodies = [struct.pack("<2I", len(key), len(image)) + key + image for key, image in rows]
    offsets = list(itertools.accumulate(map(len, bodies), initial=4 * (len(rows) + 2) + len(config)))
    data = struct.pack(f"<I{len(offsets)}I", len(rows), *offsets) + config + b"".join(bodies)
    (directory / "shard.00000.mds").write_bytes(data)
    shard = {**json.loads(config), "raw_data": {"basename": "shard.00000.mds", "bytes": len(data), "hashes": {}}, "samples": len(rows),
             "zip_data": None}
    (directory / "index.json").write_text(json.dumps({"shards": [shard], "version": 2}))
    return directory


@pytest.mark.parametrize("source", ["mds", "lmdb", "tar"])
@pytest.mark.parametrize("target", ["tar", "tar.zst", "tfrecord", "lmdb"])
def test_convert_writes_no_key_that_leads_outside(bale, tmp_path, source, target):
    given = ["../../x", "/data/y", "a/../../z", "plain/w", "dots../v", "//u"]
    image = b"\xff\xd8\xff"
    spec = tmp_path / "in"
    if source == "mds":
        write_mds(spec, [(key.encode(), image + key.encode()) for key in given])
    elif source == "lmdb":
        write(spec, [(key.encode(), image + key.encode()) for key in sorted(given)])
    else:
        write_tar(spec, [(key + ".jpg", image + key.encode()) for key in given])
    done = bale.ok("convert", spec, tmp_path / "out", *format_options(target))
    warned = [line for line in done.err.splitlines() if "made relative" in line]
    assert len(warned) == 1 and "4 keys" in warned[0], done
    assert sorted(key_list(bale, tmp_path / "out")) == [b"data/y", b"dots../v", b"plain/w", b"u", b"x", b"z"]
    if target == "tar":
        assert {key: fields["jpg"][3:] for key, fields in read_tar(tmp_path / "out")}["z"] == b"a/../../z"
    assert bale.ok("diff", spec, tmp_path / "out").out == "the same 6 samples\n"
    assert not [line for line in bale.ok("convert", tmp_path / "out", tmp_path / "again").err.splitlines() if "relative" in line]


def test_keys_that_would_be_equal_when_they_are_relative_are_refused(bale, tmp_path):
    write_mds(tmp_path / "in", [(b"/data/x", b"\xff\xd8\xff1"), (b"data/x", b"\xff\xd8\xff2")])
    refused = bale("convert", tmp_path / "in", tmp_path / "out")
    assert refused.code == 2 and "would have the same key" in refused.error_line()
