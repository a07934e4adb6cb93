"""bale.Dataset.read_many: what read_image and read_field return, many samples at a time."""
import mmap
import multiprocessing

import numpy as np
import pytest
from conftest import LAYOUTS, flip

import bale as bl


@pytest.fixture(scope="module")
def packs(bale, photos, tmp_path_factory):
    root = tmp_path_factory.mktemp("packs")
    for name, layout in LAYOUTS:
        bale.pack(photos, root / f"{name}.{layout}", "--format", name, "--layout", layout, "--shard-samples", "15")
    bale.pack(photos, root / "compressed", "--shard-samples", "15", "--compress", "zstd")
    return root


@pytest.fixture(scope="module")
def pack(packs):
    return packs / "{}.{}".format(*LAYOUTS[0])


POSITIONS = [39, 0, 0, -1, *range(5, 38), np.int64(20)]


@pytest.mark.parametrize("threads", [0, 1, 7])
@pytest.mark.parametrize("name", [*(f"{name}.{layout}" for name, layout in LAYOUTS), "compressed"])
def test_it_is_what_single_reads_return(packs, name, threads):
    dataset = bl.Dataset(packs / name)
    expected = [dataset.read_image(i) for i in POSITIONS]
    assert dataset.read_many(POSITIONS, threads=threads) == expected
    assert dataset.read_many(iter(POSITIONS), threads=threads) == expected
    out = bytearray(sum(map(len, expected)) + 100)
    assert dataset.read_many(POSITIONS, out=out, threads=threads) == expected
    assert bytes(out).startswith(b"".join(expected)) and bytes(out[-100:]) == bytes(100)
    labels = [dataset.read_field(i, "cls") for i in POSITIONS]
    assert dataset.read_many(POSITIONS, "cls", threads=threads) == labels
    assert dataset.read_many(POSITIONS, "cls", threads=threads, out=bytearray(1000)) == labels


def test_memory_of_any_kind(pack):
    dataset = bl.Dataset(pack)
    expected = [dataset.read_image(i) for i in range(3)]
    size = sum(map(len, expected))
    with mmap.mmap(-1, size) as mapped:
        views = dataset.read_many(range(3), out=mapped)
        assert views == expected
        for view in views:
            view.release()
        del views, view
    array = np.zeros((2, size), dtype=np.int64)
    views = dataset.read_many(range(3), out=array)
    assert views == expected and array.tobytes().startswith(expected[0])
    with pytest.raises((BufferError, TypeError, ValueError)):
        dataset.read_many(range(3), out=bytes(size))
    with pytest.raises(ValueError, match=f"out has {size - 1} bytes, and these samples need {size}"):
        dataset.read_many(range(3), out=bytearray(size - 1))


def test_nothing_to_read(pack):
    dataset = bl.Dataset(pack)
    assert dataset.read_many([]) == [] and dataset.read_many(iter(()), out=bytearray()) == []


def test_errors(pack, fresh_copy):
    dataset = bl.Dataset(pack)
    for outside in (40, -41, 1 << 70):
        with pytest.raises(IndexError):
            dataset.read_many([0, outside])
    with pytest.raises(TypeError):
        dataset.read_many(["0"])
    with pytest.raises(ValueError, match="threads"):
        dataset.read_many([0], threads=-1)
    with pytest.raises(KeyError) as caught:
        dataset.read_many(range(40), "nope")
    assert isinstance(caught.value, bl.Error) and caught.value.key
    copy = fresh_copy(pack)
    image = dataset.read_image(23)
    shard = next(p for p in sorted(copy.iterdir()) if image in p.read_bytes())
    flip(shard, shard.read_bytes().find(image) + 100)
    for out in (None, bytearray(1 << 22)):
        with pytest.raises(bl.Error) as caught:
            bl.Dataset(copy).read_many(range(40), out=out)
        assert caught.value.code == "damaged" and caught.value.key == dataset.key(23)


def in_child(connection, dataset):
    connection.send(sum(map(len, dataset.read_many(range(40)))))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(pack, method):
    dataset = bl.Dataset(pack)
    expected = sum(map(len, dataset.read_many(range(40))))
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    child = context.Process(target=in_child, args=(there, dataset))
    child.start()
    assert here.recv() == expected
    child.join()
    assert child.exitcode == 0
