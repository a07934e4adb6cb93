"""Batches on a device, in Python: over the fake driver of the C++ tests, in processes of their own."""
import pytest
from fake_cuda_support import ENVIRONMENT, PRELUDE
from python_support import run_script
from torch_support import Torch


@pytest.fixture(scope="module")
def torch():
    server = Torch(**ENVIRONMENT)
    yield server
    server.close()


def script(text, pack, **kwargs):
    return run_script(PRELUDE + text, pack, **{**ENVIRONMENT, **kwargs})


LOADERS = """
import sys, bale
spec = sys.argv[1]
def pair(transform, **options):
    options = dict(batch_size=8, seed=3, workers=2, threads=True, transform=transform) | options
    return bale.Loader(spec, **options), bale.Loader(spec, device="cuda", **options)
"""


def test_batches_are_those_of_the_host(pack):
    script(LOADERS + """
assert bale.cuda_available()
for dtype in ("uint8", "float16", "float32"):
    for layout in ("nhwc", "nchw"):
        transform = bale.transforms.train(32, dtype=dtype, layout=layout, normalize=dtype != "uint8")
        host, device = pair(transform)
        for epoch in range(2):
            for expected, batch in zip(host, device, strict=True):
                assert (batch.epoch, batch.index, len(batch)) == (expected.epoch, expected.index, len(expected))
                assert batch.samples == expected.samples.tolist()
                images, labels = batch
                assert images.shape == expected.images.shape and len(images) == len(batch)
                assert (read(images) == expected.images).all()
                assert read(images).dtype == expected.images.dtype
                assert (read(labels) == expected.labels).all()
                assert (read(batch.mask) == expected.mask).all()
                assert batch.device == 0 and batch.partner_labels is None and batch.shares is None
                assert images.__dlpack_device__() == (2, 0)
            assert device.state_dict() == host.state_dict()
            assert device.epoch == host.epoch == epoch + 1
        device.close()
        check()
assert fake.fake_cuda_num_live() <= 40  # what the last batch keeps
del images, labels, batch
import gc; gc.collect()
check()
assert fake.fake_cuda_num_live() == 0
""", pack)


def test_resuming_and_jumping(pack):
    script(LOADERS + """
host, device = pair(bale.transforms.train(16))
for i, batch in enumerate(device):
    if i == 2:
        break
state = device.state_dict()
host.load_state_dict(state)
rest = [batch.samples.tolist() for batch in host]
again = bale.Loader(spec, device="cuda", batch_size=8, seed=3, workers=1, transform=bale.transforms.train(16))
again.load_state_dict(state)
assert [batch.samples for batch in again] == rest
device.set_epoch(5)
host.set_epoch(5)
assert [batch.samples for batch in device] == [batch.samples.tolist() for batch in host]
assert device.counters["copied_bytes"] > 0 and device.counters["batches"] == 8 and len(device.worker_pids) == 0
check()
""", pack)


def test_a_batch_is_an_array_too(pack):
    """What takes an array of a device takes a batch: its images. A batch of the host says nothing of CUDA."""
    script(LOADERS + """
host, device = pair(bale.transforms.train(32))
for expected, batch in zip(host, device, strict=True):
    assert not hasattr(expected, "__cuda_array_interface__")
    assert (read(batch) == expected.images).all()
    interface = batch.__cuda_array_interface__
    assert interface == batch.images.__cuda_array_interface__ and interface["stream"] == 1  # the default stream's number
    assert batch.__dlpack_device__() == (2, 0)
    images = tensor(batch.__dlpack__(stream=2))
    assert [images.shape[i] for i in range(4)] == list(expected.images.shape)
check()
""", pack)


def test_dlpack_has_another_stream_wait(pack):
    script(LOADERS + """

host, device = pair(bale.transforms.train(32, dtype="bfloat16", normalize=True))
for expected, batch in zip(host, device, strict=True):
    images = tensor(batch.images.__dlpack__(stream=2))  # the per-thread default stream
    assert (images.device_type, images.device_id, images.code, images.bits) == (2, 0, 4, 16)
    bits = read_memory(images.data, expected.images.shape, expected.images.strides, "u2", stream=2)
    assert (bits == expected.images).all()
    raises(AttributeError, "bfloat16", lambda: batch.images.__cuda_array_interface__)
    pixels, labels = map(tensor, batch.capsules(2))
    assert [pixels.shape[i] for i in range(4)] == [8, 3, 32, 32]
    assert [pixels.strides[i] for i in range(4)] == [32 * 32 * 3, 1, 32 * 3, 3]
    assert (labels.code, labels.bits, labels.shape[0]) == (0, 64, 8)
    batch.images.__dlpack__(stream=-1, max_version=(1, 0))
check()
""", pack)


def test_mixing(pack):
    script(LOADERS + """
transform = bale.transforms.train(32, dtype="float32", layout="nchw", normalize=True)
options = dict(batch_size=8, seed=3, workers=1, transform=transform)
host = bale.Loader(spec, **options)
device = bale.Loader(spec, device="cuda", mix=bale.transforms.Mix(mixup=0.8), **options)
for expected, batch in zip(host, device, strict=True):
    shares = read(batch.shares).reshape(-1, 1, 1, 1)
    assert ((0 <= shares) & (shares <= 1)).all() and len(set(shares.ravel().tolist())) == 1
    assert (read(batch.partner_labels) == numpy.roll(expected.labels, 1)).all()
    mixed = shares * expected.images + (numpy.float32(1) - shares) * numpy.roll(expected.images, 1, axis=0)
    assert numpy.allclose(read(batch.images), mixed, atol=1e-5)
check()
""", pack)


def test_what_is_refused(pack):
    script(LOADERS + """
def refused(what, **options):
    raises((ValueError, bale.Error), what, lambda: bale.Loader(spec, **options))
refused("neither 'cuda' nor", device="gpu")
refused("neither 'cuda' nor", device="cuda:x")
refused("no CUDA device 7", device="cuda:7")
refused("differ in size", device="cuda", transform=bale.transforms.ragged())
refused("needs a device", device=bale.Cuda(None, hflip=0.5))
refused("need a float dtype", device="cuda", mix=bale.transforms.Mix(mixup=1))
refused("hold of 0", device=bale.Cuda(hold=0))
""", pack)


def test_all_batches_may_be_kept(pack):
    script(LOADERS + """
for dtype in ("uint8", "float16"):
    options = dict(batch_size=8, seed=3, workers=2, threads=True,
                   transform=bale.transforms.train(32, dtype=dtype, normalize=dtype != "uint8"))
    host, device = bale.Loader(spec, **options), bale.Loader(spec, device=bale.Cuda(hold=2), **options)
    kept = list(device)
    assert [batch.is_beyond_hold for batch in kept] == [False, False, True, True, True]
    assert device.counters["batches_beyond_hold"] == 3
    for expected, batch in zip(host, kept, strict=True):
        assert (read(batch.images) == expected.images).all() and (read(batch.labels) == expected.labels).all()
    del kept, batch
    assert sum(1 for batch in device) == 5
    device.close()
check()
""", pack)


def test_no_driver(pack, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library")
    run_script("""
import sys, bale
assert not bale.cuda_available()
try:
    bale.Loader(sys.argv[1], device="cuda")
except FileNotFoundError as error:
    assert "no CUDA driver" in str(error) and "install NVIDIA's driver" in str(error)
else:
    raise AssertionError("no error")
""", pack, LD_LIBRARY_PATH=str(tmp_path))


def test_faults(pack):
    """Workers killed during copies, exceptions in the loop, a device out of memory: batches stay those of the host."""
    script(LOADERS + """
import contextlib, os, signal, zlib
OUT_OF_MEMORY = 2
def checksums(batch, read):
    return zlib.crc32(read(batch.images).tobytes()), zlib.crc32(read(batch.labels).tobytes())
class OfTheConsumer(Exception):
    pass

transform = bale.transforms.train(32, dtype="float16", layout="nchw", normalize=True)
fake.fake_cuda_fail_once(b"cuMemAlloc_v2", OUT_OF_MEMORY)
error = raises(bale.Error, "out of memory", lambda: bale.Loader(spec, device="cuda", transform=transform))
assert error.code == "io" and "reduce batch_size" in str(error), error
del error
assert fake.fake_cuda_num_live() == 0

EPOCHS = 6
host, device = pair(transform, threads=False, batch_size=4)
expected = [checksums(batch, lambda array: array) for epoch in range(EPOCHS) for batch in host]
got, reported, kills, thrown = [], 0, 0, 0
functions = [b"cuMemcpyHtoDAsync_v2", b"cuStreamWaitEvent", b"cuEventRecord", b"cuEventQuery"]
functions += [b"cuLaunchKernel"]
while device.epoch < EPOCHS:
    state = device.state_dict()
    try:
        for batch in device:
            got.append(checksums(batch, read))
            state = device.state_dict()
            if len(got) % 3 == 0 and device.worker_pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(device.worker_pids[len(got) % len(device.worker_pids)], signal.SIGKILL)
                    kills += 1
            if len(got) % 4 == 0:
                fake.fake_cuda_fail_once(functions[len(got) // 4 % len(functions)], OUT_OF_MEMORY)
            if len(got) % 7 == 0:
                raise OfTheConsumer
    except OfTheConsumer:
        thrown += 1
        device.load_state_dict(state)
    except bale.Error as error:
        assert "out of memory" in str(error), error
        reported += 1
        device.load_state_dict(state)
assert got == expected
assert kills > 10 and thrown > 5 and reported > 0, (kills, thrown, reported)
assert device.bad_samples == []
check()
""", pack)


def test_forks_and_the_end_of_the_interpreter(pack):
    """Batches and loaders that live at the end, or in a forked child, do no harm and leave nothing."""
    out = script(LOADERS + """
import os
host, device = pair(bale.transforms.train(32))
batches = iter(device)
batch = next(batches)
images = batch.images
sys.stdout.flush()
child = os.fork()
if child == 0:
    calls = 0
    for use in (lambda: next(batches), lambda: batch.use_on(1), lambda: device.set_epoch(3)):
        try:
            use()
        except bale.Error as error:
            calls += "process" in str(error)
    del batch, images, batches, device
    os._exit(0 if calls == 3 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
expected = next(iter(host))
assert (read(images) == expected.images).all()
check()
print("ended")
""", pack)
    assert out == "ended\n"


TORCH = """
import types
import torch, torch.utils.dlpack
import bale.torch as bt, bale.torch._loader.conversion
# What a torch with CUDA has, and this one has not: capsules of the device become tensors of what lies there.
TYPES = {(0, 64): torch.int64, (1, 8): torch.uint8, (2, 16): torch.float16, (4, 16): torch.bfloat16, (2, 32): torch.float32}
def from_device(exported):
    managed = tensor(exported if not hasattr(exported, "__dlpack__") else exported.__dlpack__(stream=STREAM))
    assert managed.device_type == 2
    dtype = TYPES[managed.code, managed.bits]
    shape = [managed.shape[i] for i in range(managed.ndim)]
    strides = [managed.strides[i] for i in range(managed.ndim)]
    flat = torch.empty(int(numpy.prod(shape)), dtype=dtype)
    assert fake.fake_cuda_read(flat.data_ptr(), managed.data, flat.numel() * flat.element_size(), STREAM) == 0
    return flat.as_strided(shape, strides)
STREAM = 2
bale.torch._loader.conversion.tensor_of = from_device
torch.cuda.current_stream = lambda device=None: types.SimpleNamespace(cuda_stream=STREAM)
torch.cuda.current_device = lambda: 0
"""


def test_tensors(torch, pack):
    torch(PRELUDE + TORCH + LOADERS + """
for dtype in ("uint8", "float16", "bfloat16", "float32"):
    for layout in ("nhwc", "nchw"):
        transform = bale.transforms.val(32, dtype=dtype, layout=layout, normalize=dtype != "uint8")
        options = dict(batch_size=16, workers=1, threads=True, seed=2, transform=transform, with_mask=True)
        host, device = bt.Loader(spec, **options), bt.Loader(spec, device="cuda", **options)
        assert device.device == torch.device("cuda", 0) and device.transform == transform
        for expected, got in zip(host, device):
            for a, b in zip(expected, got):
                assert a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride(), (a.stride(), b.stride())
                assert torch.equal(a, b)
        device.close()
check()
raises(ValueError, "neither a CUDA device", lambda: bt.Loader(spec, device="meta"))
""", pack)


def test_all_tensors_may_be_kept(torch, pack):
    """list(loader) with one warning; targets alone keep nothing on the device."""
    torch(PRELUDE + TORCH + LOADERS + """
import warnings
options = dict(batch_size=8, workers=1, threads=True, seed=2, transform=bale.transforms.train(32), with_mask=True)
host, device = bt.Loader(spec, **options), bt.Loader(spec, device=bale.Cuda(hold=2), **options)
# A torch with CUDA makes views of the device; here whatever is read from it keeps its batch, unless it is cloned.
keeping = bale.torch._loader.conversion.tensor_of
class View(torch.Tensor):
    pass
def view(exported):
    made = keeping(exported).as_subclass(View)
    made.exported = exported
    return made
def slice_of(self, rows):
    made = torch.Tensor.__getitem__(self, rows)
    made.exported = self.exported
    return made
View.__getitem__ = slice_of
bale.torch._loader.conversion.tensor_of = view
with warnings.catch_warnings():
    warnings.simplefilter("error")
    targets = [labels for _, labels, _ in device]
    masks = [mask for _, _, mask in device]
assert device.counters["batches_beyond_hold"] == 0
assert [labels.tolist() for labels in targets] == [labels.tolist() for _, labels, _ in host]
host.set_epoch(2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kept = list(device)
assert len(caught) == 1 and "more of its memory is taken for each further one" in str(caught[0].message), caught
assert device.counters["batches_beyond_hold"] == len(kept) - 2 == 3
for expected, got in zip(host, kept, strict=True):
    assert all(torch.equal(a, b) for a, b in zip(expected, got))
check()
""", pack)


def test_what_a_driver_refuses_is_done_in_a_slower_way(torch, pack):
    """No page-locked memory, no kernels: the same tensors, one warning of each, counted."""
    torch(PRELUDE + TORCH + LOADERS + """
import warnings
NOT_SUPPORTED, UNSUPPORTED_PTX_VERSION = 801, 222
fake.fake_cuda_refuse(b"cuMemHostRegister_v2", NOT_SUPPORTED)
fake.fake_cuda_refuse(b"cuModuleLoadData", UNSUPPORTED_PTX_VERSION)
for dtype in ("float16", "float32"):
    transform = bale.transforms.train(32, dtype=dtype, layout="nchw", normalize=True)
    options = dict(batch_size=8, workers=1, threads=True, seed=2, transform=transform)
    host, device = bt.Loader(spec, **options), bt.Loader(spec, device="cuda", **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            for expected, got in zip(host, device, strict=True):
                for a, b in zip(expected, got):
                    assert a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)
    reported = sorted(str(warning.message) for warning in caught)
    assert len(reported) == 2 and all(warning.category is RuntimeWarning for warning in caught), reported
    assert "does not take bale's kernels, so workers convert pixels" in reported[0], reported
    assert "does not page-lock memory, so copies to the device are slower" in reported[1], reported
    assert device.counters["pageable_bytes"] == device.counters["copied_bytes"] > 0
    device.close()
check()
""", pack)


def test_workers_may_convert(pack):
    script(LOADERS + """
transform = bale.transforms.train(32, dtype="float32", layout="nchw", normalize=True)
options = dict(batch_size=8, seed=3, workers=1, transform=transform)
with bale.Loader(spec, device="cuda", **options) as device, bale.Loader(spec, device=bale.Cuda(convert=False), **options) as workers:
    for there, here in zip(device, workers, strict=True):
        assert (read(there.images) == read(here.images)).all()
    # Four times the bytes per batch. Some of the next epoch may have been copied ahead.
    assert workers.counters["copied_bytes"] > 1.5 * device.counters["copied_bytes"]
check()
""", pack)


def test_mixed_tensors(torch, pack):
    torch(PRELUDE + TORCH + LOADERS + """
transform = bale.transforms.train(32, dtype="float32", layout="nchw", normalize=True)
options = dict(batch_size=8, workers=1, threads=True, seed=2, transform=transform)
host = bt.Loader(spec, **options)
device = bt.Loader(spec, device="cuda", mix=bale.transforms.Mix(mixup=0.8, cutmix=1.0), **options)
for (images, labels), (mixed, (own, partners, shares)) in zip(host, device):
    assert torch.equal(own, labels) and torch.equal(partners, labels.roll(1))
    share = shares[0].item()
    # torchvision's MixUp, in its order of operations.
    blended = images.roll(1, 0).mul_(1.0 - share).add_(images.mul(share))
    pasted = (mixed == images) | (mixed == images.roll(1, 0))
    assert torch.allclose(mixed, blended, atol=1e-6) or pasted.all()
check()
""", pack)
