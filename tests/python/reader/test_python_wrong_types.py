"""Arguments of other types are refused with what was given and what is taken; masks are not positions."""
import numpy as np
import pytest

import bale as bl


@pytest.mark.parametrize("call", [
    lambda dataset, given: dataset.read_many(given), lambda dataset, given: dataset.read_many(given, out=bytearray(1 << 20)), lambda dataset, given: dataset.prefetch(given),
    lambda dataset, given: dataset.image_sizes(given), lambda dataset, given: dataset.show(positions=given)])
def test_masks_are_not_positions(pack, call):
    dataset = bl.Dataset(pack)
    mask = np.arange(len(dataset)) % 2 == 0
    for given in (mask, mask.tolist(), b"\x00\x01", (True,)):
        with pytest.raises(ValueError, match=r"is not a position; those of a mask are np.flatnonzero\(mask\)"):
            call(dataset, given)
    for given in ([0.5], ["1"], "1", np.array([0.0])):
        with pytest.raises(TypeError, match="the position of a sample is an int, not "):
            call(dataset, given)
    for given in (np.flatnonzero(mask)[:3], [], range(2), iter([np.int8(-1)])):
        call(dataset, given)


def test_a_mask_as_the_subset_says_what_to_do(pack):
    with pytest.raises(ValueError, match=r"subset: .*np.flatnonzero"):
        bl.Loader(pack, transform=bl.transforms.val(16), order=bl.Order(subset=[True, False]))


@pytest.mark.parametrize("call,says", [
    (lambda dataset: dataset.find(3), "key: 3 is not a text"), (lambda dataset: dataset.find(None), "key: None is not a text"),
    (lambda dataset: dataset.read_field(0, None), "field: None is not a text"), (lambda dataset: dataset.read_field(None, "jpg"), "an int, not None"),
    (lambda dataset: dataset.read_many([0], 3), "field: 3 is not a text"), (lambda dataset: dataset[None], "an int, not None"),
    (lambda dataset: dataset["a"], "an int, not 'a'"), (lambda dataset: dataset.keys[None], "an int, not None"), (lambda dataset: dataset.label(0.5), "an int, not 0.5"),
    (lambda dataset: dataset.select(b"index = 0"), "where: b'index = 0' is not a text"), (lambda dataset: dataset.select(len), "where: .* is not a text"),
    (lambda dataset: bl.Loader(dataset, transform=bl.transforms.val(16), order=bl.Order(where=len)), "where: .* is not a text"),
    (lambda dataset: bl.Loader(dataset, True, transform=bl.transforms.val(16)), "batch_size: True is not a whole number"),
    (lambda dataset: dataset.read_many(None), "NoneType"), (lambda dataset: dataset.prefetch(None), "NoneType")])
def test_other_types_are_named(pack, call, says):
    with pytest.raises(TypeError, match=says) as caught:
        call(bl.Dataset(pack))
    assert "incompatible function arguments" not in str(caught.value)


def test_a_writer_refuses_samples_without_fields(tmp_path):
    with bl.Writer(tmp_path / "out") as writer:
        for add in (lambda: writer.add("a", {}, label=0), lambda: writer.add("a", {}), lambda: writer.add_many(["a"], {}, [0])):
            with pytest.raises(ValueError, match="a sample without fields"):
                add()
        writer.add("a", {"txt": "x"}, label=0)
