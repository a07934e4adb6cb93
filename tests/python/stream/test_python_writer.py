"""bale.Writer: values and keys, readers of others, states, errors, threads, processes."""
import copy
import io
import json
import pickle
import resource
import signal
import subprocess
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import webdataset
from conftest import ALL_LAYOUTS, LAYOUTS, images_in_order, shards, shim, tree_bytes
from PIL import Image
from python_support import ENVIRONMENT, command, run_script

import bale
import bale as package

PPM = b"P6\n2 3\n255\n" + b"x" * 18


def _written(out, name, value, **options):
    with bale.Writer(out, **options) as writer:
        assert writer.add("key", {name: value}) == 0
    return bale.Dataset(out)[0][name]


def png(color, size=(5, 4), mode="RGB"):
    out = io.BytesIO()
    Image.new(mode, size, color).save(out, "PNG")
    return out.getvalue()


# --- the same bytes as bale pack

@pytest.mark.parametrize("format_name,layout", ALL_LAYOUTS)
def test_the_bytes_of_bale_pack(bale, photos, tmp_path, format_name, layout):
    """Of the same images in the same order, in every layout."""
    sized = {} if (format_name, layout) in LAYOUTS else {"size": 16}
    options = {"format": format_name, "layout": layout, "name": "x", "shard_samples": 13, **sized}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    bale.pack(photos, tmp_path / "packed", *flags)
    classes = package.Dataset(tmp_path / "packed").classes
    with package.Writer(tmp_path / "written", classes=classes, **options) as writer:
        for key, image, label in images_in_order(photos):
            writer.add(key, {"jpg" if not key.endswith("png") else "png": image}, label)
    packed, written = (tree_bytes(tmp_path / name, ignore=["manifest.json"]) for name in ("packed", "written"))
    assert written == packed
    manifests = [json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("packed", "written")]
    for manifest in manifests:
        for member in ("plan", "checksum"):
            manifest.pop(member, None)
    assert manifests[0] == manifests[1]
    assert bale.ok("verify", tmp_path / "written")


# --- values

def test_values(tmp_path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for number, (name, value, expected) in enumerate([
            ("txt", "Grüße", "Grüße".encode()), ("bin", b"\0\xff", b"\0\xff"), ("bin", bytearray(b"ab"), b"ab"),
            ("bin", memoryview(b"abcd")[::2], b"ac"), ("bin", b"", b""), ("txt", 17, b"17"), ("txt", 0.1, b"0.1"),
            ("txt", np.int64(-3), b"-3"), ("json", {"a": [1, None, "ü"]}, '{"a": [1, null, "ü"]}'.encode()),
            ("json", [np.float32(0.5), np.arange(2)], b"[0.5, [0, 1]]"), ("json", '{"a":1}', b'{"a":1}'),
            ("meta.json", 3, b"3"), ("json", None, b"null")]):
        assert _written(tmp_path / f"v{number}", name, value) == expected, (name, value)
    for number, value in enumerate([array, np.float32(0.5), 0.5, 7]):
        read = np.load(io.BytesIO(_written(tmp_path / f"npy{number}", "mask.npy", value)))
        assert np.array_equal(read, value) and read.dtype == np.asarray(value).dtype


def test_pixels_and_images(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (7, 9, 3), np.uint8)
    for number, value in enumerate([pixels, pixels[:, :, 0], pixels[:, :, :1], Image.fromarray(pixels)]):
        read = Image.open(io.BytesIO(_written(tmp_path / f"p{number}", "png", value)))
        assert np.array_equal(np.asarray(read), np.squeeze(np.asarray(value))), number
    # A file that Pillow has opened and not decoded is stored as it is.
    file = tmp_path / "x.jpg"
    Image.fromarray(pixels).save(file, quality=40)
    with Image.open(file) as image:
        assert _written(tmp_path / "as-it-is", "jpg", image) == file.read_bytes()
    with Image.open(io.BytesIO(file.read_bytes())) as image:
        assert _written(tmp_path / "from-memory", "jpg", image) == file.read_bytes()
    with Image.open(file) as image, pytest.warns(UserWarning, match="decoded JPEG is encoded again, with quality 80"):
        image.load()
        again = _written(tmp_path / "again", "jpg", image, jpeg_quality=80)
    assert again != file.read_bytes() and Image.open(io.BytesIO(again)).size == (9, 7)
    with Image.open(file) as image:
        image.putpixel((0, 0), (1, 2, 3))
        assert Image.open(io.BytesIO(_written(tmp_path / "changed", "png", image))).getpixel((0, 0)) == (1, 2, 3)
    with Image.open(file) as image, pytest.warns(UserWarning, match="encoded again"):
        image.draft("L", (4, 3))
        assert Image.open(io.BytesIO(_written(tmp_path / "draft", "jpg", image))).mode == "L"
    for frames in [Image.fromarray(255 - pixels)], []:  # as cameras write them
        Image.fromarray(pixels).save(file, "MPO", quality=40, save_all=True, append_images=frames)
        with Image.open(file) as image:
            assert _written(tmp_path / f"{image.format}-{len(frames)}", "jpg", image) == file.read_bytes()
    # Files of which readers take the first frame.
    for name in "tif", "png":
        frames = io.BytesIO()
        Image.fromarray(pixels).save(frames, {"tif": "TIFF", "png": "PNG"}[name], save_all=True, append_images=[Image.fromarray(255 - pixels)])
        with Image.open(frames) as image:
            image.seek(1)
            read = Image.open(io.BytesIO(_written(tmp_path / f"second-{name}", name, image)))
            assert np.array_equal(np.asarray(read.convert("RGB")), 255 - pixels), name


@pytest.mark.parametrize("name,value,words", [
    ("bin", {"a": 1}, "use a json field"), ("bin", None, "use a json field"), ("bin", object(), "type object"),
    ("bin", np.zeros(3), "type ndarray: use bytes"), ("png", np.zeros((3, 4, 5), np.uint8), "uint8 array"),
    ("png", np.zeros((4, 4), np.float32), "uint8 array of shape"), ("json", {1, 2}, "cannot be JSON$"),
    ("json", [1, Image.new("L", (1, 1))], "Image cannot be JSON; give it a field of its own"),
    ("json", {"boxes": SimpleNamespace(format=SimpleNamespace(value="XYWH"), canvas_size=(1, 1), tolist=list)}, "in the format XYWH"),
    ("npy", np.array([None]), "allow_pickle"), ("bin", Image.new("L", (1, 1)), "to store an image"),
    ("jpg", Image.new("RGBA", (1, 1)), "Pillow cannot write an image of mode RGBA as JPEG"),
    ("webp", Image.new("I;16", (1, 1), 300), "WEBP cannot hold these pixels of mode I;16; name the field tiff"),
    ("webp", Image.new("F", (1, 1), 0.5), "WEBP cannot hold"), ("pgm", Image.new("I", (1, 1), 70000), "PPM cannot hold"),
    ("png", Image.new("I", (1, 1), -1), "PNG cannot hold"), ("ppm", np.zeros((1, 1, 4), np.uint8), "PPM cannot hold")])
def test_values_that_a_field_cannot_hold(tmp_path, name, value, words):
    with bale.Writer(tmp_path / "out") as writer:
        with pytest.raises((TypeError, ValueError), match=words):
            writer.add("a", {name: value})
        assert writer.add("a", {"txt": "fine"}) == 0


def test_labels(tmp_path):
    with bale.Writer(tmp_path / "out", classes=["cat", "dog"]) as writer:
        for i, label in enumerate(["dog", 0, np.int64(1), None]):
            writer.add(str(i), {"ppm": PPM}, label=label)
        for label, kind in [("cow", ValueError), (2, ValueError), (-1, ValueError), (0.5, TypeError), (True, TypeError),
                            (1 << 63, ValueError), (-1 << 63, ValueError), (np.uint64(1 << 63), ValueError)]:
            with pytest.raises(kind):
                writer.add("no", {"ppm": PPM}, label=label)
        with pytest.raises(ValueError, match="label -1 of 2 classes.*in Python it is None"):  # of STL10's unlabeled images
            writer.add("no", {"ppm": PPM}, label=-1)
        for key, name, words in [(5, "txt", "key: 5 is not a str"), ("no", 5, "name of a field is a str, not 5")]:
            with pytest.raises(TypeError, match=words):
                writer.add(key, {name: b"x"})
        for text in ("dog", 0.5, b"1,2"):  # would be a sample without a label
            with pytest.raises(ValueError, match='the field "cls" is .* not a whole number'):
                writer.add("no", {"ppm": PPM, "cls": text})
        writer.add("4", {"ppm": PPM, "cls": b" 1\n"})
        writer.add("5", {"ppm": PPM, "cls": b""})
    dataset = bale.Dataset(tmp_path / "out")
    assert [dataset.label(i) for i in range(6)] == [1, 0, 1, None, 1, None]
    assert dataset.classes == ["cat", "dog"] and dataset[0]["cls"] == b"1"


def test_keys(tmp_path):
    keys = ["a/b/c", "x.y", "100%", "__reserved__", "déjà vu", "a/.hidden"]
    for format_name in ("tar", "lmdb", "tfrecord"):
        with bale.Writer(tmp_path / format_name, format=format_name) as writer:
            for key in keys:
                writer.add(key, {"txt": key})
            assert all(key in writer for key in keys) and "z" not in writer and 3 not in writer
        assert [sample["txt"].decode() for sample in map(bale.Dataset(tmp_path / format_name).__getitem__, range(6))] == keys


# --- readers of others

def test_webdataset_reads_it(bale, tmp_path):
    images = [png((i, 2 * i, 0)) for i in range(30)]
    with package.Writer(tmp_path / "out", name="x", shard_samples=11, sidecars="wds2idx", compress="zstd") as writer:
        for i, image in enumerate(images):
            writer.add(f"{i:05d}", {"png": image, "txt": f"text {i}"}, label=i % 3)
    with package.Writer(tmp_path / "plain", name="x", shard_samples=11) as writer:
        for i, image in enumerate(images):
            writer.add(f"{i:05d}", {"png": image, "json": {"i": i}}, label=i % 3)
    found = list(webdataset.WebDataset(str(tmp_path / "plain" / "x-{000000..000002}.tar"), shardshuffle=False).decode())
    assert [(sample["__key__"], sample["json"], sample["cls"]) for sample in found] == \
        [(f"{i:05d}", {"i": i}, i % 3) for i in range(30)]
    assert (tmp_path / "out" / "x-000000.idx").exists()
    assert package.Dataset(tmp_path / "out")[7]["txt"] == b"text 7"
    bale.ok("verify", tmp_path / "out", "--decode")


def test_h5py_and_lmdb_read_it(tmp_path):
    import h5py
    import lmdb

    for format_name in ("hdf5", "lmdb"):
        with bale.Writer(tmp_path / format_name, format=format_name, name="x") as writer:
            for i in range(9):
                writer.add(f"{i}", {"ppm": PPM + bytes([i])}, label=i)
    with h5py.File(next((tmp_path / "hdf5").glob("*.h5"))) as file:
        sets = []
        file.visititems(lambda _, item: sets.append(item) if isinstance(item, h5py.Dataset) and len(item.shape) == 1 else None)
        assert any(len(item) == 9 for item in sets)
    env = lmdb.open(str(next(path for path in shards(tmp_path / "lmdb"))), subdir=False, readonly=True, lock=False)
    with env.begin() as transaction:
        values = [bytes(value) for _, value in transaction.cursor()]
    assert sum(value.startswith(PPM) for value in values) == 9


# --- destinations, states, ends

def test_what_is_in_the_way(tmp_path):
    out = tmp_path / "out"
    with bale.Writer(out) as writer:
        writer.add("a", {"txt": "old"})
        with pytest.raises(bale.Error, match="a Writer of this program") as caught:
            bale.Writer(out, resume=True)
        assert caught.value.code == "retryable"
    with pytest.raises(bale.Error, match="holds a packed dataset") as caught:
        bale.Writer(out)
    assert caught.value.code == "exists"
    with pytest.raises(bale.Error, match="complete"), bale.Writer(out, resume=True) as writer:
        assert writer.count == 1 and "a" in writer
        writer.add("b", {"txt": "more"})
    with pytest.raises(KeyboardInterrupt), bale.Writer(out, overwrite=True) as writer:
        writer.add("b", {"txt": "new"})
        raise KeyboardInterrupt
    assert bale.Dataset(out)[0] == {"txt": b"old"}
    with bale.Writer(out, overwrite=True) as writer:
        writer.add("b", {"txt": "new"})
        assert bale.Dataset(out)[0] == {"txt": b"old"}
    assert bale.Dataset(out)[0] == {"txt": b"new"}
    assert not (out / ".bale-partial").exists()


def test_a_derived_name_replaces_no_other_dataset(bale, tiny, tmp_path):
    bale.pack(tiny, tmp_path / "out", "--name", "big")
    before = tree_bytes(tmp_path / "out")
    for name in ({}, {"name": "other"}):
        with pytest.raises(package.Error, match='holds the dataset "big"') as caught:
            package.Writer(tmp_path / "out", overwrite=True, **name)
        assert caught.value.code == "exists" and "`name` big" in caught.value.hint
        assert tree_bytes(tmp_path / "out") == before
    with package.Writer(tmp_path / "out", overwrite=True, name="big") as writer:
        writer.add("a", {"txt": "new"})
    assert package.Dataset(tmp_path / "out")[0] == {"txt": b"new"}


def test_options_that_changed_are_named(tmp_path):
    writer = bale.Writer(tmp_path / "out", shard_samples=4)
    writer.add("a", {"txt": "old"})
    writer.abandon()
    with pytest.raises(bale.Error, match="`shard_samples` from 4 to 5"):
        bale.Writer(tmp_path / "out", shard_samples=5, resume=True)
    with pytest.raises(bale.Error, match="classes from 0 to 1, `format` from tar.plain to lmdb.plain"):
        bale.Writer(tmp_path / "out", shard_samples=4, format="lmdb", classes=["x"], resume=True)


def test_states(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(RuntimeError, match="boom") as caught, bale.Writer(out, shard_samples=4) as writer:
        for i in range(6):
            writer.add(str(i), {"txt": i})
        state = json.loads(json.dumps(writer.state()))
        writer.add("6", {"txt": 6})
        raise RuntimeError("boom")
    assert state["count"] == 6
    assert "7 samples are kept" in caught.value.__notes__[0] and "resume=True" in caught.value.__notes__[0]
    assert not (out / "manifest.json").exists()
    with pytest.raises(bale.Error, match=r"unfinished.*bale\.Writer\(\.\.\., resume=True\)"):
        bale.Dataset(out)
    with pytest.raises(ValueError, match="7 samples are there, and the state is of 8"):
        bale.Writer(out, shard_samples=4, resume={**state, "count": 8})
    with pytest.raises(ValueError, match="not a state"):
        bale.Writer(out, shard_samples=4, resume={"epoch": 8})
    with pytest.raises(bale.Error, match="other files or options"):
        bale.Writer(out, shard_samples=5, resume=True)
    with bale.Writer(out, shard_samples=4, resume=state) as writer:
        assert len(writer) == 7
        with pytest.raises(ValueError, match="sample 7 has the same key as sample 1 of out-000000.tar"):
            writer.add("1", {"txt": 1})
        with pytest.raises(ValueError, match="sample 7 has the same key as sample 5"):
            writer.add("5", {"txt": 5})
        writer.add("7", {"txt": 7})
    assert writer.report["samples"] == 8 and writer.report["resumed_shards"] == 1
    assert writer.close() is writer.report
    assert [sample["txt"] for sample in map(bale.Dataset(out).__getitem__, range(8))] == [b"%d" % i for i in range(8)]


def test_the_next_writer_of_the_program_continues(tmp_path):
    """As in a notebook, where the failed Writer still has its name."""
    out = tmp_path / "out"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(bale.Error, match="File too large") as caught, bale.Writer(out, shard_samples=4, jobs=1) as failed:
            for i in range(4):
                failed.add(str(i), {"txt": "x" * i})
            assert failed.state()["count"] == 4
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
            for i in range(4, 50):
                failed.add(str(i), {"txt": "x" * 10_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    note = caught.value.__notes__[0]
    assert "not all samples could be kept" in note and "; 4 samples are kept" in note and "resume=True" in note
    writer = bale.Writer(out, shard_samples=4, resume=True)
    assert len(writer) >= 4
    with pytest.raises(bale.errors.RetryableError, match=r"a Writer of this program .* abandon\(\)"):
        bale.Writer(out, shard_samples=4, resume=True)
    writer.close()


def test_no_samples(tmp_path):
    with pytest.raises(ValueError, match="no sample was added"), bale.Writer(tmp_path / "out"):
        pass
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options,words", [
    ({"resume": True, "overwrite": True}, "exclude"), ({"shard_size": "x"}, "shard_size"), ({"compress": "gzip"}, "compress"),
    ({"shard_size": 5, "shard_samples": 5}, "exclude"), ({"classes": ["a", "a"]}, "twice"), ({"jobs": 0}, "jobs"),
    ({"format": "zip"}, "zip"), ({"on_error": "quarantine"}, "quarantine"), ({"size": 8}, "size"), ({"jpeg_quality": 0}, "quality"),
    ({"name": "a/b"}, "name"), ({"sidecars": "what"}, "what"), ({"quality": 80}, "quality")])
def test_options_that_make_no_sense(tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        bale.Writer(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_bad_images(tmp_path):
    with bale.Writer(tmp_path / "fail") as writer:
        with pytest.raises(bale.Error, match="not an image") as caught:
            writer.add("bad", {"jpg": b"no image"})
        assert caught.value.code == "damaged" and caught.value.key == "bad"
        writer.add("good", {"ppm": PPM})
    with bale.Writer(tmp_path / "skip", on_error="skip") as writer:
        for i in range(3):
            writer.add(str(i), {"jpg": b"no image" if i == 1 else PPM})
    assert writer.report["samples"] == 2
    assert writer.report["skipped"] == [{"origin": 'sample 1 "1"', "why": writer.report["skipped"][0]["why"]}]
    # What a decoder finds only when the shard is written stops the Writer; it can be resumed without that sample.
    cut = png((1, 2, 3))[:40]
    with pytest.raises(bale.Error, match='sample 1 "1"'), \
            bale.Writer(tmp_path / "late", format="hdf5", layout="array", size=8) as writer:
        for i in range(3):
            writer.add(str(i), {"png": cut if i == 1 else png((1, 2, 3))})
    with bale.Writer(tmp_path / "late", format="hdf5", layout="array", size=8, resume=True, on_error="skip") as writer:
        assert writer.count == 3
    assert writer.report["samples"] == 2 and len(bale.Dataset(tmp_path / "late")) == 2


# --- threads, processes, signals

def test_threads(tmp_path):
    with bale.Writer(tmp_path / "out", shard_samples=17, jobs=2, memory_bytes="8MiB") as writer:
        def work(thread):
            for i in range(100):
                writer.add(f"{thread}/{i}", {"txt": f"{thread} {i}"})
                if i % 40 == thread:
                    writer.state()
        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    dataset = bale.Dataset(tmp_path / "out")
    assert sorted(dataset.keys) == sorted(f"{thread}/{i}" for thread in range(4) for i in range(100))
    assert all(dataset[i]["txt"].decode() == dataset.keys[i].replace("/", " ") for i in range(400))


def test_forks(tmp_path):
    run_script("""
        import os, sys
        import bale
        with bale.Writer(sys.argv[1]) as writer:
            writer.add("a", {"txt": "a"})
            child = os.fork()
            if child == 0:
                try:
                    writer.add("b", {"txt": "b"})
                except bale.Error as error:
                    assert "process that forked" in str(error), error
                    sys.exit(7)  # leaves the block, and must not end the parent's run
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            writer.add("c", {"txt": "c"})
        assert list(bale.Dataset(sys.argv[1]).keys) == ["a", "c"]
        """, tmp_path / "out")


def test_a_writer_stays_in_its_process(tmp_path):
    with bale.Writer(tmp_path / "out") as writer:
        writer.add("a", {"txt": "a"})
        for copies in (pickle.dumps, copy.copy):
            with pytest.raises(TypeError, match="a Writer belongs to its process and cannot be pickled; make one in each process"):
                copies(writer)


def test_a_writer_that_nobody_closes(tmp_path):
    run_script("""
        import sys
        import bale
        writer = bale.Writer(sys.argv[1])
        writer.add("a", {"txt": "a"})
        """, tmp_path / "out")
    with bale.Writer(tmp_path / "out", resume=True) as writer:
        assert writer.count == 1


def test_ctrl_c_while_it_waits(tmp_path):
    """A disk that hangs: add() waits for a shard, and Ctrl-C ends it; the samples are kept."""
    script = """
        import sys
        import bale
        try:
            with bale.Writer(sys.argv[1], shard_samples=3, jobs=1) as writer:
                for i in range(1000):
                    writer.add(str(i), {"txt": "x" * 1000})
                    if i == 5:
                        print("waits soon", flush=True)
        except KeyboardInterrupt as error:
            print(error.__notes__[0])
        """
    run = subprocess.Popen(command(script, tmp_path / "out"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**ENVIRONMENT, **shim(DELAY_MS=40, BELOW=tmp_path / "out")})
    assert run.stdout.readline() == "waits soon\n"
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 0, err
    kept = int(out.partition("written; ")[2].split()[0])
    assert kept >= 6
    with bale.Writer(tmp_path / "out", shard_samples=3, resume=True) as writer:
        assert writer.count == kept


def test_memory_is_bounded(tmp_path):
    """300 MB in one shard, with 16 MiB for what waits."""
    run_script("""
        import resource, sys
        import bale
        block = bytes(1 << 20)
        with bale.Writer(sys.argv[1], shard_size="1GiB", memory_bytes="16MiB") as writer:
            writer.add("first", {"bin": block})
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for i in range(300):
                writer.add(str(i), {"bin": block})
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            assert grown < 64 << 10, grown
        assert writer.report["samples"] == 301
        """, tmp_path / "out")
