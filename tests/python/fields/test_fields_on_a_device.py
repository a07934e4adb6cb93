"""Fields of batches on a device, over the fake driver: ordinary memory, copied out of the slot."""
import pytest
from conftest import REPO
from fake_cuda_support import ENVIRONMENT, PRELUDE
from fields_support import PAIR, SIZE, write_folder
from python_support import SYSTEM_PYTHON, run_script
from test_python_cuda import TORCH

MODULES = ":".join(f"{REPO}/tests/python/{folder}" for folder in (".", "support", "fields", "transforms"))
HEAD = PRELUDE + """
import sys
sys.path[:0] = sys.argv[2].split(":")
import bale
from bale import transforms as T
from fields_support import FIELDS, check as check_fields, content as content_of, sample
spec = sys.argv[1]
TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToDtype("float16")])
def load(spec=spec, batch_size=6, **options):
    return bale.Loader(spec, batch_size, **{"workers": 2, "threads": True, "seed": 5, "transform": TRAIN, "fields": FIELDS, **options})
def fields_of(batch):
    fields = batch.fields
    return (batch.keys, fields["caption"], fields["meta"].bytes, fields["embedding"].tobytes(), bytes(fields["raw"].data),
            fields["raw"].offsets.tolist(), [fields.present(name).tolist() for name in fields])
"""


@pytest.fixture(scope="module")
def captioned(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("fields_on_a_device")
    bale.pack(write_folder(root / "in", SIZE), root / "pack", *PAIR)
    return root / "pack"


@pytest.fixture
def run(captioned, request):
    return lambda script, **more: run_script(HEAD + script, captioned, MODULES, **{**ENVIRONMENT, **more})


def test_they_are_those_of_the_host(run):
    run("""
for how in ({}, {"threads": False}, {"workers": 0, "prefetch": 1}, {"transform": T.train(16)}, {"device": bale.Cuda(convert=False)}):
    host = load(**{name: value for name, value in how.items() if name != "device"} | ({"prefetch": 2} if "prefetch" in how else {}))
    device = load(**{"device": "cuda", **how})
    for _ in range(2):
        for expected, batch in zip(host, device, strict=True):
            check_fields(batch)
            assert fields_of(batch) == fields_of(expected)
            assert (read(batch.images) == expected.images).all() and batch.partners is None
    host.close()
    device.close()
check()
""")


def test_ranks_states_and_batches_that_are_kept(run):
    run("""
numbers = []
for rank in range(3):
    with load(device=bale.Cuda(depth=3), rank=rank, world_size=3, tail="drop", prefetch=2) as device:
        kept = list(device)
        for batch in kept:
            numbers += check_fields(batch)
assert len(numbers) == len(set(numbers)) == 36
with load() as host, load(device="cuda") as first, load(device="cuda") as second:
    expected = [fields_of(batch) for batch in host]
    iterator = iter(first)
    begun = [fields_of(next(iterator)) for _ in range(3)]  # further ones are copied already
    second.load_state_dict(first.state_dict())
    assert begun + [fields_of(batch) for batch in second] == expected
    second.set_epoch(4)
    host.set_epoch(4)
    assert [fields_of(batch) for batch in second] == [fields_of(batch) for batch in host]
check()
""")


def test_arrays_keep_no_memory_of_the_device(run):
    """And no slot: a loader of two slots goes on while all arrays of an epoch are kept."""
    run("""
import gc
with load(device=bale.Cuda(depth=1, hold=2), prefetch=2) as device:  # the loop has one batch while it asks for the next
    kept = [(batch.fields["embedding"], batch.fields["raw"], list(batch.keys)) for batch in device]
    assert device.counters["batches_beyond_hold"] == 0
    gc.collect()
check()
gc.collect()
assert fake.fake_cuda_num_live() == 0
for embeddings, raw, keys in kept:
    assert [bytes(row) for row in raw] == [sample(int(key[-3:]))["bin"] for key in keys] and len(embeddings) == len(keys)
""")


def test_optional_and_skipped_rows(run):
    run("""
fields = {**FIELDS, "note": bale.Field("none.txt", optional=True)}
for tail in ("pad", "uneven"):
    options = {"fields": fields, "tail": tail, "rank": 2, "world_size": 3, "batch_size": 7}
    with load(**options) as host, load(device="cuda", **options) as device:
        for expected, batch in zip(host, device, strict=True):
            assert fields_of(batch) == fields_of(expected) and set(batch.fields["note"]) == {""}
            assert not batch.fields.present("note").any()
check()
""")


def test_mixing_and_what_is_refused(run):
    run("""
mix = T.Mix(mixup=0.8, cutmix=1.0)
with load(mix=mix) as host, load(mix=mix, device="cuda") as device:
    for expected, batch in zip(host, device, strict=True):
        check_fields(batch)
        assert (batch.partners == expected.partners).all() and batch.partners.dtype == numpy.int64
        assert (read(batch.images) == expected.images).all()
target = {"m": bale.Field("npy", kind="boxes")}
words = "masks, boxes and keypoints cannot follow images that the device mirrors or mixes"
raises(ValueError, words, lambda: load(device="cuda", mix=mix, fields=target))
raises(ValueError, words, lambda: load(device=bale.Cuda(hflip=0.5), transform=T.val(16, dtype="float16"), fields=target))
raises(ValueError, 'no sample has the field "tiff"; the dataset has ', lambda: load(device="cuda", fields={"a": "tiff"}))
check()
""")


def test_targets(bale, request, tmp_path):
    from test_targets import PACK, write

    bale.pack(write(tmp_path / "src"), tmp_path / "pack", *PACK)
    run_script(HEAD + """
from test_targets import FIELDS, TRAIN, check as check_targets
options = {"fields": FIELDS, "transform": T.Compose([*TRAIN.transforms, T.ToDtype("float16")])}
with load(**options) as host, load(device="cuda", **options) as device:
    for expected, batch in zip(host, device, strict=True):
        check_targets(expected, range(len(expected)))
        for name in FIELDS:
            if name == "mask":
                assert (batch.fields[name] == expected.fields[name]).all()
                continue
            for ours, theirs in ((expected.fields[name], batch.fields[name]), (expected.fields.labels(name), batch.fields.labels(name))):
                assert (ours.data == theirs.data).all() and (ours.offsets == theirs.offsets).all()
check()
""", tmp_path / "pack", MODULES, **ENVIRONMENT)


def test_tensors(run):
    """Of bale.torch.Loader: tensors and Ragged go to the device from page-locked memory; text and JSON stay."""
    run(TORCH + """
moved = []
def to_device(tensor, device):
    assert device == torch.device("cuda", 0) and tensor.device.type == "cpu"
    moved.append(tensor)
    return tensor.clone()
bale.torch._loader.conversion.to_device = to_device
fields = {**FIELDS, "note": bale.Field("none.txt", optional=True)}
options = {"workers": 1, "threads": True, "seed": 5, "transform": TRAIN, "fields": fields, "with_samples": True, "with_mask": True}
for more in ({}, {"mix": T.Mix(mixup=0.8)}, {"tail": "uneven", "rank": 2, "world_size": 3, "with_mask": False}):
    with bt.Loader(spec, 7, **options | more) as host, bt.Loader(spec, 7, device="cuda", **options | more) as device:
        for (*_, theirs_samples, theirs), (images, *_, samples, ours) in zip(host, device, strict=True):
            assert list(ours) == list(theirs) and samples.keys == theirs_samples.keys
            assert ours["caption"] == theirs["caption"] and list(ours["meta"]) == list(theirs["meta"])
            tensors = [name for name in ours if isinstance(ours[name], torch.Tensor)]
            assert set(tensors) == {"embedding", "note.present"} | ({"partners"} if "mix" in more else set())
            assert all(torch.equal(ours[name], theirs[name]) and len(ours[name]) == len(images) for name in tensors)
            assert torch.equal(ours["raw"].data, theirs["raw"].data) and torch.equal(ours["raw"].offsets, theirs["raw"].offsets)
            assert len(moved) == len(tensors) + 2
            moved.clear()
raises(ValueError, "is the name of the rows that were mixed in",
       lambda: bt.Loader(spec, 7, device="cuda", **options | {"mix": T.Mix(mixup=0.8), "fields": {"partners": "txt"}}))
check()
""", python=SYSTEM_PYTHON)
