"""Draws of augmentation policies, recorded: bale's, torchvision's and timm's own, all as the steps that they run.

A recorded draw is a list of [name, argument]. What changes nothing is left out: a factor of 1, a shift by 0, 8 bits."""
import json
import sys

from python_support import EXAMPLES_PYTHON, SYSTEM_PYTHON, run_script

WIDTH, HEIGHT = 50, 37

_NAMED = """
import json, sys
def warp(matrix):
    a, b, c, d, e, f = matrix
    for name, value in (("ShearX", b), ("ShearY", d), ("TranslateX", c), ("TranslateY", f)):
        if value != 0:
            return [[name, value]]
    return []
def unless(nothing, name, value):
    return [] if value == nothing else [[name, value]]
"""

_OURS = _NAMED + """
from bale import _bale
FACTORS = {"Brightness", "Saturation", "Contrast", "Sharpness"}
def named(step):
    name = step["name"]
    if name == "Affine":
        return warp(step["matrix"])
    if name == "Mixture":
        return [["Mixture", step["share"], step["weights"], [sum(map(named, chain), []) for chain in step["chains"]]]]
    for member in ("angle", "factor", "threshold", "add", "bits", "radius"):
        if member in step and (name, member) != ("SolarizeAdd", "threshold"):
            return [[name, step[member]]]
    return [[name, 0]]
policy, width, height, count = sys.argv[1], *map(int, sys.argv[2:])
draws = [json.loads(_bale.draw_transforms(policy, width, height, 3, 0, sample, 0)) for sample in range(count)]
print(json.dumps([sum(map(named, steps), []) for steps in draws]))
"""

# Every function of torchvision.transforms.functional that a policy calls only notes its name and argument.
_TORCHVISION = _NAMED + """
import torch, torchvision
from PIL import Image
from torchvision.transforms import functional
cases, width, height = json.loads(sys.argv[1]), *map(int, sys.argv[2:])
try:
    from torchvision.transforms import v2 as transforms
    from torchvision.transforms.v2 import _auto_augment as module
except ImportError:
    from torchvision import transforms
    from torchvision.transforms import autoaugment as module
real = module.F
steps = []
class Recorder:
    def __getattr__(self, name):
        return getattr(real, name)
    def affine(self, image, angle, translate, scale, shear, interpolation, fill, center=None):
        middle = [width / 2, height / 2] if center is None else center
        matrix = functional._get_inverse_affine_matrix(middle, angle, translate, scale, shear)
        steps.extend(warp([round(value, 6) for value in matrix]))
        return image
    def rotate(self, image, angle, interpolation, fill):
        steps.extend(unless(0, "Rotate", angle))
        return image
    def solarize(self, image, threshold):
        steps.append(["Solarize", threshold])
        return image
    def posterize(self, image, bits):
        steps.extend(unless(8, "Posterize", bits))
        return image
for name, member in (("brightness", "Brightness"), ("saturation", "Saturation"), ("contrast", "Contrast"),
                     ("sharpness", "Sharpness")):
    def adjust(self, image, factor=None, member=member, **named):
        steps.extend(unless(1, member, factor if factor is not None else next(iter(named.values()))))
        return image
    setattr(Recorder, "adjust_" + name, adjust)
for name, member in (("autocontrast", "AutoContrast"), ("equalize", "Equalize"), ("invert", "Invert")):
    def note(self, image, member=member):
        steps.append([member, 0])
        return image
    setattr(Recorder, name, note)
module.F = Recorder()
image = Image.new("RGB", (width, height))
def record_draws(kind, options, count):
    global steps
    if "policy" in options:
        options["policy"] = transforms.AutoAugmentPolicy(options["policy"])
    torch.manual_seed(5)
    policy = getattr(transforms, kind)(**options)
    shares = []
    if kind == "AugMix":
        sample_dirichlet = policy._sample_dirichlet
        def record(parameters):
            drawn = sample_dirichlet(parameters)
            shares.append(drawn[0].tolist())
            return drawn
        policy._sample_dirichlet = record
    for _ in range(count):
        steps = []
        policy(image)
        if kind == "AugMix":
            (share, rest), weights = shares
            steps = [["Mixture", share, [weight * rest for weight in weights], [steps]]]
            shares.clear()
        yield steps
print(json.dumps([list(record_draws(*case)) for case in cases]))
"""

# timm's module alone, without torch, with an image that notes what is done to it.
_TIMM = _NAMED + """
import importlib.util, random, sysconfig
import numpy as np
from PIL import ImageFilter
spec = importlib.util.spec_from_file_location("auto_augment", sysconfig.get_path("purelib") + "/timm/data/auto_augment.py")
timm = importlib.util.module_from_spec(spec)
spec.loader.exec_module(timm)
config, width, height, count = sys.argv[1], *map(int, sys.argv[2:])
chains = []
class Noted:
    size, mode = (width, height), "RGB"
    def __init__(self, steps=()):
        self.steps = steps
    def after(self, steps):
        return Noted((*self.steps, *steps))
    def transform(self, size, method, matrix, fillcolor, resample):
        assert size == self.size and fillcolor == (128, 128, 128) and resample in (2, 3)
        return self.after(warp(matrix))
    def rotate(self, angle, fillcolor, resample):
        return self.after(unless(0, "Rotate", angle))
    def filter(self, blur):
        return self.after([["PillowGaussianBlur", blur.radius]])
    def point(self, table):
        return self.after(unless(0, "SolarizeAdd", table[0]))
    def getbands(self):
        return "RGB"
    def copy(self):
        return self
    def __array__(self, dtype=None, copy=None):
        chains.append(list(self.steps))
        return np.zeros((width, height, 3), dtype)
class Ops:
    autocontrast = staticmethod(lambda image: image.after([["AutoContrast", 0]]))
    invert = staticmethod(lambda image: image.after([["Invert", 0]]))
    equalize = staticmethod(lambda image: image.after([["Equalize", 0]]))
    solarize = staticmethod(lambda image, threshold: image.after(unless(256, "Solarize", threshold)))
    posterize = staticmethod(lambda image, bits: image.after([["Posterize", max(bits, 0)]]))
class Enhancer:
    def __init__(self, name):
        self.name = name
    def __call__(self, image):
        return type("Enhance", (), {"enhance": lambda _, factor: image.after(unless(1, self.name, factor))})()
class Enhance:
    Color, Contrast, Brightness, Sharpness = map(Enhancer, ("Saturation", "Contrast", "Brightness", "Sharpness"))
alphas = []
class FakeImage:
    AFFINE = 0
    fromarray = staticmethod(lambda array: None)
    @staticmethod
    def blend(image, mixed, alpha):
        alphas.append(float(alpha))
        return image
timm.ImageOps, timm.ImageEnhance, timm.Image = Ops, Enhance, FakeImage
random.seed(5)
np.random.seed(5)
hparams = {"translate_const": 100, "img_mean": (128, 128, 128)}
if config.startswith("augmix"):
    hparams["translate_pct"] = 0.3  # as transforms_factory.py
    policy = timm.augment_and_mix_transform(config, hparams)
else:
    policy = (timm.rand_augment_transform if config.startswith("rand") else timm.auto_augment_transform)(config, hparams)
draws = []
for _ in range(count):
    steps = list(policy(Noted()).steps)
    if config.startswith("augmix"):
        steps = [["Mixture", alphas.pop(), [], [sum(chains, [])]]]
        chains.clear()
    draws.append(steps)
print(json.dumps(draws))
"""


def ours(name, count, **options):
    policy = json.dumps([{"name": name, **options}])
    return json.loads(run_script(_OURS, policy, WIDTH, HEIGHT, count, python=sys.executable))


def torchvisions(cases):
    """Of all cases (name, options, count): importing torch takes seconds."""
    # Without vector instructions: torch.linspace, and with it the whole pixels of translations, depends on their width.
    return json.loads(run_script(_TORCHVISION, json.dumps(cases), WIDTH, HEIGHT, python=SYSTEM_PYTHON,
                                 ATEN_CPU_CAPABILITY="default"))


def timms(config, count):
    return json.loads(run_script(_TIMM, config, WIDTH, HEIGHT, count, python=EXAMPLES_PYTHON))
