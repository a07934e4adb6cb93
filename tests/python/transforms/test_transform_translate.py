"""bale.transforms.translate: lists of torchvision (as Debian has it: v1) and timm, and of classes that projects define."""
import os

import pytest
from conftest import REPO
from python_support import RAISES, run_script
from torch_support import Torch

EXAMPLES_PYTHON = os.environ.get("BALE_TEST_EXAMPLES_PYTHON") or REPO / ".venv-examples" / "bin" / "python"
START = """
import json
from bale import transforms as T
def same(given, *expected):
    assert members(T.translate(given)) == members(T.Compose(expected)), (T.translate(given), expected)
def members(made):
    return json.loads(made.to_json())
"""


@pytest.fixture(scope="module")
def run():
    """run(script) of Debian's Python, which has torchvision imported."""
    server = Torch("torchvision.transforms", "torchvision.models")
    yield lambda script: server(START + script)
    server.close()


def test_torchvision_v1(run):
    run("""
import torch
from torchvision import transforms as V
from torchvision.transforms import InterpolationMode as I, AutoAugmentPolicy
END = [T.ToTensor(), T.Normalize()]
same(V.Compose([V.RandomResizedCrop(24, (0.2, 1), interpolation=I.BICUBIC), V.RandomHorizontalFlip(0.3), V.ToTensor(),
                V.Normalize(torch.tensor([0.485, 0.456, 0.406]), [0.229, 0.224, 0.225]), V.RandomErasing(0.1, value="random")]),
     T.RandomResizedCrop(24, (0.2, 1), interpolation="bicubic"), T.RandomHorizontalFlip(0.3), *END,
     T.RandomErasing(0.1, value="random"))
pairs = [
    (V.Resize(24, max_size=40), T.Resize(24, max_size=40)), (V.Resize([24, 30], I.NEAREST), T.Resize((24, 30), "nearest")),
    (V.CenterCrop((3, 4)), T.CenterCrop((3, 4))), (V.Pad((1, 2), 3, "edge"), T.Pad((1, 2), 3, "edge")),
    (V.RandomCrop(3, (1, 2, 3, 4), True, (1, 2, 3)), T.RandomCrop(3, (1, 2, 3, 4), True, (1, 2, 3))),
    (V.RandomVerticalFlip(), T.RandomVerticalFlip()), (V.RandomRotation(30, expand=True), T.RandomRotation(30, expand=True)),
    (V.RandomAffine(5, (0.1, 0.2), (0.5, 2), 5, I.BILINEAR, 7), T.RandomAffine(5, (0.1, 0.2), (0.5, 2), 5, "bilinear", 7)),
    (V.RandomAffine(5, shear=(1, 2, 3, 4)), T.RandomAffine(5, shear=(1, 2, 3, 4))),
    (V.RandomPerspective(0.3), T.RandomPerspective(0.3)), (V.ColorJitter(0.4, (0.5, 2), 0, 0.1), T.ColorJitter(0.4, (0.5, 2), hue=0.1)),
    (V.Grayscale(3), T.Grayscale()), (V.Grayscale(), T.Grayscale(1)), (V.Lambda(lambda im: im.convert("L")), T.Grayscale(1)), (V.RandomGrayscale(), T.RandomGrayscale()), (V.RandomSolarize(100, 0.2), T.RandomSolarize(100, 0.2)),
    (V.RandomPosterize(4), T.RandomPosterize(4)), (V.RandomEqualize(), T.RandomEqualize()), (V.RandomInvert(), T.RandomInvert()),
    (V.RandomAutocontrast(), T.RandomAutocontrast()), (V.RandomAdjustSharpness(2), T.RandomAdjustSharpness(2)),
    (V.GaussianBlur((3, 5), 1), T.GaussianBlur((3, 5), 1)), (V.AutoAugment(AutoAugmentPolicy.SVHN), T.AutoAugment("svhn")),
    (V.RandAugment(3, 5, fill=[1, 2, 3]), T.RandAugment(3, 5, fill=(1, 2, 3))), (V.TrivialAugmentWide(), T.TrivialAugmentWide()),
    (V.AugMix(5, alpha=0.5), T.AugMix(5, alpha=0.5)), (V.Lambda(lambda im: im.convert("RGB")), T.Identity()),
    (V.RandomApply([V.Grayscale(3)], 0.3), T.RandomApply([T.Grayscale()], 0.3)),
    (V.RandomApply(torch.nn.ModuleList([V.Grayscale(3)])), T.RandomApply([T.Grayscale()])),
    (V.RandomChoice([V.RandomInvert(), V.Compose([V.RandomEqualize(), V.Grayscale(3)])], [1, 2]),
     T.RandomChoice([T.RandomInvert(), T.Compose([T.RandomEqualize(), T.Grayscale()])], [1, 2])),
    (V.RandomOrder([V.RandomInvert(), torch.nn.Identity()]), T.RandomOrder([T.RandomInvert(), T.Identity()])),
    (torch.nn.Sequential(V.CenterCrop(3), V.RandomInvert()), T.Compose([T.CenterCrop(3), T.RandomInvert()])),
    (V.Compose([V.PILToTensor(), V.ConvertImageDtype(torch.half)]), T.ToDtype("float16")), (V.PILToTensor(), T.Identity())]
for theirs, ours in pairs:
    same(theirs, ours)
    same([theirs, V.ToTensor()], ours, T.ToTensor()) if not isinstance(ours, T.ToDtype) else None
from torchvision.models import ResNet50_Weights
same(ResNet50_Weights.IMAGENET1K_V2.transforms(), T.Resize(232), T.CenterCrop(224), *END)
""")


def test_what_cannot_be_translated_is_named(run):
    run("""
import torch
from torchvision import transforms as V
class Subclass(V.RandomInvert):
    def forward(self, image):
        return image
class Renamed(V.RandomInvert):
    def __init__(self):
        super().__init__(0.25)
same(Renamed(), T.RandomInvert(0.25))
v2 = type("RandomCrop", (V.RandomCrop,), {"__module__": "torchvision.transforms.v2._geometry"})
same(type("Mine", (v2,), {"__module__": "mine"})(3, (1, 3, 2, 4)), T.RandomCrop(3, (1, 2, 3, 4)))
same([V.Grayscale(1), V.Lambda(lambda image: image.convert("RGB"))], T.Grayscale(1), T.Grayscale(3))
tail = "bale.torch.Dataset(spec, transform) with a torch DataLoader runs it"
for given, words in [
        (V.Lambda(lambda image: image.convert("P")), "transforms[1]: Lambda has no native counterpart"),
        (V.FiveCrop(3), "transforms[1]: FiveCrop has no"), (len, "transforms[1]: builtins."),
        (lambda image: image.rotate(3), "transforms[1]: __main__.<lambda> has no"), (Subclass(), "transforms[1]: __main__.Subclass has no"),
        (V.RandomApply([V.RandomInvert(), V.TenCrop(3)]), "transforms[1].transforms[1]: TenCrop has no"),
        (V.Compose([V.RandomInvert(), V.ElasticTransform()]), "transforms[1].transforms[1]: ElasticTransform has no"),
        (V.RandomRotation(3, V.InterpolationMode.BOX), "transforms[1]: RandomRotation: interpolation: 'box'")]:
    error = raises((TypeError, ValueError), words, lambda: T.translate(V.Compose([V.CenterCrop(3), given])))
    assert str(error).endswith(tail), error
raises(TypeError, "transform: FiveCrop has no", lambda: T.translate(V.FiveCrop(3)))
raises(ValueError, "transforms[1]: ColorJitter changes 8-bit pixels", lambda: T.translate(V.Compose([V.ToTensor(), V.ColorJitter()])))
resize = V.Resize(3, antialias=False)
raises(TypeError, "transforms[1]: Resize: antialias=False of a tensor has no", lambda: T.translate(V.Compose([V.PILToTensor(), resize])))
same(V.Compose([resize, V.ToTensor()]), T.Resize(3), T.ToTensor())  # of an image of Pillow it changes nothing
class OtherSpace(V.RandAugment):
    def _augmentation_space(self, num_bins, image_size):
        return {"Identity": (torch.tensor(0.0), False)}
class Turned(V.Lambda):
    def __call__(self, image):
        return image.rotate(3)
class Sometimes:
    def __init__(self, lambd, p):
        self.lambd, self.p = lambd, p
    def __call__(self, image):
        return self.lambd(image) if torch.rand(1) < self.p else image
for given in (OtherSpace(), Turned(lambda image: image), Sometimes(lambda image: image.convert("L"), 0.2)):
    raises(TypeError, "has no native counterpart", lambda: T.translate(given))
replaced = V.RandomResizedCrop(3)
replaced.get_params = lambda *_: (0, 0, 1, 1)
raises(TypeError, "transform: RandomResizedCrop: a method of it was replaced", lambda: T.translate(replaced))
theirs, V.RandomErasing.get_params = V.RandomErasing.get_params, staticmethod(lambda *_: (0, 0, 1, 1, 0))
raises(TypeError, "transform: RandomErasing: a method of it was replaced", lambda: T.translate(V.RandomErasing()))
V.RandomErasing.get_params = staticmethod(theirs)
same(V.RandomErasing(), T.RandomErasing())
""")


def test_torchvision_v2(run):
    """Debian 12's torchvision has none; BALE_TORCH_PYTHON may name a Python with a newer one."""
    run("""
try:
    from torchvision.transforms import v2 as V
except ImportError:
    raise SystemExit
import torch
same(V.Compose([
    V.ToImage(), V.ToDtype(torch.uint8, scale=True), V.RandomCrop(3, (1, 2, 3, 4)), V.RandomZoomOut({torch.Tensor: 3, "others": 0}),
    V.RandomPhotometricDistort(), V.GaussianBlur((3, 5)), V.ScaleJitter((3, 4)), V.RandomShortestSize([3, 4]), V.RandomResize(3, 9),
    V.RandomChannelPermutation(), V.RandomChoice([V.RandomInvert(), V.Grayscale(3)]), V.RandomErasing(value=[1, 2, 3]),
    V.ToDtype({torch.Tensor: torch.float32, "others": None}, scale=True), V.Normalize([0.5] * 3, [0.5] * 3), V.ToPureTensor()]),
    T.RandomCrop(3, (1, 2, 3, 4)), T.RandomZoomOut(3), T.RandomPhotometricDistort(), T.GaussianBlur((3, 5)), T.ScaleJitter((3, 4)),
    T.RandomShortestSize((3, 4)), T.RandomResize(3, 9), T.RandomChannelPermutation(), T.RandomChoice([T.RandomInvert(), T.Grayscale()]),
    T.RandomErasing(value=(1, 2, 3)), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3))
# torchvision's reference for detection, data_augmentation="ssd"
same(V.Compose([
    V.RandomPhotometricDistort(), V.RandomZoomOut(fill=(123, 117, 104)), V.RandomIoUCrop(trials=9), V.RandomHorizontalFlip(p=0.5),
    V.PILToTensor(), V.ToDtype(torch.float, scale=True), V.ConvertBoundingBoxFormat("XYXY"), V.ClampBoundingBoxes(),
    V.SanitizeBoundingBoxes(min_size=3), V.ToPureTensor()]),
    T.RandomPhotometricDistort(), T.RandomZoomOut((123, 117, 104)), T.RandomIoUCrop(sampler_options=(0, 0.1, 0.3, 0.5, 0.7, 0.9, 1), trials=9),
    T.RandomHorizontalFlip(), T.ClampBoundingBoxes(), T.SanitizeBoundingBoxes(3), T.ToTensor())
raises(TypeError, "labels_getter", lambda: T.translate(V.SanitizeBoundingBoxes(labels_getter=lambda sample: sample["labels"])))
raises(ValueError, "give the field of the boxes format='xywh'", lambda: T.translate(V.ConvertBoundingBoxFormat("XYWH")))
raises(ValueError, "scale", lambda: T.translate(V.ToDtype(torch.float32)))
raises(TypeError, "JPEG", lambda: T.translate(V.JPEG(50)))
""")


# As projects define them: MoCo, SimCLR, DINO, lightly, solo-learn.
SEVERAL = """
import torch
from torchvision import transforms as V
class TwoCropsTransform:
    def __init__(self, base_transform):
        self.base_transform = base_transform
    def __call__(self, x):
        q = self.base_transform(x)
        k = self.base_transform(x)
        return [q, k]
class ViewGenerator:
    def __init__(self, base, views):
        self.base, self.views = base, views
    def __call__(self, x):
        return [self.base(x) for i in range(self.views)]
class DataAugmentation:
    def __init__(self, one, two, local):
        self.one, self.two, self.local, self.count = one, two, local, 3
    def __call__(self, image):
        crops = []
        crops.append(self.one(image))
        crops.append(self.two(image))
        for _ in range(self.count):
            crops.append(self.local(image))
        return crops
class MultiView:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, image):
        return [transform(image) for transform in self.transforms]
class Module(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.__dict__["base"] = base
    def forward(self, image):
        return self.base(image), self.base(image)
class Pipeline:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, x):
        out = []
        for transform in self.transforms:
            out.extend(transform(x))
        return out
"""


def test_several_views_are_refused_with_what_to_give(run):
    run(SEVERAL + """
crop = V.Compose([V.RandomResizedCrop(8), V.ToTensor()])
for given, words in [
        (TwoCropsTransform(crop), "TwoCropsTransform: it makes several views"), (TwoCropsTransform(crop), "views=[t.base_transform] * 2"),
        (ViewGenerator(crop, 3), "views=[t.base] * 2"), (DataAugmentation(crop, crop, crop), "views=[t.one, t.two, t.local]"),
        (MultiView([crop, crop]), "views="), (Module(crop), "views=[t.base] * 2"), (Pipeline([ViewGenerator(crop, 2), MultiView([crop])]), "views="),
        (V.Compose([V.RandomInvert(), V.Lambda(lambda image: (image, image))]), "Lambda: it makes several views"),
        (lambda image: [image, image.copy()], "views=")]:
    error = raises(TypeError, words, lambda: T.translate(given))
    assert "one transform per view" in str(error)
class Twice:
    def __init__(self, inner):
        self.inner = inner
    def __call__(self, image):
        return self.inner(self.inner(image))
raises(TypeError, "Twice has no native counterpart", lambda: T.translate(Twice(crop)))
""")


# As in DINO's utils.py, DeiT's augment.py and dinov2's transforms.py.
PROJECTS = """
import random
import numpy as np
import torch
from PIL import ImageFilter, ImageOps
from torchvision import transforms

class GaussianBlur(object):
    def __init__(self, p=0.5, radius_min=0.1, radius_max=2.):
        self.prob = p
        self.radius_min = radius_min
        self.radius_max = radius_max

    def __call__(self, img):
        do_it = random.random() <= self.prob
        if not do_it:
            return img

        return img.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.radius_min, self.radius_max)))

class Solarization(object):
    '''Apply Solarization to the PIL image.'''
    def __init__(self, p):
        self.p = p

    def __call__(self, img):
        if random.random() < self.p:
            return ImageOps.solarize(img)
        else:
            return img

class gray_scale(object):
    def __init__(self, p=0.2):
        self.p = p
        self.transf = transforms.Grayscale(3)

    def __call__(self, img):
        if random.random() < self.p:
            return self.transf(img)
        else:
            return img

class Dinov2Blur(transforms.RandomApply):
    def __init__(self, *, p=0.5, radius_min=0.1, radius_max=2.0):
        super().__init__(transforms=[transforms.GaussianBlur(kernel_size=9, sigma=(radius_min, radius_max))], p=1 - p)
Dinov2Blur.__name__ = "GaussianBlur"
"""


def test_classes_that_projects_define(run):
    """Also as in moco/loader.py, open_clip's transform.py, lightly's gaussian_blur.py and torchvision's references."""
    run(PROJECTS + """
same(GaussianBlur(0.3), T.RandomApply([T.PillowGaussianBlur((0.1, 2.0))], 0.3))
same(GaussianBlur(1), T.PillowGaussianBlur((0.1, 2.0)))
same(Solarization(0.2), T.RandomSolarize(128, 0.2))
same(gray_scale(0.2), T.RandomApply([T.Grayscale()], 0.2))
same(Dinov2Blur(p=0.25), T.RandomApply([T.GaussianBlur(9)], 0.75))

class GaussianBlur:
    def __init__(self, prob=0.5, sigmas=(0.2, 2)):
        self.prob = prob
        self.sigmas = sigmas

    def __call__(self, sample):
        prob = np.random.random_sample()
        if prob < self.prob:
            sigma = np.random.uniform(self.sigmas[0], self.sigmas[1])
            return sample.filter(ImageFilter.GaussianBlur(radius=sigma))
        return sample
same(GaussianBlur(0.3), T.RandomApply([T.PillowGaussianBlur((0.2, 2))], 0.3))

class RandomSolarization(object):
    def __init__(self, prob=0.5, threshold=128):
        self.prob = prob
        self.threshold = threshold

    def __call__(self, sample):
        prob = np.random.random_sample()
        if prob < self.prob:
            return ImageOps.solarize(sample, threshold=self.threshold)
        return sample
same(RandomSolarization(0.2, 100), T.RandomSolarize(100, 0.2))

class color_jitter(gray_scale):
    def __init__(self, p):
        self.p = p
        self.transf = transforms.ColorJitter(0.4, hue=0.1)
same(color_jitter(0.8), T.RandomApply([T.ColorJitter(0.4, hue=0.1)], 0.8))

class Backwards(Solarization):
    def __call__(self, img):
        if random.random() < self.p:
            return img
        else:
            return ImageOps.solarize(img)
Backwards.__name__ = "Solarization"
raises(TypeError, "has no native counterpart", lambda: T.translate(Backwards(0.2)))

class Solarize(object):
    def __call__(self, x):
        return ImageOps.solarize(x)
same(Solarize(), T.RandomSolarize(128, 1))

class Solarize(object):
    def __call__(self, x):
        return ImageOps.solarize(x, 64)
raises(TypeError, "has no native counterpart", lambda: T.translate(Solarize()))

class GaussianBlur(object):
    def __init__(self, sigma=[.1, 2.]):
        self.sigma = sigma

    def __call__(self, x):
        sigma = random.uniform(self.sigma[0], self.sigma[1])
        x = x.filter(ImageFilter.GaussianBlur(radius=sigma))
        return x
same(GaussianBlur(), T.PillowGaussianBlur((0.1, 2.0)))

class MaybeToTensor(transforms.ToTensor):
    def __call__(self, pic):
        if isinstance(pic, torch.Tensor):
            return pic
        return super().__call__(pic)
same(MaybeToTensor(), T.ToTensor())

class ClassificationPresetTrain:
    def __init__(self, crop_size):
        self.transforms = transforms.Compose([transforms.RandomResizedCrop(crop_size), transforms.ToTensor()])

    def __call__(self, img):
        return self.transforms(img)
same(ClassificationPresetTrain(24), T.RandomResizedCrop(24), T.ToTensor())

def _convert_to_rgb(image):
    return image.convert('RGB')
same([transforms.CenterCrop(3), _convert_to_rgb], T.CenterCrop(3))
""")


def test_presets_of_papers(run):
    """The lists of DINO's main_dino.py, dinov2's augmentations.py, moco-v3's main_moco.py, mae's main_pretrain.py and DeiT's
    augment.py, written with torchvision and their own classes."""
    run(PROJECTS + """
V = transforms
BICUBIC = V.InterpolationMode.BICUBIC
NORMAL = V.Compose([V.ToTensor(), V.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
colors = V.Compose([V.RandomApply([V.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1)], p=0.8), V.RandomGrayscale(p=0.2)])
def crop(size, scale, interpolation=BICUBIC):
    return V.RandomResizedCrop(size, scale=scale, interpolation=interpolation)
def plain(views):
    # A probability of 1 is none.
    found = [members(view) for view in views]
    return [[one["transforms"][0] if one["name"] == "RandomApply" and one["p"] == 1 else one for one in view] for view in found]
def check(theirs, ours):
    assert plain(map(T.translate, theirs)) == plain(ours), (plain(map(T.translate, theirs)), plain(ours))
flip = V.RandomHorizontalFlip(p=0.5)
check([V.Compose([crop(224, (0.4, 1.)), V.Compose([flip, colors]), GaussianBlur(1.0), NORMAL]),
       V.Compose([crop(224, (0.4, 1.)), V.Compose([flip, colors]), GaussianBlur(0.1), Solarization(0.2), NORMAL]),
       *[V.Compose([crop(96, (0.05, 0.4)), V.Compose([flip, colors]), GaussianBlur(p=0.5), NORMAL])] * 8], T.presets.dino())
check([V.Compose([crop(224, (0.32, 1.)), flip, colors, Dinov2Blur(p=1.0), NORMAL]),
       V.Compose([crop(224, (0.32, 1.)), flip, colors, Dinov2Blur(p=0.1), V.RandomSolarize(threshold=128, p=0.2), NORMAL]),
       *[V.Compose([crop(96, (0.05, 0.32)), flip, colors, Dinov2Blur(p=0.5), NORMAL])] * 8], T.presets.dinov2())
bilinear = V.InterpolationMode.BILINEAR
check([V.Compose([crop(224, (0.08, 1.), bilinear), colors, GaussianBlur(1.0), flip, NORMAL]),
       V.Compose([crop(224, (0.08, 1.), bilinear), colors, GaussianBlur(0.1), Solarization(0.2), flip, NORMAL])], T.presets.moco_v3())
check([V.Compose([crop(224, (0.2, 1.0)), V.RandomHorizontalFlip(), NORMAL])], [T.presets.mae()])
three = V.RandomChoice([gray_scale(p=1.0), Solarization(p=1.0), GaussianBlur(p=1.0)])
jitter = V.ColorJitter(0.3, 0.3, 0.3)
check([V.Compose([crop(224, (0.08, 1.0)), V.RandomHorizontalFlip(), three, jitter, NORMAL]),
       V.Compose([V.Resize(224, interpolation=BICUBIC), V.RandomCrop(224, padding=4, padding_mode="reflect"), flip, three, jitter, NORMAL])],
      [T.presets.deit3(), T.presets.deit3(simple_crop=True)])
""")


@pytest.mark.parametrize("name", ["ra", "ta_wide", "augmix", "imagenet"])
def test_preset_of_the_reference(run, name):
    """torchvision's references/classification/presets.py, as its release 0.14 writes it."""
    run(f"""
import torch
from torchvision import transforms as V
name = {name!r}
policy = {{"ra": lambda i: V.RandAugment(interpolation=i, magnitude=9), "ta_wide": lambda i: V.TrivialAugmentWide(interpolation=i),
          "augmix": lambda i: V.AugMix(interpolation=i, severity=3),
          "imagenet": lambda i: V.AutoAugment(V.AutoAugmentPolicy("imagenet"), interpolation=i)}}[name]
i = V.InterpolationMode.BILINEAR
theirs = V.Compose([V.RandomResizedCrop(176, interpolation=i), V.RandomHorizontalFlip(0.5), policy(i), V.PILToTensor(),
                    V.ConvertImageDtype(torch.float), V.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), V.RandomErasing(0.1)])
assert members(T.translate(theirs)) == members(T.presets.reference_v2_train(176, auto_augment=name))
theirs = V.Compose([V.Resize(232, interpolation=i), V.CenterCrop(224), V.PILToTensor(), V.ConvertImageDtype(torch.float),
                    V.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
assert T.translate(theirs).to_json() == T.presets.reference_eval(resize=232).to_json()
""")


needs_timm = pytest.mark.skipif(not os.path.exists(EXAMPLES_PYTHON), reason="no interpreter with timm")


@needs_timm
def test_timm():
    """What create_transform returns is what presets.timm_train makes of the same options."""
    run_script(RAISES + START + """
import warnings
warnings.simplefilter("ignore")
from timm.data import create_transform
from timm.data.auto_augment import rand_augment_transform
NORMAL = {"rand-m9-mstd0.5-inc1": "rand-m9-n2-p0.5-mstd0.5-inc1", "rand-n3-p0.7-mmax12-mstd101-t3aw": "rand-m10-n3-p0.7-mstd101-mmax12-t3aw",
          "rand-tweights": "rand-m10-n2-p0.5-tweights", "augmix": "augmix-m3-w3", "augmix-m5-w4-d2-a0.5-mstd1-b1": "augmix-m5-w4-d2-a0.5-b1-mstd1"}
for options in [{}, {"interpolation": "random", "re_prob": 0.25, "re_mode": "pixel", "re_count": 3}, {"re_prob": 0.1, "re_mode": "rand"},
                {"re_prob": 0.1, "scale": (0.3, 1), "ratio": (0.5, 2), "vflip": 0.2, "color_jitter": (0.1, 0.2, 0.3, 0.05)},
                {"color_jitter": 0.3, "color_jitter_prob": 0.8, "grayscale_prob": 0.2, "gaussian_blur_prob": 0.5, "interpolation": "bicubic"},
                *({"auto_augment": name} for name in [*NORMAL, "original", "originalr-mstd0.5", "v0", "v0r", "3a"])]:
    ours = dict(options)
    if "auto_augment" in ours:
        ours["auto_augment"] = NORMAL.get(ours["auto_augment"], ours["auto_augment"])
    theirs = T.translate(create_transform((3, 64, 96), is_training=True, **options))
    assert members(theirs) == members(T.presets.timm_train((64, 96), **ours)), (options, theirs, T.presets.timm_train((64, 96), **ours))
assert T.translate(create_transform(224)).to_json() == T.presets.timm_eval(224).to_json()
assert T.translate(create_transform(288, crop_pct=0.95, interpolation="bicubic")).to_json() == (
    T.presets.timm_eval(288, crop_pct=0.95, interpolation="bicubic").to_json())
same(create_transform(24, is_training=True, use_prefetcher=True, color_jitter=None), T.RandomResizedCrop(24), T.RandomHorizontalFlip())
same(create_transform(24, is_training=True, no_aug=True, normalize=False), T.Resize(24), T.CenterCrop(24))
raises(TypeError, "transforms[0]: ResizeKeepRatio", lambda: T.translate(create_transform(24, crop_mode="border")))
raises(TypeError, "transforms[0]: TrimBorder", lambda: T.translate(create_transform(24, crop_border_pixels=2)))
raises(TypeError, "none of timm's sets", lambda: T.translate(rand_augment_transform("rand-m9", {}, transforms=["Invert", "Rotate"])))
changed = rand_augment_transform("rand-m9", {})
changed.ops[0].magnitude = 3
raises(TypeError, "different magnitudes", lambda: T.translate(changed))
raises(TypeError, "translate_pct", lambda: T.translate(rand_augment_transform("rand-m9", {"translate_pct": 0.1})))
""", python=EXAMPLES_PYTHON)
