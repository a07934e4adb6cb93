"""fields= of bale.torch.Loader: the last element of a batch is a dict of lists, tensors and Ragged."""
import json

import numpy as np
import pytest
from conftest import REPO
from fields_support import PAIR, SIZE, jpeg, npy, write_folder
from torch_support import torch  # noqa: F401 - a fixture

HEAD = """
    import sys
    sys.path.insert(0, sys.argv[2])
    import json
    import numpy as np
    import bale, bale.torch as bt
    from fields_support import FIELDS, caption, embedding, number_of, sample

    SPEC = sys.argv[1]
    T = bale.transforms

    def load(batch_size=6, fields=FIELDS, **options):
        return bt.Loader(SPEC, batch_size, fields=fields, with_samples=True,
                         **{"workers": 1, "seed": 5, "transform": T.val(16, resize=16), **options})

    def check(samples, fields):
        numbers = [number_of(key) for key in samples.keys]
        assert fields["caption"] == [caption(i) for i in numbers]
        assert list(fields["meta"]) == [json.loads(sample(i)["json"]) for i in numbers]
        assert fields["embedding"].shape == (len(numbers), 2, 3) and fields["embedding"].dtype == torch.float32
        assert np.array_equal(fields["embedding"].numpy(), np.stack([embedding(i) for i in numbers]))
        assert isinstance(fields["raw"], bt.Ragged) and fields["raw"].offsets.dtype == torch.int64
        assert [bytes(row.tolist()) for row in fields["raw"]] == [sample(i)["bin"] for i in numbers]
        return numbers
"""


@pytest.fixture(scope="module")
def captioned(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("captioned")
    bale.pack(write_folder(root / "in", SIZE), root / "pack", *PAIR)
    return root / "pack"


@pytest.fixture
def run(torch, captioned, request):  # noqa: F811
    return lambda script: torch(HEAD + script, captioned, REPO / "tests" / "python" / "support")


def test_every_row_and_uneven_ends(run):
    run("""
    for options in ({}, {"threads": True}, {"workers": 0}):
        with load(**options) as loader:
            for images, labels, samples, fields in loader:
                assert list(fields) == list(FIELDS) and len(images) == len(labels)
                check(samples, fields)
    found = []
    for rank in range(3):
        with load(7, tail="uneven", rank=rank, world_size=3) as loader:  # the last batch of rank 2 is shorter
            for images, labels, samples, fields in loader:
                found += check(samples, fields)
                assert len(fields["raw"]) == len(fields["meta"]) == len(images)
    assert len(images) == 6 and sorted(found) == list(range(40))
    with load(7, tail="uneven", rank=2, world_size=3, with_mask=True) as loader:
        *_, (images, labels, mask, samples, fields) = loader
        assert mask.tolist() == [True] * 6 + [False] and fields["caption"][6] == "" and fields["meta"][6] is None
    """)


def test_the_mask_of_an_optional_field(run):
    run("""
    with load(fields={"caption": bale.Field("txt", optional=True), "no": bale.Field("none.txt", optional=True)}) as loader:
        for *_, fields in loader:
            assert fields["caption.present"].all() and fields["caption.present"].dtype == torch.bool
            assert not fields["no.present"].any() and set(fields["no"]) == {""}
    raises(ValueError, "is the name of the mask", lambda: load(fields={"a": "txt", "a.present": "txt"}))
    """)


def test_fields_next_to_mixed_images(run):
    """`partners` says which rows were mixed in, so that targets of several classes can be mixed, too."""
    run("""
    mixed = {"transform": T.train(16, dtype="float32"), "mix": T.Mix(mixup=0.8)}
    for options in (mixed, mixed | {"tail": "uneven", "rank": 2, "world_size": 3}, mixed | {"mix": T.Mix(mixup=0.8, num_classes=3)}):
        with load(7, **options) as loader:
            for images, target, samples, fields in loader:
                check(samples, fields)
                assert torch.equal(fields["partners"], torch.arange(len(images)).roll(1)) and fields["partners"].dtype == torch.int64
                if isinstance(target, tuple):
                    labels, partner_labels, shares = target
                    assert torch.equal(labels[fields["partners"]], partner_labels)
                vectors = fields["embedding"]
                assert (0.3 * vectors + 0.7 * vectors[fields["partners"]]).shape == vectors.shape
    with load() as loader:
        assert all("partners" not in fields for *_, fields in loader)
    assert "partners" in next(iter(load(fields={"partners": "txt"})))[-1]
    raises(ValueError, "is the name of the rows that were mixed in", lambda: load(fields={"partners": "txt"}, **mixed))
    """)


def test_targets_of_views(torch, bale, tmp_path, request):  # noqa: F811
    from test_targets import PACK, write

    bale.pack(write(tmp_path / "src"), tmp_path / "pack", *PACK)
    torch(HEAD + """
    views = [T.train((20, 16), dtype="float32"), T.train(8, dtype="float32")]
    fields = {f"{kind}{view}": bale.Field(source, kind=kind, view=view)
              for view in range(2) for kind, source in (("mask", "mask.png"), ("boxes", "boxes.json"))}
    with bt.Loader(SPEC, 6, views=views, fields=fields, seed=5, workers=1) as loader, \
         bale.Loader(SPEC, 6, views=views, fields=fields, seed=5, workers=1) as arrays:
        for (images, labels, found), expected in zip(loader, arrays, strict=True):
            assert [tuple(found[f"mask{i}"].shape) for i in range(2)] == [(len(labels), 20, 16), (len(labels), 8, 8)]
            for name in fields:
                if name.startswith("mask"):
                    assert np.array_equal(found[name].numpy(), expected.fields[name])
                    continue
                assert np.array_equal(found[name].data.numpy(), expected.fields[name].data)
                assert np.array_equal(found[f"{name}.labels"].data.numpy(), expected.fields.labels(name).data)
    """, tmp_path / "pack", REPO / "tests" / "python" / "support")


def test_all_batches_may_be_kept(run):
    run("""
    import warnings
    warnings.simplefilter("ignore")
    with load(4, prefetch=2) as loader:
        kept = [(samples, fields) for _ in range(2) for _, _, samples, fields in loader]
    for samples, fields in kept:
        check(samples, fields)
    """)


def test_states_ranks_and_prefetcher(run):
    run("""
    with load(4) as whole, load(4) as begun, load(4) as resumed:
        expected = [fields["caption"] for *_, fields in whole]
        iterator = iter(begun)
        found = [next(iterator)[-1]["caption"] for _ in range(3)]
        resumed.load_state_dict(begun.state_dict())
        assert found + [fields["caption"] for *_, fields in resumed] == expected
    numbers = []
    for rank in range(2):
        with load(4, rank=rank, world_size=2) as loader:
            for _, _, samples, fields in bt.Prefetcher(loader, "cpu"):
                numbers += check(samples, fields)
    assert sorted(numbers) == list(range(40))
    """)


def test_what_moves_batches_finds_the_tensors_of_a_ragged(run):
    run("""
    from bale.torch._tree import map_tensors, tensors
    with load() as loader:
        _, _, samples, fields = next(iter(loader))
    moved = map_tensors(lambda tensor: tensor.clone(), fields)
    assert isinstance(moved["raw"], bt.Ragged) and moved["raw"].data.data_ptr() != fields["raw"].data.data_ptr()
    check(samples, moved)
    assert len(list(tensors(fields))) == 3
    """)


def test_ragged(run):
    run("""
    ragged = bt.Ragged(torch.arange(6, dtype=torch.uint8), torch.tensor([0, 2, 2, 6]))
    assert [row.tolist() for row in ragged[1:]] == [[], [2, 3, 4, 5]] and ragged.lengths.tolist() == [2, 0, 4]
    long = bt.Ragged(torch.zeros(4099), torch.tensor([0, 2049, 4099])).to(torch.float16)
    assert long.data.dtype == torch.float16 and long.offsets.tolist() == [0, 2049, 4099]
    moved = ragged.to(torch.float32)
    assert moved.data.dtype == torch.float32 and moved.offsets.dtype == torch.int64 and moved[-1].tolist() == [2, 3, 4, 5]
    raises(IndexError, "", lambda: ragged[3])
    assert isinstance(ragged, bale.Ragged) and repr(ragged) == "Ragged(3 rows of torch.uint8, 6 in total)"
    """)


def test_masks_and_boxes_are_tensors(torch, bale, tmp_path):  # noqa: F811
    for i in range(6):
        values = np.full((12, 16), i, np.uint8)
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"s{i}.jpg").write_bytes(jpeg(i, (16, 12)))
        (tmp_path / "in" / f"s{i}.png").write_bytes(npy(values))  # the content says what it is
        (tmp_path / "in" / f"s{i}.json").write_text(json.dumps({"boxes": [[1, 2, 5, 6 + i]] * i, "labels": list(range(i))}))
    bale.pack(tmp_path / "in", tmp_path / "pack", "--flat", "--pair", "jpg,png,json")
    torch("""
    import bale, bale.torch as bt
    fields = {"mask": bale.Field("png", kind="mask", dtype="int64"), "boxes": bale.Field("json", kind="boxes")}
    flip = bale.transforms.Compose([bale.transforms.Resize((12, 16)), bale.transforms.RandomHorizontalFlip(1.0)])
    with bt.Loader(sys.argv[1], 3, seed=1, transform=flip, fields=fields, workers=1) as loader:
        for images, labels, found in loader:
            assert list(found) == ["mask", "boxes", "boxes.labels"]
            assert found["mask"].shape == (3, 12, 16) and found["mask"].dtype == torch.int64
            for mask, boxes, classes in zip(found["mask"], found["boxes"], found["boxes.labels"]):
                i = int(mask[0, 0])
                assert boxes.shape == (i, 4) and boxes.dtype == torch.float32 and (mask == i).all()
                assert boxes.tolist() == [[11, 2, 15, 6 + i]] * i and classes.tolist() == list(range(i))
                assert classes.dtype == torch.int64
    numbered = {"boxes": bale.Field("json", kind="boxes", numbered=True)}
    with bt.Loader(sys.argv[1], 3, seed=1, transform=flip, fields=numbered, workers=1) as loader:
        for images, labels, found in loader:
            assert list(found) == ["boxes", "boxes.labels", "boxes.numbers"]
            assert all(numbers.tolist() == classes.tolist() for numbers, classes in zip(found["boxes.numbers"], found["boxes.labels"]))
    raises(ValueError, "is the name of the numbers",
           lambda: bt.Loader(sys.argv[1], 3, transform=flip, fields={**numbered, "boxes.numbers": "json"}))
    raises(ValueError, "is the name of the labels",
           lambda: bt.Loader(sys.argv[1], 3, transform=flip, fields={**fields, "boxes.labels": "json"}))
    """, tmp_path / "pack")
