"""`bale pack` of MNIST's idx files and of the binary CIFAR archives: the same pixels and labels, without unpacking them."""
import gzip
import io
import struct
import tarfile

import numpy as np
import pytest
from conftest import fields_by_key
from PIL import Image


def idx(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def mnist(folder, compressed=True, prefixes=("train", "t10k"), sides=(28, 28)):
    folder.mkdir(parents=True)
    made = {}
    for number, prefix in enumerate(prefixes):
        draw = np.random.default_rng(number)
        images = draw.integers(0, 256, (7 + number, *sides), dtype=np.uint8)
        labels = draw.integers(0, 10, 7 + number, dtype=np.uint8)
        for name, array in ((f"{prefix}-images-idx3-ubyte", images), (f"{prefix}-labels-idx1-ubyte", labels)):
            content = idx(array)
            (folder / (name + ".gz" * compressed)).write_bytes(gzip.compress(content) if compressed else content)
        made["test" if prefix == "t10k" else prefix] = images, labels
    return made


def assert_packed(bale, path, made, mode):
    """Every sample has the pixels and the label of its row."""
    got = fields_by_key(bale, path)
    assert len(got) == sum(len(labels) for _, labels in made.values())
    for prefix, (images, labels) in made.items():
        for i, (image, label) in enumerate(zip(images, labels)):
            fields = got[f"{prefix}/{i:05}"]
            stored = Image.open(io.BytesIO(fields["png"]))
            assert stored.mode == mode and np.array_equal(np.asarray(stored), image) and fields["cls"] == b"%d" % label
    bale.ok("verify", path, "--decode")


@pytest.mark.parametrize("compressed", [True, False])
def test_mnist(bale, tmp_path, compressed):
    made = mnist(tmp_path / "raw", compressed)
    bale.ok("pack", tmp_path / "raw", tmp_path / "p")
    assert_packed(bale, tmp_path / "p", made, "L")
    names = tmp_path / "names.txt"
    names.write_text("".join(f"class {i}\n" for i in "abcdefghij"))
    bale.ok("pack", tmp_path / "raw", tmp_path / "q", "--class-map", names, "--include", "train/*", "--format", "lmdb")
    assert_packed(bale, tmp_path / "q", {"train": made["train"]}, "L")
    assert "class a" in bale.ok("inspect", tmp_path / "q", "--json").out


def test_files_that_were_unpacked_next_to_their_archives(bale, tmp_path):
    made = mnist(tmp_path / "raw", True, ("emnist-letters-train", "emnist-letters-test"), (5, 9))
    for path in list((tmp_path / "raw").iterdir()):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
    bale.ok("pack", tmp_path / "raw", tmp_path / "p")
    assert_packed(bale, tmp_path / "p", made, "L")


@pytest.mark.parametrize("change, says", [
    (lambda data: data[:-1], "not what its header says"), (lambda data: data + b"x", "not what its header says"),
    (lambda data: data[:10], "shorter than the header"), (lambda data: b"\1" + data[1:], "not an idx file"),
    (lambda data: data[:2] + b"\x0d" + data[3:], "unsigned bytes"), (lambda data: data[:3] + b"\1" + data[4:], "dimensions"),
    (lambda data: data[:4] + b"\xff" * 12 + data[16:], "not what its header says"), (lambda data: b"", "shorter"),
])
def test_damaged_idx_files(bale, tmp_path, change, says):
    mnist(tmp_path / "raw", False)
    path = tmp_path / "raw" / "t10k-images-idx3-ubyte"
    path.write_bytes(change(path.read_bytes()))
    result = bale("pack", tmp_path / "raw", tmp_path / "p")
    assert result.code == 1 and says in result.error_line() and str(path) in result.error_line()


def test_damaged_gzip_and_missing_labels(bale, tmp_path):
    mnist(tmp_path / "raw")
    path = tmp_path / "raw" / "train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    for content in (whole[:-9], whole[:100], whole[:50] + b"\xff\xff" + whole[52:]):
        path.write_bytes(content)
        result = bale("pack", tmp_path / "raw", tmp_path / "p")
        assert result.code == 1 and "gzip" in result.error_line() and str(path) in result.error_line()
    path.write_bytes(whole)
    (tmp_path / "raw" / "train-labels-idx1-ubyte.gz").unlink()
    result = bale("pack", tmp_path / "raw", tmp_path / "p")
    assert result.code == 1 and "train-labels-idx1-ubyte.gz" in result.error_line()


def cifar(path, files, names):
    made = {}
    with tarfile.open(path, "w:gz") as archive:
        def add(name, content):
            member = tarfile.TarInfo(f"cifar-batches-bin/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for number, (file, prefix, num_labels) in enumerate(files):
            draw = np.random.default_rng(number)
            pixels = draw.integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
            labels = draw.integers(0, 10, (6, num_labels), dtype=np.uint8)
            add(file, np.concatenate([labels, pixels.reshape(6, -1)], axis=1).tobytes())
            made.setdefault(prefix, []).append((pixels.transpose(0, 2, 3, 1), labels))
        for name, lines in names.items():
            add(name, lines)
        add("readme.html", b"<html>")
    return {prefix: tuple(np.concatenate(parts) for parts in zip(*batches)) for prefix, batches in made.items()}


CIFAR10 = [(f"data_batch_{i}.bin", "train", 1) for i in range(1, 6)] + [("test_batch.bin", "test", 1)]


def test_cifar_10(bale, tmp_path):
    archive = tmp_path / "cifar-10-binary.tar.gz"
    made = cifar(archive, CIFAR10, {"batches.meta.txt": b"".join(b"name %d\n" % i for i in range(10)) + b"\n"})
    bale.ok("pack", archive, tmp_path / "p")
    assert_packed(bale, tmp_path / "p", {prefix: (images, labels[:, 0]) for prefix, (images, labels) in made.items()}, "RGB")
    assert "name 9" in bale.ok("inspect", tmp_path / "p", "--json").out
    cifar(archive, CIFAR10, {"batches.meta.txt": "cat\nMöwe\n".encode("latin-1")})
    result = bale("pack", archive, tmp_path / "q")
    assert result.code == 2 and 'batches.meta.txt: line 2: "M\\xf6we" is not UTF-8' in result.error_line(), result


def test_cifar_100(bale, tmp_path):
    archive = tmp_path / "cifar-100-binary.tar.gz"
    names = {"fine_label_names.txt": b"".join(b"fine %d\n" % i for i in range(100)), "coarse_label_names.txt": b"c\n"}
    made = cifar(archive, [("train.bin", "train", 2), ("test.bin", "test", 2)], names)
    bale.ok("pack", archive, tmp_path / "p")
    assert_packed(bale, tmp_path / "p", {prefix: (images, labels[:, 1]) for prefix, (images, labels) in made.items()}, "RGB")
    fields = fields_by_key(bale, tmp_path / "p")
    for prefix, (_, labels) in made.items():
        assert [fields[f"{prefix}/{i:05}"]["coarse.txt"] for i in range(6)] == [b"%d" % c for c in labels[:, 0]]


def test_archives_that_are_refused(bale, tmp_path):
    archive = tmp_path / "cifar-10-python.tar.gz"
    cifar(archive, CIFAR10, {})
    result = bale("pack", archive, tmp_path / "p")
    assert result.code == 1 and "pickles" in result.error_line() and "binary version" in result.error_line()
    for files, words in ((["data_batch_1", "batches.meta"], "pickles"), (["train", "test", "meta"], "pickles"),
                         (["data_batch_1.bin"], "name the archive itself")):
        folder = tmp_path / files[0] / "cifar-batches"
        folder.mkdir(parents=True)
        for name in files:
            (folder / name).write_bytes(b"x")
        result = bale("pack", folder, tmp_path / "packed")
        assert result.code == 1 and f"{folder}: " in result.error_line() and words in result.error_line()
    archive = tmp_path / "cifar-10-binary.tar.gz"
    cifar(archive, CIFAR10[1:], {})
    result = bale("pack", archive, tmp_path / "p")
    assert result.code == 1 and "no data_batch_1.bin" in result.error_line()
    archive.write_bytes(archive.read_bytes()[:-2000])
    assert bale("pack", archive, tmp_path / "p").code == 1
