"""Loaders with a mode: lists of transforms change images as torchvision changes PIL images of that mode."""
import io

import numpy as np
import pytest
from conftest import by_tier
from image_support import picture
from PIL import Image
from python_support import RAISES
from torch_support import Torch

HEAD = RAISES + """
import io, sys
import numpy as np
import PIL, torch
from PIL import Image
from torchvision import transforms as V
import bale
import bale.torch as bt
from bale import transforms as T
PACK = sys.argv[1]
PILLOW = "13" if int(PIL.__version__.split(".")[0]) >= 13 else "12"
with bale.Loader(PACK, 64, workers=0, shuffle=False, tail="uneven", transform=T.raw()) as loader:
    SOURCES = [Image.open(io.BytesIO(bytes(row))) for batch in loader for row in batch.images if len(row)]

def check(transform, mode, most=0):
    made = T.translate(transform, pillow=PILLOW)
    with bale.Loader(PACK, 8, workers=0, seed=3, shuffle=False, tail="drop", transform=made, reading=bale.Reading(mode=mode)) as loader:
        channels = {"L": 1, "RGB": 3, "RGBA": 4}[mode]
        for batch in loader:
            assert batch.images.shape[3] == channels
            for i, sample in enumerate(batch.samples):
                found = T.replay(batch.draw(i)["steps"], SOURCES[int(sample)].convert(mode))
                image, erase = found if isinstance(found, tuple) else (found, None)
                assert image.mode == mode, image.mode
                expected = np.asarray(image)
                expected = expected.reshape(*expected.shape[:2], channels)
                if made.dtype != "uint8":
                    tensor = torch.from_numpy(expected.copy()).permute(2, 0, 1).float() / 255
                    if made.normalize:
                        tensor = V.functional.normalize(tensor, *made.normalize)
                    expected = (erase(tensor) if erase else tensor).permute(1, 2, 0).numpy()
                    assert np.abs(batch.images[i] - expected).max() <= 2e-6
                else:
                    differing = np.abs(batch.images[i].astype(int) - expected).max()
                    assert differing <= most, (transform, mode, i, differing, batch.draw(i))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixteen images with alpha, opaque and transparent parts, in color and gray."""
    root = tmp_path_factory.mktemp("modes") / "in"
    (root / "a").mkdir(parents=True)
    for i in range(16):
        pixels = picture(60 + 3 * i, 50 + 2 * i, 4, seed=i)
        pixels[:20, :, 3] = 255
        pixels[20:30, 10:40, 3] = 0
        image = Image.fromarray(pixels)
        if i % 5 == 3:
            image = image.convert("LA")
        image.save(root / "a" / f"{i:02}.png")
    return root


@pytest.fixture(scope="module")
def run(bale, folder):
    bale.pack(folder, folder.parent / "pack")
    server = Torch("torchvision.transforms")
    yield lambda script: server(HEAD + script, folder.parent / "pack")
    server.close()


def test_geometry_and_the_end_of_a_list(run):
    run("""
CROP = V.RandomResizedCrop(32)
I = V.InterpolationMode
for mode in ("L", "RGB", "RGBA"):
    for one in [V.RandomHorizontalFlip(), V.RandomVerticalFlip(), V.RandomRotation(30), V.RandomRotation(30, I.BILINEAR, fill=9),
                V.RandomRotation((90, 90), I.BICUBIC), V.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10, I.BICUBIC, 77),
                V.RandomPerspective(0.5, 1), V.RandomPerspective(0.5, 1, I.NEAREST, 200), V.Pad(3, 7), V.Pad(3, padding_mode="reflect"),
                V.RandomCrop(24, 4), V.Resize((40, 17), I.BICUBIC), V.Resize((33, 32), I.NEAREST), V.Resize((20, 70), I.BOX),
                V.RandomChoice([V.RandomHorizontalFlip(), V.Pad(0)])]:
        check(V.Compose([CROP, one]), mode)
    check(V.Compose([V.Resize(40), V.CenterCrop(32)]), mode)
    check(V.Compose([V.RandomCrop(48), V.RandomHorizontalFlip(0.5)]), mode)
    count = {"L": 1, "RGB": 3, "RGBA": 4}[mode]
    mean = (0.4, 0.5, 0.6, 0.7)[:count]
    check(V.Compose([CROP, V.ToTensor(), V.Normalize(mean, (0.2, 0.3, 0.4, 0.5)[:count]), V.RandomErasing(1, value=0.5)]), mode)
""")


def test_colors(run):
    run("""
CROP = V.RandomResizedCrop(32)
for mode in ("L", "RGBA"):
    for one in [V.ColorJitter(0.4), V.ColorJitter(0, 0.4), V.ColorJitter(0, 0, 0.4), V.ColorJitter(hue=0.2), V.RandomAdjustSharpness(2, 1),
                V.Lambda(lambda image: image.convert("RGB"))]:
        check(V.Compose([CROP, one]), mode)
    check(V.Compose([CROP, V.GaussianBlur(5)]), mode, 1)
    check([CROP, T.PillowGaussianBlur((0.5, 2))], mode)
for one in [V.RandomGrayscale(1), V.RandomSolarize(100, 1), V.RandomPosterize(3, 1), V.RandomEqualize(1), V.RandomAutocontrast(1),
            V.RandomInvert(1), V.AutoAugment(), V.RandAugment(4), V.TrivialAugmentWide(), V.AugMix(), V.Grayscale(3)]:
    check(V.Compose([CROP, one]), "L")
    raises(ValueError, "torchvision does not do this to PIL images of mode RGBA",
           lambda: bale.Loader(PACK, transform=T.translate([CROP, one]), reading=bale.Reading(mode="RGBA")))
""")


def test_one_channel_at_the_end(run):
    """Grayscale(1) in the middle of a list: what follows it changes gray images."""
    run("""
import random
transform = V.Compose([V.Resize(40), V.CenterCrop(32), V.Grayscale(), V.ToTensor(), V.Normalize((0.4,), (0.2,))])
other = V.Compose([V.Resize(40), V.CenterCrop(32), V.Lambda(lambda image: image.convert("L"))])
expected = [transform(source.convert("RGB")) for source in SOURCES]
for workers in (0, 2):
    with bt.Loader(PACK, 4, workers=workers, shuffle=False, transform=T.translate(transform, pillow=PILLOW)) as loader:
        assert loader.transform.mode == "RGB"
        found = torch.cat([images.clone() for images, _ in loader])
    assert found.shape == (16, 1, 32, 32) and (found - torch.stack(expected)).abs().max() <= 2e-6
made = T.Compose([*T.translate(transform).transforms[:3], T.RandomEqualize(1), T.RandomInvert(1)], "nchw", PILLOW)
with bale.Loader(PACK, 4, workers=0, shuffle=False, transform=made) as loader:
    for batch in loader:
        assert batch.images.shape == (4, 1, 32, 32)
        for i, sample in enumerate(batch.samples):
            gray = np.asarray(T.replay(batch.draw(i)["steps"], SOURCES[int(sample)].convert("RGB")))
            assert (gray[:, :, 0] == batch.images[i, 0]).all()
assert T.translate(other).transforms[2] == T.Grayscale(1)
""")


def test_wrong_modes_and_lists_are_refused(run):
    run("""
crop = T.RandomResizedCrop(32)
def loader(transform, mode, **options):
    return lambda: bale.Loader(PACK, transform=transform, reading=bale.Reading(mode=mode), **options).close()
raises(ValueError, "mode: 'CMYK' is none of", loader(T.Compose([crop]), "CMYK"))
raises(ValueError, "I;16 can be cropped, flipped and resized only", loader(T.Compose([crop, T.RandomInvert()]), "I;16"))
raises(ValueError, "transforms[1].RandomApply[0].RandomRotation: images of mode I;16", loader(T.Compose([crop, T.RandomApply([T.RandomRotation(3)])]), "I;16"))
raises(ValueError, "padding is not possible in images of mode I;16", loader(T.Compose([T.RandomCrop(3, 1)]), "I;16"))
raises(ValueError, "mode I;16 yields uint16", loader(T.Compose([crop, T.ToTensor()]), "I;16"))
raises(ValueError, "mode I;16 yields uint16", loader(T.val(32, dtype="float32"), "I;16"))
raises(ValueError, "fill must be one number", loader(T.Compose([crop, T.Pad(3, (1, 2, 3)), crop]), "L"))
raises(ValueError, "Normalize has 3 means, and the images have 1 channels", loader(T.Compose([crop, T.ToTensor(), T.Normalize()]), "L"))
raises(ValueError, "Normalize has 3 means, and the images have 4 channels", loader(T.val(32, dtype="float32", normalize=True), "RGBA"))
raises(ValueError, "Normalize has 1 means, and the images have 3 channels", loader(T.val(32, dtype="float32", normalize=((0.5,), (0.5,))), None))
raises(ValueError, "RandomGrayscale: torchvision does not do this to PIL images of mode RGBA", loader(T.train(32, gray=0.5), "RGBA"))
raises(ValueError, "raw ones are not", loader(T.raw(), "L"))
raises(ValueError, "mix needs a transform of a fixed shape and a float dtype", loader(T.val(32), "I;16", mix=T.Mix(0.5)))
raises(ValueError, "must not be inside another transform", lambda: bale.Loader(PACK, transform=T.Compose([crop, T.RandomApply([T.Grayscale(1)])])))
raises(ValueError, "mode: 'CMYK' is not", lambda: T.Compose([crop], mode="CMYK"))
""")


def test_ready_made_lists_and_torch(run):
    run("""
for mode, channels in (("L", 1), ("RGBA", 4)):
    sources = [np.asarray(source.convert(mode)).reshape(source.height, source.width, channels) for source in SOURCES]
    for layout in ("nhwc", "nchw"):
        for transform in (T.ragged(layout=layout), T.padded((90, 110), layout=layout)):
            with bt.Loader(PACK, 4, workers=2, shuffle=False, transform=transform, reading=bale.Reading(mode=mode)) as loader:
                images = [image.clone() for batch, _ in loader for image in batch]
            for image, source in zip(images, sources, strict=True):
                part = image[:, :source.shape[0], :source.shape[1]]
                assert image.shape[0] == channels and np.array_equal(part.permute(1, 2, 0).numpy(), source)
    mean = ((0.5,) * channels, (0.25,) * channels)
    with bt.Loader(PACK, 4, workers=2, shuffle=False, reading=bale.Reading(mode=mode), mix=T.Mix(0.4),
                   transform=T.train(32, jitter=(0.4, 0.4, 0.4, 0), dtype="float16", normalize=mean)) as loader:
        for images, _ in loader:
            assert images.shape == (4, channels, 32, 32) and images.dtype == torch.float16
            assert images.is_contiguous(memory_format=torch.channels_last)
    views = [T.Compose([T.RandomResizedCrop(32)])] * 2 + [T.Compose([T.RandomResizedCrop(16)])]
    with bt.Loader(PACK, 4, workers=2, views=views, reading=bale.Reading(mode=mode)) as loader:
        for images, _ in loader:
            assert [tuple(view.shape) for view in images] == [(4, channels, 32, 32)] * 2 + [(4, channels, 16, 16)]
    image, _ = bt.Dataset(PACK, mode=mode)[3]
    assert image.mode == mode and np.array_equal(np.asarray(image).reshape(sources[3].shape), sources[3])
    stream = bt.IterableDataset(PACK, mode=mode, decode="tensor", shuffle=False)
    assert next(iter(stream))[0].shape[0] == channels
error = raises(bale.Error, "not an image of 16-bit gray", lambda: bt.Dataset(PACK, mode="I;16")[0])
assert error.code == "unsupported"
raises(ValueError, "mode: 'P' is none of", lambda: bt.Dataset(PACK, mode="P"))
""")


# --- I;16

def deep(folder, count=9):
    """16-bit gray images as PNG and TIFF, of which one is of 8 bits."""
    (folder / "a").mkdir(parents=True)
    for i in range(count):
        random = np.random.default_rng(i)
        values = random.integers(0, 65536, (40 + i, 61 - i)).astype(np.uint16)
        if i % 2:
            values[: 20] = np.sort(values[: 20], axis=1)
        image = Image.fromarray(values) if i != 4 else Image.fromarray((values >> 8).astype(np.uint8))
        image.save(folder / "a" / (f"{i}.tif" if i % 3 == 1 else f"{i}.png"))


def test_16_bit_images(bale, tmp_path):
    import bale as package
    from bale import transforms as T
    deep(tmp_path / "in")
    bale.pack(tmp_path / "in", tmp_path / "pack")
    names = ("bilinear", "bicubic", "lanczos", "box", "hamming", "nearest")
    crops = [T.RandomResizedCrop(by_tier(24, 57), (0.3, 1), interpolation=name) for name in names]
    lists = [[crop, T.RandomHorizontalFlip(), T.RandomVerticalFlip()] for crop in crops]
    lists += [[T.Resize((70, 20), name)] for name in names] + [[T.RandomCrop(30)], [T.CenterCrop(100)], [T.Resize((10, 80)), T.CenterCrop(90)]]
    sources = package.Dataset(tmp_path / "pack")
    for one in lists:
        with package.Loader(tmp_path / "pack", 3, workers=0, seed=2, transform=T.Compose(one), reading=package.Reading(mode="I;16"),
                            on_bad_sample="skip") as loader:
            for batch in loader:
                assert batch.images.dtype == np.uint16 and batch.images.shape[3] == 1
                for i, (sample, is_there) in enumerate(zip(batch.samples, batch.mask)):
                    if not is_there:
                        continue
                    image = Image.open(io.BytesIO(sources.read_image(int(sample))))
                    assert image.mode == "I;16"
                    for step in batch.draw(i)["steps"]:
                        if step["name"] == "Pad":  # which replay() leaves to torchvision
                            sides = ((step["top"], step["bottom"]), (step["left"], step["right"]))
                            image = Image.fromarray(np.pad(np.asarray(image), sides))
                        else:
                            image = T.replay([step], image)
                    expected = np.asarray(image)
                    most = 1 if "hamming" in repr(one) or "lanczos" in repr(one) else 0  # sines
                    differing = np.abs(batch.images[i, :, :, 0].astype(int) - expected)
                    assert differing.shape == expected.shape and differing.max() <= most, (one, i)
            assert [bad.key for bad in loader.bad_samples] == ["a/4"]
            assert "not an image of 16-bit gray" in loader.bad_samples[0].reason
    with package.Loader(tmp_path / "pack", 3, workers=0, transform=T.val(24), reading=package.Reading(mode="I;16")) as loader, pytest.raises(package.Error) as error:
        list(loader)
    assert "not an image of 16-bit gray, which mode I;16 needs" in str(error.value)
