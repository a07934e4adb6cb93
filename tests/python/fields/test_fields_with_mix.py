"""Fields next to mixed images: those of the row's own sample, and `partners`, which says whose image was mixed in."""
import numpy as np
import pytest
from fields_support import FIELDS, PAIR, SIZE, check, content, continues, write_folder

import bale as bl
from bale import transforms as T

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToDtype("float32")])
MIX = T.Mix(mixup=0.8, cutmix=1.0)


@pytest.fixture(scope="module")
def captioned(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("fields_with_mix")
    bale.pack(write_folder(root / "in", SIZE), root / "pack", *PAIR)
    return root / "pack"


def load(spec, batch_size=6, **options):
    return bl.Loader(spec, batch_size, **{"workers": 0, "seed": 5, "transform": TRAIN, "fields": FIELDS, "mix": MIX, **options})


def mixed_content(batch):
    return (*content(batch), batch.partners.tolist(), batch.partner_labels.tolist(), batch.shares.tolist())


def test_fields_are_those_of_the_own_sample(captioned):
    """And the images are those of a loader without fields."""
    with load(captioned) as loader, load(captioned, mix=None) as plain, load(captioned, fields=None) as bare:
        for batch, before, alone in zip(loader, plain, bare, strict=True):
            check(batch)
            check(before)
            assert before.partners is None
            assert np.array_equal(batch.images, alone.images) and np.array_equal(batch.partner_labels, alone.partner_labels)
            assert batch.partners.dtype == np.int64 and np.array_equal(batch.partners, np.roll(np.arange(len(batch)), 1))
            assert np.array_equal(batch.labels[batch.partners], batch.partner_labels)


def test_label_vectors_are_mixed_as_images_are(captioned):
    """The use of partners: targets of several classes, and captions of both samples."""
    kinds = set()
    with load(captioned) as loader, load(captioned, mix=None) as plain:
        for batch, before in zip(loader, plain, strict=True):
            share = batch.shares.reshape(-1, 1, 1, 1)
            blended = share * before.images + (np.float32(1) - share) * before.images[batch.partners]
            if np.allclose(batch.images, blended, atol=1e-6):
                kinds.add("mixup")
            else:
                own, partners = (batch.images == before.images).all(3), (batch.images == before.images[batch.partners]).all(3)
                assert (own | partners).all()
                kinds.add("cutmix")
            captions = batch.fields["caption"]
            keys = [batch.keys[partner] for partner in batch.partners]
            assert [captions[partner].split(":")[0] for partner in batch.partners] == [f"Bild {int(key[-3:])}" for key in keys]
    assert kinds == {"mixup", "cutmix"}


@pytest.mark.parametrize("how", [{"workers": 2}, {"workers": 2, "threads": True}, {"workers": 2, "prefetch": 2}], ids=str)
def test_the_same_in_every_way(captioned, how):
    with load(captioned) as loader:
        expected = [mixed_content(batch) for _ in range(2) for batch in loader]
    with load(captioned, **how) as loader:
        kept = [batch for _ in range(2) for batch in loader]  # most of them are copies
        assert [mixed_content(batch) for batch in kept] == expected


def test_states_and_ranks(captioned):
    assert continues(load, captioned, mixed_content)
    numbers = []
    for rank in range(3):
        with load(captioned, rank=rank, world_size=3, tail="drop") as loader:
            for batch in loader:
                numbers += check(batch)
    assert len(numbers) == len(set(numbers)) == 36


def test_rows_without_an_image_take_no_part(tmp_path, bale):
    root = write_folder(tmp_path / "in", 12, {3: {"jpg": b"\xff\xd8 no image at all"}})
    bale.pack(root, tmp_path / "pack", *PAIR)
    with load(tmp_path / "pack", on_bad_sample="skip", shuffle=False) as loader:
        for batch in loader:
            for row in np.flatnonzero(~batch.mask):
                assert batch.partners[row] == row and batch.fields["caption"][row] == "" and row not in batch.partners[batch.mask]
            good = np.flatnonzero(batch.mask)
            assert np.array_equal(batch.partners[good], np.roll(good, 1))


def test_targets_cannot_follow_mixed_images(captioned):
    for kind in ("mask", "boxes", "keypoints"):
        with pytest.raises(ValueError, match="masks, boxes and keypoints cannot follow mixed images; leave out mix or these fields"):
            load(captioned, fields={"caption": "txt", "target": bl.Field("npy", kind=kind)})
