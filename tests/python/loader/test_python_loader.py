"""bale.Loader: the C++ loader's batches as numpy arrays, without a copy, and the manners of a Python iterable."""
import gc
import io
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import BUILD
from PIL import Image
from python_support import is_gone, worker_pids

import bale as bl
from bale import transforms

PACK_OPTIONS = ["--shard-samples", "15"]
SIZE = 32


def small(pack, batch_size=16, **options):
    return bl.Loader(pack, batch_size, **{"workers": 2, "seed": 5, "transform": transforms.train(SIZE), **options})


def contents(batches):
    """Copies of what tells batches apart."""
    return [(b.epoch, b.index, b.samples.tolist(), b.labels.tolist(), b.mask.tolist(), b.images.tobytes()) for b in batches]


def test_the_stream_is_that_of_cpp(pack):
    expected = subprocess.run([BUILD / "tests" / "bale_stream_tool", pack, BUILD / "bin" / "bale-worker"],
                              capture_output=True, check=True).stdout
    with small(pack, rank=1, world_size=2, tail="uneven") as loader:
        found = b"".join(array.tobytes() for _ in range(2) for b in loader for array in (b.samples, b.labels, b.mask, b.images))
    assert len(found) == 2 * 20 * (8 + 8 + 1 + SIZE * SIZE * 3) and found == expected


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 3}, {"workers": 2, "threads": True}, {"prefetch": 2},
                                     {"reading": bl.Reading(persistent_workers=False)}, {"reading": bl.Reading(read_ahead_bytes=0)},
                                     {"reading": bl.Reading(large_transfers=True)}, {"reading": bl.Reading(seek_point_cache_bytes=1 << 20)}, {"reading": bl.Reading(direct_io=True)}], ids=str)
def test_workers_do_not_change_it(pack, options):
    with small(pack) as loader, small(pack, **options) as other:
        for _ in range(2):
            assert contents(loader) == contents(other)


def test_batches_unpack_and_have_shapes(pack):
    with small(pack, shuffle=False, tail="pad") as loader:
        assert len(loader) == 3 and loader.batch_size == 16 and len(loader.dataset) == 40
        for images, labels in loader:
            assert images.shape == (len(labels), SIZE, SIZE, 3) and images.dtype == np.uint8
            assert labels.dtype == np.int64
        samples = [s for b in loader for s in b.samples.tolist()]
    assert samples == list(range(40))


DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}


def as_float32(images, dtype):
    return (images.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else images.astype(np.float32)


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_layouts(pack, dtype, layout):
    """The same picture in each, within the type's precision."""
    normalize = dtype != "uint8"
    options = {"shuffle": False, "batch_size": 8, "workers": 0}
    with small(pack, transform=transforms.val((24, 40)), **options) as loader:
        plain = next(iter(loader)).images.astype(np.float32)
    with small(pack, transform=transforms.val((24, 40), dtype=dtype, layout=layout, normalize=normalize),
               **options) as loader:
        images = next(iter(loader)).images
        assert images.dtype == DTYPES[dtype] and images.shape == ((8, 3, 24, 40) if layout == "nchw" else (8, 24, 40, 3))
        images = as_float32(images, dtype)
        if layout == "nchw":
            images = images.transpose(0, 2, 3, 1)
    if normalize:
        plain = (plain / 255 - np.float32(transforms.IMAGENET_MEAN)) / np.float32(transforms.IMAGENET_STD)
    assert np.abs(images - plain).max() <= {"uint8": 0, "float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5}[dtype]


def test_transforms_without_a_fixed_shape(pack):
    dataset = bl.Dataset(pack)
    with small(pack, 5, shuffle=False, transform=transforms.raw()) as loader:
        stored = [image.tobytes() for batch in loader for image in batch.images]
    assert stored == [dataset.read_image(i) for i in range(40)]
    with small(pack, 5, shuffle=False, transform=transforms.ragged()) as loader:
        shapes = {image.shape for batch in loader for image in batch.images}
    assert all(len(shape) == 3 and shape[2] == 3 for shape in shapes)
    with small(pack, 5, shuffle=False, transform=transforms.padded(100)) as loader:
        assert next(iter(loader)).images.shape == (5, 100, 100, 3)


def test_draws(pack):
    """What was drawn for each row, in words; tests/python/pytorch/test_python_training.py replays it."""
    transform = transforms.train(SIZE, jitter=(0.4, 0, 0.4, 0.1), gray=0.3)
    draws = []
    with small(pack, 7, transform=transform, tail="uneven", world_size=3, rank=2) as loader:
        for batch in loader:
            for i, counts in enumerate(batch.mask):
                draw = batch.draw(i)
                assert (draw is not None) == counts
                if draw:
                    stored = io.BytesIO(loader.dataset.read_image(batch.samples[i]))
                    assert draw["source"] == Image.open(stored).size
                    draws.append(draw)
            with pytest.raises(IndexError):
                batch.draw(len(batch))
    assert len(draws) == 13
    for draw in draws:
        x, y, width, height = draw["crop"]
        assert width > 0 < height and x + width <= draw["source"][0] and y + height <= draw["source"][1]
        assert {name for name, _ in draw["jitter"]} == {"brightness", "saturation", "hue"}
        assert all(abs(factor - (name != "hue")) <= 0.4 for name, factor in draw["jitter"])
    assert {draw["flip"] for draw in draws} == {draw["gray"] for draw in draws} == {True, False}
    assert len({name for (name, _), *_ in (draw["jitter"] for draw in draws)}) > 1  # the order is drawn too


# --- memory


def ring_ranges():
    with open("/proc/self/maps") as maps:
        return [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in maps if re.search(r"memfd:.*bale", line)]


def test_arrays_lie_in_the_ring(pack):
    with small(pack) as loader:
        addresses = set()
        for _ in range(5):
            for batch in loader:
                for array in (batch.images, np.from_dlpack(batch)):
                    start = array.__array_interface__["data"][0]
                    assert any(low <= start and start + array.nbytes <= high for low, high in ring_ranges())
                for array in (batch.labels, batch.samples, batch.mask):  # kilobytes: copies, which keep no slot
                    start = array.__array_interface__["data"][0]
                    assert not any(low <= start < high for low, high in ring_ranges())
                assert np.from_dlpack(batch).__array_interface__["data"] == batch.images.__array_interface__["data"]
                addresses.add(batch.images.__array_interface__["data"][0])
        assert len(addresses) <= 4  # slots are used again


def test_a_view_keeps_its_slot(pack):
    with small(pack, 4, prefetch=3) as loader:
        iterator = iter(loader)
        corner = next(iterator).images[1:3, 4:9]  # of the first batch, all that is kept
        before = corner.copy()
        labels = next(iterator).labels
        kept_labels = labels.copy()
        for _ in range(5):
            next(iterator)
        gc.collect()
        assert np.array_equal(corner, before) and np.array_equal(labels, kept_labels)
        third = next(iterator)
        copied = next(iterator)  # the two that are kept leave the workers one slot only
        assert copied.is_copy and not third.is_copy
        addresses = ring_ranges()
        start = copied.images.__array_interface__["data"][0]
        assert not any(low <= start < high for low, high in addresses)
        del corner
        following = next(iterator)
        assert following.index == third.index + 2 and not following.is_copy


def test_views_outlive_the_loader(pack):
    loader = small(pack)
    batch = next(iter(loader))
    images, before = batch.images, batch.images.copy()
    loader.close()
    del loader, batch
    gc.collect()
    assert np.array_equal(images, before)


def test_memory_is_given_back(pack):
    """Loaders come and go: their rings too."""
    for _ in range(5):
        with small(pack, workers=1) as loader:
            images = next(iter(loader)).images
        del images, loader
    gc.collect()
    assert ring_ranges() == []


# --- epochs and states


def test_epochs(pack):
    with small(pack) as loader:
        first, second = contents(loader), contents(loader)
        assert loader.epoch == 2 and first != second
        loader.set_epoch(1)
        assert contents(loader) == second
        loader.set_epoch(0)
        assert contents(loader) == first
        assert sorted(s for batch in first for s, counts in zip(batch[2], batch[4]) if counts) == list(range(40))


def test_a_loop_that_broke_off_is_followed_by_the_next_epoch(pack):
    with small(pack) as loader:
        expected = contents(loader)
        loader.set_epoch(0)
        for _ in loader:
            break
        assert loader.epoch == 0
        loader.set_epoch(0)
        assert contents(loader) == expected
    with small(pack) as loader:
        old = iter(loader)
        next(old)
        fresh = iter(loader)
        with pytest.raises(RuntimeError, match="void"):
            next(old)
        assert [(batch.epoch, batch.index) for batch in fresh] == [(1, 0), (1, 1), (1, 2)]
        assert list(fresh) == []  # and goes on being at its end


def test_an_epoch_may_be_set_after_the_iterator_is_made(pack):
    """Lightning does: the iterator that has given nothing yet goes along; one that has is void."""
    with small(pack) as loader:
        loader.set_epoch(3)
        expected = contents(loader)
        iterator = iter(loader)
        loader.set_epoch(3)
        assert contents(iterator) == expected
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        rest = contents(iterator)
        iterator = iter(loader)
        loader.load_state_dict(state)
        loader.set_epoch(state["epoch"])
        assert [batch[2:] for batch in contents(iterator)] == [batch[2:] for batch in rest]
        iterator = iter(loader)
        next(iterator)
        loader.set_epoch(loader.epoch)
        with pytest.raises(RuntimeError, match="void"):
            next(iterator)


def test_trainers_that_count_to_len_never_see_the_end(pack):
    """They set the next epoch instead."""
    with small(pack) as loader:
        expected = contents(loader), contents(loader)
        for epoch in range(2):
            loader.set_epoch(epoch)
            iterator = iter(loader)
            assert contents(next(iterator) for _ in range(len(loader))) == expected[epoch]


@pytest.mark.parametrize("other", [{}, {"workers": 0}, {"batch_size": 7}], ids=str)
def test_resume_in_the_middle_of_an_epoch(pack, other):
    with small(pack, 4, tail="uneven") as loader:
        iterator = iter(loader)
        for _ in range(3):
            next(iterator)
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        rest = [sample for batch in iterator for sample in batch.samples.tolist()]
        next_epoch = [sample for batch in loader for sample in batch.samples.tolist()]
    with small(pack, **{"batch_size": 4, "tail": "uneven", **other}) as loader:
        length = len(loader)
        loader.load_state_dict(state)
        loader.set_epoch(state["epoch"])  # the usual loop does that
        assert len(loader) == length      # of a whole epoch: trainers plan all others by it
        assert [sample for batch in loader for sample in batch.samples.tolist()] == rest and len(rest) == 28
        assert [sample for batch in loader for sample in batch.samples.tolist()] == next_epoch


def test_resume_at_another_world_size(pack):
    def on(world_size, take, state=None):
        taken, loaders = [], []
        for rank in range(world_size):
            loader = small(pack, 4, workers=0, rank=rank, world_size=world_size, tail="uneven")
            if state:
                loader.load_state_dict(state)
            for step, batch in enumerate(loader):
                taken += batch.samples[batch.mask].tolist()
                if step + 1 == take:
                    break
            loaders.append(loader)
        states = [loader.state_dict() for loader in loaders]
        assert all(s == states[0] for s in states)
        return taken, states[0]

    before, state = on(2, take=2)
    after, _ = on(3, take=None, state=state)
    assert sorted(before + after) == list(range(40))


def test_a_state_of_something_else(pack):
    with small(pack, workers=0) as loader, small(pack, workers=0, seed=6) as other:
        with pytest.raises(ValueError, match="another dataset, selection, shuffle or seed"):
            other.load_state_dict(loader.state_dict())
        with pytest.raises(ValueError, match="not a state"):
            other.load_state_dict({"epoch": 1})


# --- options


def test_selections(pack):
    with small(pack, workers=0, order=bl.Order(subset=[3, 1, 4]), shuffle=False) as loader:
        assert [s for b in loader for s in b.samples.tolist()] == [3, 1, 4]
    with small(pack, workers=0, order=bl.Order(repeats=2), tail="uneven") as loader:
        assert sorted(s for b in loader for s in b.samples.tolist()) == sorted(list(range(40)) * 2)
    weights = [0.0] * 40
    weights[7] = weights[9] = 1.0
    with small(pack, workers=0, order=bl.Order(weights=np.array(weights), num_draws=24)) as loader:
        assert {s for b in loader for s in b.samples.tolist()} == {7, 9} and len(loader) == 2


def test_tails_and_shuffles(pack):
    with small(pack, workers=0, drop_last=True) as loader:
        assert len(loader) == 2 and [len(b) for b in loader] == [16, 16] and loader.drop_last
    with small(pack, 41, workers=0, drop_last=True) as loader:
        with pytest.warns(UserWarning, match="40 samples are less than a batch of 41"):
            assert list(loader) == []
    with small(pack, workers=0, tail="uneven", world_size=3, rank=2) as loader:
        masks = [b.mask for b in loader]
        assert masks[0].dtype == bool and sum(int(m.sum()) for m in masks) == 13
    with small(pack, workers=0, shuffle="block", order=bl.Order(block_samples=4, window_blocks=2), tail="uneven") as loader:
        assert sorted(s for b in loader for s in b.samples.tolist()) == list(range(40))


@pytest.mark.parametrize("options, word", [
    ({"tail": "half"}, "tail"), ({"shuffle": "maybe"}, "shuffle"), ({"on_bad_sample": "cry"}, "on_bad_sample"),
    ({"batch_size": 0}, "batch"), ({"prefetch": 1}, "prefetch"), ({"rank": 2, "world_size": 2}, "rank"),
    ({"drop_last": True, "tail": "uneven"}, "drop_last"), ({"order": bl.Order(weights=[1.0])}, "weights"),
    ({"order": bl.Order(subset=[40])}, "40"), ({"order": bl.Order(num_draws=4)}, "num_draws"), ({"order": bl.Order(repeats=0)}, "repeat")], ids=str)
def test_options_that_make_no_sense(pack, options, word):
    with pytest.raises(ValueError, match=word):
        small(pack, **options)


def test_threads_without_workers_are_told(pack):
    with pytest.warns(UserWarning, match="threads: no effect with workers=0"):
        bl.Loader(pack, 4, workers=0, threads=True, transform=bl.transforms.val(16))


@pytest.mark.parametrize("make", [
    lambda: transforms.train(0), lambda: transforms.train(scale=(2, 1)), lambda: transforms.train(jitter=(1, 1, 1, 2)),
    lambda: transforms.train(jitter=(-1, 0, 0, 0)), lambda: transforms.val(224, resize=100),
    lambda: transforms.train(dtype="int4"), lambda: transforms.train(normalize=True), lambda: transforms.train(layout="chw"),
    lambda: transforms.train(interpolation="cubic"), lambda: transforms.train(hflip=1.5),
    lambda: transforms.Compose([], shape="round")])
def test_transforms_that_make_no_sense(make):
    with pytest.raises(ValueError):
        make()


def test_transforms_are_values():
    transform = transforms.train((24, 32), jitter=(0.4, (0.5, 2), 0, 0.1), dtype="float32", normalize=True)
    assert pickle.loads(pickle.dumps(transform)) == transform != transforms.train()
    jitter = transform.transforms[2]
    assert jitter.brightness == (0.6, 1.4) and jitter.contrast == (0.5, 2) and jitter.hue == (-0.1, 0.1)
    assert repr(transforms.val(64)) == "Compose((Resize(73), CenterCrop((64, 64))))"


def test_bad_samples(bale, photos, tmp_path):
    import shutil
    folder = tmp_path / "in"
    shutil.copytree(photos, folder)
    broken = sorted(folder.rglob("*.JPEG"))[5]
    broken.write_bytes(b"\xff\xd8 no image at all")
    bale.pack(folder, tmp_path / "pack")
    key = str(broken.relative_to(folder).with_suffix(""))
    with small(tmp_path / "pack") as loader:
        with pytest.raises(bl.Error, match="on_bad_sample") as caught:
            for _ in loader:
                pass
        assert caught.value.code == "damaged" and [bad.key for bad in loader.bad_samples] == [key]
    with small(tmp_path / "pack", on_bad_sample="skip", tail="uneven") as loader:
        empty = [batch.images[~batch.mask].tobytes() for batch in loader]
        assert b"".join(empty) == bytes(SIZE * SIZE * 3)
        assert [(bad.key, bad.action, bad.epoch) for bad in loader.bad_samples] == [(key, "skipped", 0)]
        assert loader.counters["samples"] == 39
        for _ in loader:  # in a further epoch it is the same sample
            pass
        assert len(loader.bad_samples) == 1
    with small(tmp_path / "pack", on_bad_sample="substitute") as loader:
        assert sum(int(batch.mask.sum()) for batch in loader) == 40 and loader.bad_samples[0].action == "substituted"


def test_after_close(pack):
    loader = small(pack)
    iterator = iter(loader)
    batch = next(iterator)
    with pytest.raises(TypeError, match="a Batch is a view of its Loader's memory and cannot be pickled; pass on its arrays"):
        pickle.dumps(batch)
    pids = worker_pids(loader)
    loader.close()
    assert all(map(is_gone, pids))
    loader.close()
    with pytest.raises(RuntimeError):
        next(iterator)
    with pytest.raises(ValueError, match="closed"):
        loader.counters
    with pytest.raises(ValueError, match="cannot be pickled"):
        pickle.dumps(loader)


@pytest.mark.parametrize("transform", [transforms.train(SIZE), transforms.val(SIZE, resize=36), transforms.ragged()])
def test_images_that_are_decoded_already(bale, photos, tmp_path, transform):
    """Batches of layouts that hold pixels are those of the same images as PNGs: cropped, flipped and resized alike."""
    bale.pack(photos, tmp_path / "npy", "--format", "npy", "--size", "48", "--name", "x")
    for key in bale.ok("ls", tmp_path / "npy").out.split():
        (tmp_path / "in" / key).parent.mkdir(parents=True, exist_ok=True)
        pixels = np.load(io.BytesIO(bale.ok("cat", tmp_path / "npy", key).stdout))
        Image.fromarray(pixels).save(tmp_path / "in" / f"{key}.png")
    bale.pack(tmp_path / "in", tmp_path / "png")
    bale.ok("convert", tmp_path / "npy", tmp_path / "array", "--format", "hdf5", "--layout", "array")

    def batches(name):
        with small(tmp_path / name, transform=transform) as loader:
            found = []
            for batch in loader:
                images = [image.tobytes() for image in batch.images]
                found.append((batch.samples.tolist(), batch.labels.tolist(), images))
            assert not loader.bad_samples
        return found

    expected = batches("png")
    assert len(expected) == 3
    assert batches("npy") == expected
    assert batches("array") == expected


def test_one_large_image_takes_room_once(bale, tmp_path):
    """Ragged rows: not the largest image times the rows, so an address space of 6 GiB is enough."""
    images = tmp_path / "images" / "a"
    images.mkdir(parents=True)
    for number in range(200):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(images / f"{number:03}.png")
    Image.new("RGB", (3000, 3000), (1, 2, 3)).save(images / "large.png")
    bale.pack(tmp_path / "images", tmp_path / "packed")
    script = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import bale
with bale.Loader(sys.argv[1], batch_size=200, workers=1, threads=True, transform=bale.transforms.ragged()) as loader:
    shapes = [batch.images[row].shape for batch in loader for row in range(len(batch.images)) if batch.mask[row]]
print(len(shapes), max(shapes))
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "packed"], capture_output=True, text=True, timeout=120)
    assert done.stdout == "201 (3000, 3000, 3)\n", done
