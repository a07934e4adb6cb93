"""Masks, boxes and keypoints that follow one of several views of their image."""
import itertools

import numpy as np
import pytest
from fields_support import continues
from test_targets import COUNT, PACK, follow, parts, size_of, write

import bale as bl
from bale import transforms as T
from bale.errors import Error

GLOBAL = T.Compose([T.RandomResizedCrop((20, 16), (0.5, 1.0)), T.RandomHorizontalFlip(), T.RandomRotation(20)])
LOCAL = T.Compose([T.RandomResizedCrop(8, (0.1, 0.5)), T.RandomHorizontalFlip(), T.ToDtype("float32")])
VIEWS = [GLOBAL, GLOBAL, LOCAL]
SIDES = [(20, 16), (20, 16), (8, 8)]
FIELDS = {f"{name}{view}": bl.Field(source, kind=kind, view=view, **more) for view in range(3) for name, source, kind, more in (
    ("mask", "mask.png", "mask", {"fill": 255}), ("boxes", "boxes.json", "boxes", {}), ("points", "points.npy", "keypoints", {}))}
FIELDS["stored"] = "boxes.json"  # follows nothing


@pytest.fixture(scope="module")
def packed(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("fields_with_views")
    bale.pack(write(root / "src"), root / "pack", *PACK)
    bale.pack(root / "src", root / "small", *PACK, "--compress", "zstd")
    return root / "pack"


def load(spec, batch_size=4, **options):
    return bl.Loader(spec, batch_size, **{"workers": 0, "seed": 3, "views": VIEWS, "fields": FIELDS, **options})


def content(batch):
    fields = batch.fields
    ragged = [part for name in FIELDS if name[:5] in ("boxes", "point") for part in (fields[name], fields.labels(name))]
    return (batch.keys, [image.tobytes() for image in batch.images], [fields[f"mask{view}"].tobytes() for view in range(3)],
            [np.asarray(part).tobytes() for one in ragged for part in (one.data, one.offsets)], fields["stored"].bytes)


def check(batch, rows):
    """Each target is what the steps of its own view make of the stored one."""
    fields = batch.fields
    for view, (height, width) in enumerate(SIDES):
        assert fields[f"mask{view}"].shape == (len(batch), height, width) and fields[f"mask{view}"].dtype == np.uint8
        for row in rows:
            i = int(batch.keys[row][-3:])
            steps, stored = batch.draw(row, view)["steps"], parts(i)
            expected = follow(steps, "mask", stored["mask.png"], size_of(i), 255, (width, height))
            assert np.array_equal(fields[f"mask{view}"][row], expected)
            for name, source, kind in (("boxes", "boxes.json", "boxes"), ("points", "points.npy", "keypoints")):
                at, labels = follow(steps, kind, stored[source], size_of(i))
                assert np.array_equal(fields[f"{name}{view}"][row], at)
                assert np.array_equal(fields.labels(f"{name}{view}")[row], labels)
            assert fields["stored"].bytes[row] == stored["boxes.json"]


def test_each_target_follows_its_own_view(packed):
    with load(packed) as loader:
        for batch in itertools.chain(loader, loader):
            check(batch, range(len(batch)))
            assert not np.array_equal(batch.fields["mask0"], batch.fields["mask1"])


@pytest.mark.parametrize("how", [{"workers": 2}, {"workers": 2, "threads": True}], ids=str)
def test_the_same_from_processes_threads_and_the_caller(packed, how):
    with load(packed) as loader:
        expected = [content(batch) for _ in range(2) for batch in loader]
    for spec in (packed, packed.parent / "small"):  # of compressed fields some do not fit in their places
        with load(spec, **how) as loader:
            assert [content(batch) for _ in range(2) for batch in loader] == expected


def test_states_ranks_and_batches_that_are_kept(packed):
    assert continues(load, packed, content)
    with load(packed) as loader:
        whole = {key: row for batch in loader for key, row in zip(batch.keys, batch.fields["mask2"].copy())}
    seen = []
    for rank in range(3):
        with load(packed, rank=rank, world_size=3, prefetch=2) as loader:
            kept = list(loader)
        assert any(batch.is_copy for batch in kept)
        for batch in kept:
            check(batch, range(len(batch)))
            seen += batch.keys
            assert all(np.array_equal(row, whole[key]) for key, row in zip(batch.keys, batch.fields["mask2"]))
    assert len(set(seen)) == COUNT


def test_boxes_that_do_not_fit_follow_their_view_too(bale, tmp_path):
    """They compress better than 8 to 1, so the training process reads them again."""
    import json

    many = json.dumps({"boxes": [[2, 3, 12, 11]] * 500}).encode()
    bale.pack(write(tmp_path / "src", {i: {"boxes.json": many} for i in range(COUNT)}), tmp_path / "pack", *PACK, "--compress", "zstd")
    with load(tmp_path / "pack", fields={"a": bl.Field("boxes.json", kind="boxes", view=1),
                                         "b": bl.Field("boxes.json", kind="boxes", view=2)}) as loader:
        for batch in loader:
            for row, key in enumerate(batch.keys):
                for name, view in (("a", 1), ("b", 2)):
                    expected = follow(batch.draw(row, view)["steps"], "boxes", many, size_of(int(key[-3:])))[0]
                    assert np.array_equal(batch.fields[name][row], expected) and len(expected) == 500


def test_a_bad_target_of_a_further_view_is_a_bad_sample(bale, tmp_path):
    bale.pack(write(tmp_path / "src", {7: {"mask.png": b"no mask"}}), tmp_path / "pack", *PACK)
    fields = {name: field for name, field in FIELDS.items() if name != "mask0"}
    with load(tmp_path / "pack", fields=fields, on_bad_sample="skip") as loader:
        for batch in loader:
            for row in np.flatnonzero(~batch.mask):
                assert not any(image[row].any() for image in batch.images) and not batch.fields["mask2"][row].any()
        assert [bad.key[-3:] for bad in loader.bad_samples] == ["007"] and "field mask.png" in loader.bad_samples[0].reason


def test_one_view_may_be_named(packed):
    with load(packed, views=None, transform=GLOBAL, fields={"mask": bl.Field("mask.png", kind="mask", view=0)}) as named, \
         load(packed, views=None, transform=GLOBAL, fields={"mask": bl.Field("mask.png", kind="mask")}) as plain:
        for a, b in zip(named, plain, strict=True):
            assert np.array_equal(a.fields["mask"], b.fields["mask"])


@pytest.mark.parametrize("options,text", [
    ({"fields": {"m": bl.Field("mask.png", kind="mask")}}, '"m" follows one of 3 views; say which one: view=0 to view=2'),
    ({"fields": {"m": bl.Field("mask.png", kind="mask", view=3)}}, '"m" follows view 3, but there are 3'),
    ({"views": None, "transform": GLOBAL, "fields": {"m": bl.Field("mask.png", kind="mask", view=1)}}, "follows view 1, but there is 1"),
    ({"fields": {"m": bl.Field("mask.png", kind="mask", view=-1)}}, "'m' has the view -1"),
    ({"fields": {"t": bl.Field("boxes.json", view=0)}}, "has a view, which only masks, boxes and keypoints have"),
    ({"views": [GLOBAL, T.Compose([T.Resize((8, 8)), T.AugMix()])], "fields": {"m": bl.Field("mask.png", kind="mask", view=1)}}, "AugMix"),
    ({"views": [GLOBAL, T.Compose([T.SanitizeBoundingBoxes(), T.Resize((8, 8))])],
      "fields": {"b": bl.Field("boxes.json", kind="boxes", view=0)}}, "RandomIoUCrop and SanitizeBoundingBoxes are for one view"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_refused(packed, options, text):
    with pytest.raises((Error, ValueError)) as caught:
        load(packed, **options)
    assert text in str(caught.value)


def test_a_view_that_augments_otherwise_is_not_followed(packed):
    """AugMix in one view does not matter to a target of another."""
    with load(packed, views=[GLOBAL, T.Compose([T.Resize((8, 8)), T.AugMix()])], fields={"mask0": FIELDS["mask0"]}) as loader:
        batch = next(iter(loader))
        assert batch.fields["mask0"].shape == (4, 20, 16)
