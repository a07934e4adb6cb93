"""bale.transforms.replay: recorded steps give what torchvision's functions give of the same image and parameters."""
import pytest
from torch_support import Torch

START = """
import json
import numpy as np
import torch
from PIL import Image, ImageFilter
from torchvision.transforms import functional as F, InterpolationMode as I
from bale.transforms import replay
image = Image.fromarray(np.random.default_rng(3).integers(0, 256, (33, 47, 3), dtype=np.uint8)).resize((61, 47), Image.BICUBIC)
def step(name, **members):
    return replay(json.dumps([{"name": name, **members}]), image)
def same(one, other):
    assert one.size == other.size and one.mode == other.mode == "RGB", (one, other)
    assert one.tobytes() == other.tobytes()
"""


@pytest.fixture(scope="module")
def run():
    server = Torch("torchvision.transforms.functional")
    yield lambda script: server(START + script)
    server.close()


def test_steps(run):
    run("""
same(step("Crop", left=-3, top=5, width=40, height=50), F.crop(image, 5, -3, 50, 40))
same(step("Pad", left=1, top=2, right=3, bottom=4, mode="reflect", fill=[0, 0, 0]), F.pad(image, [1, 2, 3, 4], 0, "reflect"))
same(step("Pad", left=1, top=2, right=3, bottom=4, mode="constant", fill=[5, 6, 7]), F.pad(image, [1, 2, 3, 4], (5, 6, 7)))
same(step("Resize", width=20, height=30, filter="bicubic", pass_order="pillow_13"), F.resize(image, [30, 20], I.BICUBIC))
same(step("HorizontalFlip"), F.hflip(image))
same(step("VerticalFlip"), F.vflip(image))
same(step("Rotate", angle=17.5, sampling="bilinear", expand=True, center=None, fill=[1, 2, 3]),
     F.rotate(image, 17.5, I.BILINEAR, True, None, [1, 2, 3]))
same(step("Rotate", angle=-30, sampling="nearest", expand=False, center=[3, 4], fill=[0, 0, 0]), F.rotate(image, -30, center=[3, 4]))
matrix = F._get_inverse_affine_matrix([30.5, 23.5], 10, [3, 4], 1.2, [5.0, 6.0])
same(step("Affine", matrix=matrix, sampling="bicubic", fill=[9, 9, 9]), F.affine(image, 10, [3, 4], 1.2, [5.0, 6.0], I.BICUBIC, [9, 9, 9]))
ends = [[0, 0], [60, 0], [60, 46], [0, 46]], [[4, 3], [55, 5], [50, 40], [2, 44]]
same(step("Perspective", coefficients=F._get_perspective_coeffs(*ends), sampling="bilinear", fill=[0, 0, 0]), F.perspective(image, *ends))
for factor in (0, 0.4, 1, 1.7):
    same(step("Brightness", factor=factor), F.adjust_brightness(image, factor))
    same(step("Contrast", factor=factor), F.adjust_contrast(image, factor))
    same(step("Saturation", factor=factor), F.adjust_saturation(image, factor))
    same(step("Sharpness", factor=factor), F.adjust_sharpness(image, factor))
same(step("Hue", turn=0.2), F.adjust_hue(image, 0.2))
same(step("Grayscale"), F.rgb_to_grayscale(image, 3))
same(step("Invert"), F.invert(image))
same(step("Solarize", threshold=100), F.solarize(image, 100))
same(step("Posterize", bits=3), F.posterize(image, 3))
same(step("Equalize"), F.equalize(image))
same(step("AutoContrast"), F.autocontrast(image))
same(step("GaussianBlur", kernel_width=3, kernel_height=5, sigma_x=0.7, sigma_y=0.9), F.gaussian_blur(image, [3, 5], [0.7, 0.9]))
same(step("PillowGaussianBlur", radius=1.3), image.filter(ImageFilter.GaussianBlur(1.3)))
values = np.asarray(image)
assert (np.asarray(step("PermuteChannels", order=[2, 0, 1])) == values[..., [2, 0, 1]]).all()
assert (np.asarray(step("SolarizeAdd", add=30, threshold=128)) == np.where(values < 128, np.minimum(values.astype(int) + 30, 255), values)).all()
""")


def test_mixtures_and_erasing(run):
    run("""
values = np.asarray(image)
mixed = step("Mixture", share=0.25, weights=[0.5, 0.25], chains=[[{"name": "Invert"}], []])
expected = np.float32(0.25) * values + np.float32(0.5) * (255 - values).astype(np.float32) + np.float32(0.25) * values
assert (np.asarray(mixed) == expected.astype(np.uint8)).all()
inverted = Image.fromarray(255 - values)
half = Image.fromarray((np.float32(0.5) * (255 - values).astype(np.float32) + np.float32(0.25) * values).astype(np.uint8))
chains = {"weights": [0.5, 0.25], "chains": [[{"name": "Invert"}], []]}
same(step("Mixture", rule="blend", share=0.3, **chains), Image.blend(image, half, 0.3))
same(step("Mixture", rule="blend_each", share=1, **chains), Image.blend(Image.blend(image, inverted, 0.5), image, 0.25))
erased = np.asarray(step("Erase", left=3, top=4, width=5, height=6, value=[1, 2, 3], converted=False, noise_seed=1))
assert (erased[4:10, 3:8] == [1, 2, 3]).all() and (erased != values).any(axis=2).sum() <= 30
steps = [{"name": "Erase", "left": 3, "top": 4, "width": 5, "height": 6, "with": kind, "value": [1, 2, 3], "converted": True}
         for kind in ("value", "pixel_noise")]
tensor = F.to_tensor(image)
same_image, erase = replay(steps[:1], image)
same(same_image, image)
assert torch.equal(erase(tensor), F.erase(tensor, 4, 3, 6, 5, torch.tensor([1., 2., 3.])[:, None, None]))
assert erase(tensor.half()).dtype == torch.half
_, erase = replay(steps[1:], image)
assert erase(tensor)[:, 4:10, 3:8].isnan().all() and int(erase(tensor).isnan().sum()) == 3 * 30
try:
    step("Melt")
except ValueError as error:
    assert "'Melt' is not one of Crop" in str(error)
else:
    raise SystemExit("Melt")
""")
