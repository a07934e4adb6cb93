"""Several views of an image that is decoded once."""
import json

import numpy as np
import pytest

bale = pytest.importorskip("bale")
T = bale.transforms

LARGE = T.Compose([T.RandomResizedCrop(40, scale=(0.4, 1.0)), T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.4, 0.2, 0.1)])
SMALL = T.Compose([T.RandomResizedCrop((24, 16), scale=(0.05, 0.4)), T.RandomApply([T.PillowGaussianBlur()], 0.5),
                   T.ToDtype("float32"), T.Normalize(), T.RandomErasing(0.5)], layout="nchw")
VIEWS = [LARGE, SMALL, T.train(32), LARGE, SMALL]


def batches(pack, **options):
    """[(images of each view, labels, samples, steps of each view)]"""
    with bale.Loader(pack, 8, seed=7, **options) as loader:
        views = len(loader.views)
        return [([image.copy() for image in (batch.images if views > 1 else [batch.images])], batch.labels, batch.samples,
                 [[batch.draw(i, view) for i in range(len(batch))] for view in range(views)]) for batch in loader]


@pytest.fixture(scope="module")
def made(pack):
    return batches(pack, workers=0, views=VIEWS)


def same(some, others):
    assert len(some) == len(others) > 1
    for (images, *rest), (other_images, *other_rest) in zip(some, others):
        for image, other in zip(images, other_images, strict=True):
            np.testing.assert_array_equal(image, other)
        for one, other in zip(rest[:2], other_rest[:2]):
            np.testing.assert_array_equal(one, other)
        assert rest[2] == other_rest[2]


def test_shapes(made):
    for images, labels, _, _ in made:
        rows = len(labels)
        assert [image.shape for image in images] == [(rows, 40, 40, 3), (rows, 3, 24, 16), (rows, 32, 32, 3),
                                                     (rows, 40, 40, 3), (rows, 3, 24, 16)]
        assert [str(image.dtype) for image in images] == ["uint8", "float32", "uint8", "uint8", "float32"]


@pytest.mark.parametrize("options", [{"workers": 3}, {"workers": 2, "threads": True}, {"workers": 2, "prefetch": 2}])
def test_workers_change_nothing(pack, made, options):
    same(batches(pack, views=VIEWS, **options), made)


def test_the_first_view_is_that_of_a_loader_with_one(pack, made):
    for (images, labels, *_), (alone, other_labels, *_) in zip(made, batches(pack, workers=0, transform=LARGE)):
        np.testing.assert_array_equal(images[0], alone[0])
        np.testing.assert_array_equal(labels, other_labels)


def test_views_draw_independently(made):
    flips = [[any(step["name"] == "HorizontalFlip" for step in draw["steps"]) for _, _, _, steps in made for draw in steps[view]]
             for view in (0, 3)]
    crops = [[draw["steps"][0] for _, _, _, steps in made for draw in steps[view]] for view in (0, 3)]
    assert flips[0] != flips[1]
    assert all(one != other for one, other in zip(*crops))


def test_every_view_is_its_recorded_steps(pack, made):
    """Decoding the union of what the crops need gives the pixels that decoding all of the image gives."""
    with bale.Loader(pack, 64, workers=0, shuffle=False, tail="uneven", transform=T.ragged()) as loader:
        whole = {int(sample): image for batch in loader for sample, image, counts in zip(batch.samples, batch.images, batch.mask) if counts}
    for images, _, samples, steps in made:
        for view in (0, 2, 3):
            for i, sample in enumerate(samples):
                found = bale._bale.apply_steps(json.dumps(steps[view][i]["steps"]), np.ascontiguousarray(whole[int(sample)]))
                np.testing.assert_array_equal(images[view][i], found)


def test_batches_that_are_kept_are_copies(pack, made):
    with bale.Loader(pack, 8, workers=2, seed=7, views=VIEWS) as loader:
        kept = list(loader)
        assert any(batch.is_copy for batch in kept)
        for batch, (images, *_) in zip(kept, made):
            for image, other in zip(batch.images, images, strict=True):
                np.testing.assert_array_equal(image, other)


def test_rows_without_a_sample_are_zero_in_every_view(pack):
    with bale.Loader(pack, 7, workers=2, seed=7, tail="uneven", world_size=3, rank=2, views=VIEWS) as loader:
        last = list(loader)[-1]
        empty = [i for i in range(len(last)) if not last.mask[i]]
        assert empty
        for image in last.images:
            assert not np.asarray(image)[empty].any()
        assert last.draw(empty[0], 1) is None


def test_what_is_refused(pack):
    with pytest.raises(ValueError, match="give transform or views, not both"):
        bale.Loader(pack, 8, transform=LARGE, views=[LARGE])
    with pytest.raises(TypeError, match="is not a list of transforms"):
        bale.Loader(pack, 8, views=[])
    for several in (T.presets.simclr(16, dtype="uint8"), T.presets.dino(16, 8, local_crops=2), (T.padded(8), T.train(8))):
        with pytest.raises(ValueError, match=f"transform: {len(several)} lists, one per view.*views="):
            bale.Loader(pack, 8, transform=several)
    with pytest.raises(ValueError, match="batches on a device have one view"):
        bale.Loader(pack, 8, views=[LARGE, SMALL], device="cuda")
    with pytest.raises((ValueError, bale.Error), match="views: each must have a fixed shape"):
        bale.Loader(pack, 8, views=[LARGE, T.ragged()])
    with bale.Loader(pack, 8, workers=0, views=[LARGE, SMALL]) as loader:
        with pytest.raises(IndexError, match="no such view"):
            next(iter(loader)).draw(0, 2)
