"""decode="device", over the fake driver and the fake nvJPEG of the C++ tests, whose pixels are those of the workers."""
import io

import numpy as np
import pytest
from fake_cuda_support import ENVIRONMENT, PRELUDE
from PIL import Image
from python_support import SYSTEM_PYTHON, run_script
from test_python_cuda import TORCH

JPEGS_FOR_THE_DEVICE = 12  # of every_kind


def script(text, pack, **kwargs):
    return run_script(PRELUDE + text, pack, **{**ENVIRONMENT, **kwargs})


@pytest.fixture(params=["huffman", "planes"])
def every_kind(bale, tmp_path, request):
    """A pack of images of which the device decodes only some."""
    random = np.random.default_rng(1)

    def picture(width, height, mode="RGB", noise=8):
        across = np.linspace(0, 200, width)[None, :, None]
        values = across + np.arange(height)[:, None, None] % 50 + random.integers(0, noise, (height, width, 3))
        return Image.fromarray(values.clip(0, 255).astype("u1")).convert(mode)

    def save(number, image, kind="JPEG", **options):
        path = tmp_path / "images" / "one" / f"{number:02}.{'jpg' if kind == 'JPEG' else 'png'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, kind, **options)
        return path

    for number in range(JPEGS_FOR_THE_DEVICE):
        save(number, picture(90 + 7 * number, 140 - 5 * number), quality=85, subsampling=number % 3)
    save(20, picture(120, 100), progressive=True)
    save(21, picture(120, 100, "L"))
    save(22, picture(120, 100, "CMYK"))
    save(23, picture(120, 100), "PNG")
    save(24, picture(500, 500, noise=256), quality=100)  # more bytes than a row has
    bale.ok("pack", tmp_path / "images", tmp_path / "packed", "--jpeg-code", request.param)
    return tmp_path / "packed"


LOADERS = """
import sys, warnings, bale
spec = sys.argv[1]
options = dict(batch_size=4, seed=3, workers=2, transform=bale.transforms.train(32), tail="uneven")
"""


def test_what_the_device_does_not_decode_workers_do(every_kind):
    script(LOADERS + f"""
warnings.simplefilter("error")
for transform in (bale.transforms.train(32), bale.transforms.val(48),
                  bale.transforms.train(32, dtype="float16", layout="nchw", normalize=True)):
    options["transform"] = transform
    host = bale.Loader(spec, **options)
    device = bale.Loader(spec, device=bale.Cuda(decode="device"), **options)
    for epoch in range(2):
        for expected, batch in zip(host, device, strict=True):
            assert (read(batch.images) == expected.images).all() and batch.samples == expected.samples.tolist()
            assert (read(batch.labels) == expected.labels).all()
    counters = device.counters
    assert counters["samples"] == 2 * {JPEGS_FOR_THE_DEVICE + 5} and counters["decoded_after_refusal"] == 0
    # The copy thread may be ahead, in the next epoch.
    assert 2 * {JPEGS_FOR_THE_DEVICE} <= counters["decoded_on_device"] <= 3 * {JPEGS_FOR_THE_DEVICE}
    device.close()
    check()
""", every_kind)


def test_without_nvjpeg_workers_decode_and_a_warning_says_so(every_kind):
    script(LOADERS + """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    host = bale.Loader(spec, **options)
    device = bale.Loader(spec, device=bale.Cuda(decode="device"), **options)
    for epoch in range(2):
        for expected, batch in zip(host, device, strict=True):
            assert (read(batch.images) == expected.images).all()
reported = [str(one.message) for one in caught]
assert len(reported) == 1 and reported[0].startswith("bale.Loader: the device does not decode images, so workers do: /nothing/here.so: ")
assert device.counters["decoded_on_device"] == 0
check()
""", every_kind, BALE_NVJPEG="/nothing/here.so")


def test_a_device_that_stops_decoding_is_reported_later(every_kind):
    script(LOADERS + """
nvjpeg = ctypes.CDLL("libnvjpeg.so.12")
options["workers"] = 0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    host = bale.Loader(spec, **options)
    device = bale.Loader(spec, device=bale.Cuda(decode="device"), **options)
    for epoch in range(3):
        for expected, batch in zip(host, device, strict=True):
            assert (read(batch.images) == expected.images).all()
        assert len(caught) == (epoch > 0)
        for function in (b"nvjpegDecodeBatched", b"nvjpegDecode"):
            nvjpeg.fake_nvjpeg_refuse(function, 6)
assert "NVJPEG_STATUS_EXECUTION_FAILED" in str(caught[0].message)
assert device.counters["decoded_on_device"] > 0
device.close()
check()
""", every_kind)


def test_resuming(every_kind):
    script(LOADERS + """
device = bale.Loader(spec, device=bale.Cuda(decode="device"), **options)
batches = iter(device)
next(batches)
state = device.state_dict()
rest = [(batch.samples, read(batch.images)) for batch in batches]
again = bale.Loader(spec, device=bale.Cuda(decode="device"), **dict(options, workers=1))
again.load_state_dict(state)
for (samples, images), batch in zip(rest, again, strict=True):
    assert batch.samples == samples and (read(batch.images) == images).all()
check()
""", every_kind)


def test_tensors(every_kind):
    run_script(PRELUDE + TORCH + LOADERS + f"""
options |= dict(transform=bale.transforms.train(32, dtype="bfloat16", normalize=True), with_mask=True)
host, device = bt.Loader(spec, **options), bt.Loader(spec, device=bale.Cuda(decode="device"), **options)
for expected, got in zip(host, device, strict=True):
    assert all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))
assert device.counters["decoded_on_device"] >= {JPEGS_FOR_THE_DEVICE}
device.close()
check()
""", every_kind, python=SYSTEM_PYTHON, **ENVIRONMENT)


def test_what_cannot_be_is_refused(every_kind):
    script(LOADERS + """
T = bale.transforms
raises(ValueError, "decode='device' needs a device", lambda: bale.Loader(spec, device=bale.Cuda(None, decode="device")))
raises(ValueError, "decode: 'gpu' is neither 'host' nor 'device'", lambda: bale.Loader(spec, device=bale.Cuda(decode="gpu")))
def refused(words, transform, **more):
    raises(ValueError, words, lambda: bale.Loader(spec, **{"device": bale.Cuda(decode="device"), "transform": transform, **more}))
refused("the device cannot decode images for ColorJitter in the list of transforms", T.train(32, jitter=(0.4, 0.4, 0.4, 0)))
refused("the device cannot decode images for RandAugment in the list of transforms",
        T.Compose([T.RandomResizedCrop(32), T.RandAugment()]))
refused("the device cannot decode images for uint8 in the layout nchw", T.train(32, layout="nchw"))
refused("a device that decodes images also converts them", T.train(32, dtype="float16"), device=bale.Cuda(convert=False, decode="device"))
refused("on_bad_sample is substitute", T.train(32), on_bad_sample="substitute")
""", every_kind)


def test_where_the_library_is_looked_for(tmp_path):
    """In PyPI's packages, newest first, unless $BALE_NVJPEG names another."""
    for folder in ("nvjpeg/lib/libnvjpeg.so.12", "cu13/lib/libnvjpeg.so.13"):
        (tmp_path / "nvidia" / folder).parent.mkdir(parents=True)
        (tmp_path / "nvidia" / folder).touch()
    run_script("""
import os, sys
sys.path.insert(0, sys.argv[1])
os.environ.pop("BALE_NVJPEG", None)
from bale._loader.device import nvjpeg_path
assert nvjpeg_path() == sys.argv[1] + "/nvidia/cu13/lib/libnvjpeg.so.13", nvjpeg_path()
os.remove(nvjpeg_path())
assert nvjpeg_path() == sys.argv[1] + "/nvidia/nvjpeg/lib/libnvjpeg.so.12", nvjpeg_path()
os.remove(nvjpeg_path())
assert nvjpeg_path() == ""
os.environ["BALE_NVJPEG"] = "other"
assert nvjpeg_path() == "other"
""", tmp_path, python=SYSTEM_PYTHON)


def test_an_image_is_an_image(every_kind):
    """The fixture's JPEGs are what their comments say: otherwise the counts above would show nothing."""
    images = sorted((every_kind.parent / "images" / "one").iterdir())
    modes = [Image.open(io.BytesIO(path.read_bytes())) for path in images[JPEGS_FOR_THE_DEVICE:]]
    assert [(image.format, image.mode) for image in modes] == [("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"),
                                                                 ("PNG", "RGB"), ("JPEG", "RGB")]
    assert "progressive" in modes[0].info and images[-1].stat().st_size > 128 << 10
