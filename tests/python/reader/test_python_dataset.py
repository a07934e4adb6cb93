"""bale.Dataset: what is in a pack, by position and key, in this process and in others."""
import copy
import io
import multiprocessing
import os
import pickle
import tarfile
import threading
import warnings

import numpy as np
import pytest
from conftest import FORMATS, flip, images_by_key, write_tar
from PIL import Image
from python_support import PACKAGE, run_script

import bale as bl
from bale import transforms


@pytest.fixture(scope="module")
def packs(bale, photos, tmp_path_factory):
    root = tmp_path_factory.mktemp("packs")
    for name in FORMATS:
        bale.pack(photos, root / name, "--format", name, "--shard-samples", "15")
    return root


@pytest.fixture(scope="module")
def pack(packs):
    return packs / FORMATS[0]


@pytest.mark.parametrize("name", FORMATS)
def test_samples_are_those_of_the_folder(packs, photos, name):
    dataset = bl.Dataset(packs / name)
    expected = images_by_key(photos)
    assert len(dataset) == len(expected) == 40
    assert sorted(dataset.keys) == sorted(expected)
    for i, key in enumerate(dataset.keys):
        stored, label = expected[key]
        sample = dataset[i]
        assert stored in sample.values() and dataset.read_image(i) == stored
        assert all(dataset.read_field(i, field) == value for field, value in sample.items())
        assert dataset.label(i) == label == dataset.labels[i] and dataset.find(key) == i and key in dataset.keys
    assert dataset.classes == sorted(p.name for p in photos.iterdir())
    assert dataset.labels.dtype == np.int64 and "cls" in dataset.fields


def test_positions_are_pythons(pack):
    dataset = bl.Dataset(pack)
    assert dataset[-1] == dataset[39] == dataset[np.int64(39)] and dataset.key(-40) == dataset.key(0)
    for outside in (40, -41, 1 << 70):
        with pytest.raises(IndexError):
            dataset[outside]
    with pytest.raises(TypeError):
        dataset["0"]
    assert dataset.find("nobody") is None and len(list(dataset)) == 40


def test_prefetching(pack):
    """Only a hint, so all there is to see is that positions are looked at."""
    dataset = bl.Dataset(pack)
    dataset.prefetch([3, 0, -1, 3, np.int64(20)])
    dataset.prefetch(i for i in ())
    with pytest.raises(IndexError):
        dataset.prefetch([0, 40])


def test_errors_are_bales_and_pythons(pack, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        bl.Dataset(tmp_path / "nothing")
    assert isinstance(caught.value, bl.Error) and isinstance(caught.value, RuntimeError)
    assert caught.value.code == "not_found" and caught.value.path == str(tmp_path / "nothing")
    with pytest.raises(KeyError) as caught:
        bl.Dataset(pack).read_field(0, "nope")
    assert isinstance(caught.value, bl.Error) and caught.value.key == bl.Dataset(pack).key(0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.key == caught.value.key


def test_damage_is_reported(pack, fresh_copy):
    copy = fresh_copy(pack)
    dataset = bl.Dataset(copy)
    image = dataset.read_image(3)
    shard = next(p for p in sorted(copy.iterdir()) if image in p.read_bytes())
    flip(shard, shard.read_bytes().find(image) + 100)
    with pytest.raises(bl.Error) as caught:
        bl.Dataset(copy)[3]
    assert caught.value.code == "damaged" and caught.value.key == dataset.key(3)
    assert bl.Dataset(copy, verify_checksums=False).read_image(3) != image


def test_pickled_it_opens_again(pack):
    dataset = pickle.loads(pickle.dumps(bl.Dataset(pack, verify_checksums=False)))
    assert len(dataset) == 40 and dataset.verify_checksums is False


def test_a_relative_path_is_good_elsewhere(pack, monkeypatch):
    monkeypatch.chdir(pack.parent)
    stored = pickle.dumps(bl.Dataset(pack.name))
    monkeypatch.chdir("/")
    assert len(pickle.loads(stored)) == 40


def test_keys_of_any_bytes(bale, tmp_path):
    folder = tmp_path / "in" / "class"
    folder.mkdir(parents=True)
    name = os.fsdecode(b"caf\xe9")
    (folder / f"{name}.jpg").write_bytes(b"\xff\xd8 no image")
    bale.pack(tmp_path / "in", tmp_path / "out")
    dataset = bl.Dataset(tmp_path / "out")
    assert list(dataset.keys) == [f"class/{name}"] and dataset.find(f"class/{name}") == 0


def sum_of(dataset):
    return sum(len(dataset.read_image(i)) for i in range(len(dataset)))


def in_child(connection, dataset):
    connection.send((sum_of(dataset), os.getpid()))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_other_processes(pack, method, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    dataset = bl.Dataset(pack)
    expected = sum_of(dataset)
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=in_child, args=(theirs, dataset))
    child.start()
    assert ours.poll(60)
    total, pid = ours.recv()
    child.join()
    assert child.exitcode == 0 and total == expected and pid != os.getpid()


def test_threads_share_it(pack):
    dataset = bl.Dataset(pack)
    expected, found = sum_of(dataset), []
    threads = [threading.Thread(target=lambda: found.append(sum_of(dataset))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_fields_that_are_stored_otherwise(photos, tmp_path):
    """Compressed ones, whose stored bytes are not what is given, and one without any."""
    image = next(photos.rglob("*.JPEG")).read_bytes()
    texts = [b"", b"1", b"[" + b"0, " * 5000 + b"0]"]
    for i, text in enumerate(texts):
        (tmp_path / "in" / "class").mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "class" / f"{i}.jpg").write_bytes(image)
        (tmp_path / "in" / "class" / f"{i}.json").write_bytes(text)
    for layout in ("plain", "zst", "gz"):
        bl.pack(tmp_path / "in", tmp_path / layout, layout=layout, pair="jpg,json")
        dataset = bl.Dataset(tmp_path / layout)
        assert [dataset.read_field(i, "json") for i in range(3)] == texts == [sample["json"] for sample in dataset]
        assert all(dataset.read_image(i) == image for i in range(3))


def test_what_is_left_out_is_said(tmp_path, photos, bale):
    """Members that make no sample: by a warning in Python, and by each command that looks at all samples."""
    image = next(path for path in photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg")).read_bytes()
    path = tmp_path / "strange.tar"
    with tarfile.open(path, "w") as tar:
        for name, content in (("a.jpg", image), ("a.cls", b"0")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("b.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "elsewhere.jpg"
        tar.addfile(link)
    with pytest.warns(UserWarning, match="ignored 1 .*b.jpg"):
        dataset = bl.Dataset(path)
    with pytest.warns(UserWarning, match="ignored 1 .*b.jpg"):
        bl.Loader(path, batch_size=1, workers=1, threads=True, transform=bl.transforms.val(32)).close()
    assert len(dataset) == 1 and len(dataset.notices) == 1 and "b.jpg" in dataset.notices[0]
    for command in (["read"], ["stats"], ["preview", tmp_path / "preview.html"]):
        assert "ignored 1 entry" in bale.ok(command[0], path, *command[1:]).err
    bale.ok("index", path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bl.Dataset(path).notices == []


def test_a_key_that_shards_repeat_is_found_with_its_shard(tmp_path):
    shards = []
    for number, folder in enumerate("pq"):
        (tmp_path / folder).mkdir()
        shards.append(write_tar(tmp_path / folder / "0.tar", [(f"{i:03}.txt", b"%d:%d" % (number, i)) for i in range(3)]))
    dataset = bl.Dataset(shards)
    assert [dataset.find(key) for key in ("002", "p/0.tar/002", "q/0.tar/002", "x/q/0.tar/002", "q/0.tar/003")] == [2, 2, 5, None, None]
    assert dataset.key(5) == "002"


class Named(bl.Dataset):
    """With an attribute and an argument of its own."""

    def __init__(self, spec, title, **options):
        super().__init__(spec, **options)
        self.title, self.transform = title, str


def test_copies_of_a_subclass_keep_its_attributes(pack):
    dataset = Named(pack, ["a"], verify_checksums=False)
    for other in (pickle.loads(pickle.dumps(dataset)), pickle.loads(pickle.dumps(dataset, 0)), copy.copy(dataset), copy.deepcopy(dataset)):
        assert type(other) is Named and other.title == ["a"] and other.transform is str and not other.verify_checksums
        assert other.keys[3] == dataset.keys[3] and other[0] == dataset[0]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_working_directory_that_is_gone(pack, tmp_path, workers):
    """Absolute names need none."""
    run_script(f"""
        import os, sys
        import bale
        os.mkdir(sys.argv[2])
        os.chdir(sys.argv[2])
        loader = bale.Loader(sys.argv[1], 4, workers={workers}, transform=bale.transforms.train(16))
        os.rmdir(sys.argv[2])
        other = bale.Loader([sys.argv[1]], 4, workers={workers}, transform=bale.transforms.train(16))
        assert len(bale.Dataset(sys.argv[1])) == 40 == sum(map(len, loader)) == sum(map(len, other))
    """, pack, tmp_path / "gone")


def test_relative_names_are_those_of_where_a_loader_was_made(pack, tmp_path):
    run_script("""
        import os, sys
        import bale
        os.chdir(os.path.dirname(sys.argv[1]))
        loader = bale.Loader(os.path.basename(sys.argv[1]), 4, workers=1, transform=bale.transforms.train(16))
        os.chdir("/")
        assert sum(map(len, loader)) == 40
    """, pack)


@pytest.mark.parametrize("name", FORMATS)
def test_sizes_of_stored_images(packs, photos, name):
    dataset = bl.Dataset(packs / name)
    expected = []
    for i in range(40):
        with Image.open(io.BytesIO(dataset.read_image(i))) as image:
            expected.append(image.size)
    assert dataset.image_sizes().dtype == np.int64 and dataset.image_sizes().tolist() == list(map(list, expected))
    assert dataset.image_sizes([3, -1, 3]).tolist() == [list(expected[i]) for i in (3, 39, 3)] and dataset.image_sizes([]).shape == (0, 2)
    with pytest.raises(IndexError):
        dataset.image_sizes([40])
    with bl.Loader(packs / name, 8, workers=0, transform=transforms.val(16)) as loader:
        for batch in loader:
            assert batch.image_sizes.tolist() == [list(expected[i]) for i in batch.indices]


def test_the_number_of_classes(bale, photos, packs, tmp_path):
    """Also if they have no names, and if some have no samples."""
    assert {bl.Dataset(packs / name).num_classes for name in FORMATS} == {5}
    assert bl.Dataset([packs / FORMATS[0], packs / FORMATS[1]]).num_classes == 5
    bale.pack(photos, tmp_path / "flat", "--flat")
    assert bl.Dataset(tmp_path / "flat").num_classes == 0
    image = next(photos.rglob("*.JPEG")).read_bytes()
    write_tar(tmp_path / "x.tar", [("a.jpg", image), ("a.cls", b"6"), ("b.jpg", image), ("c.jpg", image), ("c.cls", b"2")])
    assert bl.Dataset(tmp_path / "x.tar").num_classes == 7
