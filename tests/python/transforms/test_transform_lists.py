"""bale.transforms' lists: constructors as torchvision's, values, their JSON, the order of a list, presets."""
import json
import pickle

import numpy as np
import pytest
from python_support import SYSTEM_PYTHON, run_script

from bale import transforms as T

EXAMPLES = [
    T.Resize(32), T.Resize((32, 48), "bicubic"), T.Resize([32], max_size=64), T.Resize(32, 1), T.CenterCrop(24), T.RandomCrop((24, 32)),
    T.RandomCrop(24, 4, True, 7, "reflect"), T.RandomResizedCrop(24), T.RandomResizedCrop(24, (0.2, 1), interpolation="random"),
    T.Pad(3), T.Pad((1, 2), (3, 4, 5), "edge"), T.Pad([1, 2, 3, 4]), T.PadIfSmaller(40, 9), T.FixedSizeCrop((40, 30), (1, 2, 3)), T.PadTo((40, 30)), T.RandomHorizontalFlip(),
    T.RandomVerticalFlip(1), T.RandomRotation(30), T.RandomRotation((-5, 10), 2, True, (3, 4), None), T.RandomAffine(10),
    T.RandomAffine((0, 5), (0.1, 0.2), (0.5, 1), (1, 2, 3, 4), "bicubic", 5, [1, 2]), T.RandomPerspective(0.3, 1),
    T.ScaleJitter((64, 48)), T.RandomResize(20, 40), T.RandomShortestSize((20, 30), 50), T.RandomZoomOut([1, 2, 3], (1, 2)),
    T.RandomIoUCrop(), T.RandomIoUCrop(0.5, 0.9, 0.25, 4, [0.5, 1], 9), T.ClampBoundingBoxes(), T.SanitizeBoundingBoxes(2, min_area=9),
    T.ColorJitter(0.4, (0.5, 2), hue=0.1), T.Grayscale(), T.RandomGrayscale(), T.RandomPhotometricDistort(),
    T.RandomSolarize(100), T.RandomPosterize(4), T.RandomEqualize(), T.RandomAutocontrast(), T.RandomInvert(),
    T.RandomAdjustSharpness(2), T.RandomChannelPermutation(), T.GaussianBlur((3, 5), 0.5), T.PillowGaussianBlur(2),
    T.AutoAugment("svhn"), T.RandAugment(3, 5), T.TrivialAugmentWide(fill=128), T.AugMix(5, alpha=0.5),
    T.TimmAutoAugment("rand-m9-mstd0.5-inc1", 100, "bicubic"), T.RandomApply([T.Grayscale()], 0.3), T.ThreeAugment(),
    T.RandomChoice([T.Identity(), T.Compose([T.RandomInvert(), T.RandomEqualize()])], [1, 3]),
    T.RandomOrder([T.RandomInvert(), T.Grayscale()]), T.ToDtype("float16"), T.ToTensor(), T.ConvertImageDtype("bfloat16"),
    T.Normalize(), T.Normalize([0.5] * 3, [0.25] * 3), T.RandomErasing(), T.RandomErasing(1, value=(1, 2, 3)),
    T.RandomErasing(value="random", timm=True, max_count=3), T.ToImage(), T.PILToTensor(), T.ToPureTensor(), T.Identity()]


@pytest.mark.parametrize("one", EXAMPLES, ids=repr)
def test_transforms_are_values(one):
    again = eval(repr(one), vars(T))  # noqa: S307
    assert again == one and hash(again) == hash(one) and repr(again) == repr(one)
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError):
        one.p = 1


def test_every_class_has_an_example():
    kinds = {kind.__name__ for kind in (getattr(T, name) for name in T.__all__)
             if isinstance(kind, type) and issubclass(kind, T.Operation)}
    assert kinds - {type(one).__name__ for one in EXAMPLES} == {"Compose", "Operation"}


def members(one):
    (found,) = json.loads(T.Compose([T.ToTensor(), one] if isinstance(one, T.Normalize) else [one]).to_json())[-1:]
    return found


@pytest.mark.parametrize("one, expected", [
    (T.Resize(32, max_size=64), {"height": 32, "max_size": 64, "interpolation": "bilinear"}),
    (T.Resize(np.array([32, 48])), {"height": 32, "width": 48, "interpolation": "bilinear"}),
    (T.Resize((32, 48), 3), {"height": 32, "width": 48, "interpolation": "bicubic"}),
    (T.RandomCrop(8, (1, 2)), {"size": [8, 8], "padding": [1, 2, 1, 2], "pad_if_needed": False, "fill": [0, 0, 0],
                               "padding_mode": "constant"}),
    (T.RandomResizedCrop((8, 9), interpolation="random"), {"size": [8, 9], "scale": [0.08, 1], "ratio": [3 / 4, 4 / 3],
                                                           "interpolation": ["bilinear", "bicubic"]}),
    (T.RandomRotation(30, fill=(1, 2, 3)), {"degrees": [-30, 30], "interpolation": "nearest", "expand": False, "fill": [1, 2, 3]}),
    (T.RandomAffine(10, shear=(1, 2, 3, 4), scale=(0.5, 2)),
     {"degrees": [-10, 10], "scale": [0.5, 2], "shear_x": [1, 2], "shear_y": [3, 4], "interpolation": "nearest", "fill": [0, 0, 0]}),
    (T.RandomAffine(0, shear=5), {"degrees": [0, 0], "shear_x": [-5, 5], "interpolation": "nearest", "fill": [0, 0, 0]}),
    (T.ColorJitter(2, hue=0.1), {"brightness": [0, 3], "contrast": [1, 1], "saturation": [1, 1], "hue": [-0.1, 0.1]}),
    (T.RandomIoUCrop(), {"min_scale": 0.3, "max_scale": 1, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2, "trials": 40}),
    (T.ClampBoundingBoxes("hard"), {}), (T.SanitizeBoundingBoxes(3, labels_getter=None), {"min_size": 3, "min_area": 1}),
    (T.GaussianBlur((3, 5)), {"kernel_size": [5, 3], "sigma": [0.1, 2]}),  # torchvision's is (width, height)
    (T.AutoAugment(), {"policy": "imagenet", "interpolation": "nearest", "fill": [0, 0, 0]}),
    (T.RandomErasing(value=2), {"p": 0.5, "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "with": "value", "value": [2, 2, 2],
                                "timm": False, "min_count": 1, "max_count": 1}),
    (T.RandomErasing(value="channel_random", timm=True), {"p": 0.5, "scale": [0.02, 0.33], "ratio": [0.3, 3.3],
                                                          "with": "channel_noise", "timm": True, "min_count": 1, "max_count": 1}),
    (T.Normalize((0, 0, 0), (1, 1, 1)), {"mean": [0, 0, 0], "std": [1, 1, 1]}),
    (T.ToTensor(), {"name": "ToDtype", "dtype": "float32", "scale": True}),
    (T.RandomChoice([T.Identity(), T.Compose([T.Grayscale(), T.Compose([T.RandomInvert()])]), T.Grayscale()]),
     {"transforms": [{"name": "Compose", "transforms": []},
                     {"name": "Compose", "transforms": [{"name": "Grayscale", "num_output_channels": 3}, {"name": "RandomInvert", "p": 0.5}]},
                     {"name": "Grayscale", "num_output_channels": 3}]}),
    (T.RandomApply([T.Compose([T.Grayscale(), T.ToImage()])]), {"transforms": [{"name": "Grayscale", "num_output_channels": 3}], "p": 0.5})], ids=str)
def test_json(one, expected):
    assert members(one) == {"name": type(one).__name__, **expected}


@pytest.mark.parametrize("make, words", [
    (lambda: T.Resize("a"), "size: 'a'"), (lambda: T.Resize(0), "size: 0"), (lambda: T.Resize((3, 4), max_size=9), "max_size"),
    (lambda: T.Resize(9, max_size=9), "max_size: 9"), (lambda: T.Resize(9, "cubic"), "interpolation: 'cubic'"),
    (lambda: T.RandomRotation(9, 1), "interpolation: 'lanczos'"), (lambda: T.CenterCrop((1, 2, 3)), "size"),
    (lambda: T.RandomResizedCrop(9, scale=(1, 0.5)), "scale"), (lambda: T.RandomResizedCrop(9, scale=0.5), "scale"),
    (lambda: T.RandomResizedCrop(9, ratio=(0, 1)), "ratio"), (lambda: T.Pad(-1), "padding: -1"),
    (lambda: T.Pad(1, fill=300), "fill: 300"), (lambda: T.Pad(1, fill=(1, 2)), "fill"), (lambda: T.Pad(1, padding_mode="x"), "padding_mode"),
    (lambda: T.RandomHorizontalFlip(1.5), "p: 1.5"), (lambda: T.RandomHorizontalFlip(float("nan")), "p: nan"),
    (lambda: T.RandomRotation(-3), "degrees: -3"), (lambda: T.RandomAffine(3, (2, 0)), "translate: 2"),
    (lambda: T.RandomAffine(3, shear=(1, 2, 3)), "shear"), (lambda: T.RandomResize(4, 4), "max_size: 4"),
    (lambda: T.RandomIoUCrop(0.5, 0.3), "min_scale"), (lambda: T.RandomIoUCrop(max_scale=1.5), "min_scale"),
    (lambda: T.RandomIoUCrop(sampler_options=[]), "sampler_options"), (lambda: T.RandomIoUCrop(sampler_options=[-1]), "sampler_options"),
    (lambda: T.RandomIoUCrop(trials=0), "trials: 0"), (lambda: T.SanitizeBoundingBoxes(0.5), "min_size: 0.5"),
    (lambda: T.SanitizeBoundingBoxes(labels_getter=len), "labels_getter"), (lambda: T.ClampBoundingBoxes("no"), "clamping_mode: 'no'"),
    (lambda: T.ColorJitter(-1), "brightness: -1"), (lambda: T.ColorJitter(hue=0.6), "hue"), (lambda: T.Grayscale(2), "num_output_channels: 2"),
    (lambda: T.GaussianBlur(4), "kernel_size: 4"), (lambda: T.GaussianBlur(3, 0), "sigma"), (lambda: T.AutoAugment("x"), "policy: 'x'"),
    (lambda: T.RandAugment(magnitude=31), "magnitude: 31"), (lambda: T.RandomChoice([]), "transforms"),
    (lambda: T.RandomChoice([T.Grayscale()], [1, 2]), "p"), (lambda: T.RandomApply([3]), "transforms[0]: 3"),
    (lambda: T.Compose(T.Grayscale()), "transforms"), (lambda: T.ToDtype("int4"), "dtype: 'int4'"),
    (lambda: T.ToDtype("float32", False), "scale"), (lambda: T.Normalize([0.5] * 2, [0.5] * 2), "mean"), (lambda: T.Normalize([0.5], [0.5] * 3), "std"), (lambda: T.Normalize(std=(0, 1, 1)), "std"),
    (lambda: T.RandomErasing(value="x"), "value: 'x'"), (lambda: T.RandomErasing(max_count=2), "max_count"),
    (lambda: T.Compose([], layout="chw"), "layout: 'chw'"), (lambda: T.Compose([], pillow=11), "pillow: 11")])
def test_errors_name_the_parameter(make, words):
    with pytest.raises((TypeError, ValueError)) as error:
        make()
    assert str(error.value).startswith(words)


def names(*given, **options):
    return [one["name"] for one in json.loads(T.Compose(given, **options).to_json())]


def test_order_of_a_list():
    assert names() == []
    assert names(T.ToImage(), T.ToDtype("uint8"), T.Grayscale(), T.Identity()) == ["Grayscale"]
    assert names(T.Compose([T.Grayscale(), T.Compose([T.ToTensor()])]), T.Normalize()) == ["Grayscale", "ToDtype", "Normalize"]
    # What commutes with the end of a list runs before it.
    end = [T.ToTensor(), T.Normalize(), T.RandomErasing()]
    assert names(T.Resize(9), *end, T.RandomHorizontalFlip(), T.RandomVerticalFlip()) == [
        "Resize", "RandomHorizontalFlip", "RandomVerticalFlip", "ToDtype", "Normalize", "RandomErasing"]
    assert names(*end[:2], T.RandomCrop(9)) == ["RandomCrop", "ToDtype", "Normalize"]
    assert names(end[0], T.CenterCrop(9)) == ["CenterCrop", "ToDtype"]
    assert names(*end, T.SanitizeBoundingBoxes(), T.RandomHorizontalFlip(), T.ClampBoundingBoxes()) == [
        "SanitizeBoundingBoxes", "RandomHorizontalFlip", "ClampBoundingBoxes", "ToDtype", "Normalize", "RandomErasing"]
    assert names(*end[:2], T.RandomIoUCrop()) == ["RandomIoUCrop", "ToDtype", "Normalize"]
    assert names(T.RandomErasing(), T.ToTensor()) == ["RandomErasing", "ToDtype"]
    for wrong, words in [([*end, T.RandomCrop(9)], "transforms[3]: RandomCrop"), ([*end[:2], T.CenterCrop(9)], "transforms[2]"),
                         ([*end[:2], T.RandomCrop(9, 2)], "transforms[2]"), ([T.ToTensor(), T.Grayscale()], "transforms[1]: Grayscale"),
                         ([T.Normalize()], "transforms[0]: Normalize"), ([*end[:2], T.Normalize()], "transforms[2]: Normalize"),
                         ([T.ToTensor(), T.ToDtype("uint8")], "transforms[1]: ToDtype")]:
        with pytest.raises(ValueError) as error:
            T.Compose(wrong)
        assert str(error.value).startswith(words)


def test_ready_made_lists():
    flip = [T.RandomResizedCrop(64), T.RandomHorizontalFlip()]
    floats = [T.ToDtype("float32"), T.Normalize()]
    for made, same in [
            (T.train(64), T.Compose(flip)), (T.train(64, hflip=0), T.Compose(flip[:1])),
            (T.train((9, 8), scale=(0.5, 1), ratio=(1, 2), hflip=0.1, jitter=(0.4, (0.5, 2), 0, 0.1), gray=0.2, interpolation="bicubic",
                     dtype="float32", layout="nchw", normalize=True, pillow=12),
             T.Compose([T.RandomResizedCrop((9, 8), (0.5, 1), (1, 2), "bicubic"), T.RandomHorizontalFlip(0.1),
                        T.ColorJitter(0.4, (0.5, 2), 0, 0.1), T.RandomGrayscale(0.2), *floats], "nchw", "12")),
            (T.val((48, 64), resize=80, dtype="float16"), T.Compose([T.Resize(80), T.CenterCrop((48, 64)), T.ToDtype("float16")])),
            (T.val(224), T.Compose([T.Resize(256), T.CenterCrop(224)])), (T.val((64, 48)), T.Compose([T.Resize(73), T.CenterCrop((64, 48))])),
            (T.padded((30, 40), dtype="float32", normalize=True), T.Compose([T.PadTo((30, 40)), *floats])),
            (T.ragged(dtype="float32", normalize=True), T.Compose(floats, shape="ragged")), (T.raw(), T.Compose([], shape="raw"))]:
        assert made == same and hash(made) == hash(same) and eval(repr(made), vars(T)) == made  # noqa: S307
        assert pickle.loads(pickle.dumps(made)) == made and isinstance(made, T.Transform)
    assert len({T.train(64), T.train(32), T.val(64), T.padded(64), T.ragged(), T.raw()}) == 6


def test_what_a_list_says_of_its_batch():
    plain = T.Compose([T.Grayscale()])
    assert (plain.shape, plain.dtype, plain.normalize, plain.layout, plain.pillow) == ("fixed", "uint8", None, "nhwc", "13")
    made = T.Compose([T.ToTensor(), T.Normalize(), T.ToDtype("float16")], "nchw", 12)
    assert (made.dtype, made.layout, made.pillow) == ("float16", "nchw", "12")
    assert made.normalize == (T.IMAGENET_MEAN, T.IMAGENET_STD)
    assert json.loads(made.to_json())[0] == {"name": "ToDtype", "dtype": "float16", "scale": True}  # rounded once


PRESETS = {name: make for name, make in vars(T.presets).items()
           if callable(make) and getattr(make, "__module__", "") == T.presets.__name__ and not name.startswith("_")}


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name):
    made = PRESETS[name](dtype="float16", layout="nchw")
    for view in made if isinstance(made, list) else [made]:
        assert eval(repr(view), vars(T)) == view  # noqa: S307
        assert view.layout == "nchw" and view.dtype == "float16"
        assert [one["name"] for one in json.loads(view.to_json())].count("ToDtype") == 1
    assert PRESETS[name].__doc__


def test_views_of_presets():
    assert [len(make()) for make in (T.presets.simclr, T.presets.moco_v3, T.presets.byol, T.presets.dino, T.presets.dinov2)] == [
        2, 2, 2, 10, 10]
    first, second, local, *_ = T.presets.dino(local_crops=6)
    assert first != second and "RandomSolarize" in second.to_json() and "96" in local.to_json()


def test_constructors_are_those_of_torchvision():
    """Their parameters in the same order, and the same defaults, except those in DIFFER."""
    checked = run_script("""
import torchvision.transforms as v1
try:
    from torchvision.transforms import v2
except ImportError:  # before 0.16
    v2 = v1
import inspect
from bale import transforms as T
checked = 0
# Defaults that differ, and why: batches have three channels; floats are always scaled; v1 draws no jitter by 0.
DIFFER = {("Grayscale", "num_output_channels"), ("ToDtype", "scale"), ("Resize", "antialias"), ("RandomResizedCrop", "antialias")}
for module in (v1, v2):
    for name in dir(module):
        theirs, ours = getattr(module, name), getattr(T, name, None)
        if not isinstance(theirs, type) or not isinstance(ours, type) or name in ("ToTensor", "PILToTensor", "ToImage",
                                                                                "Identity", "ToPureTensor", "Transform"):
            continue
        wanted, found = (inspect.signature(kind).parameters for kind in (theirs, ours))
        assert list(found)[:len(wanted)] == list(wanted) or set(wanted) == set(found), (name, list(wanted), list(found))
        for key, parameter in wanted.items():
            if (name, key) in DIFFER or parameter.default is inspect.Parameter.empty:
                continue
            ok = found[key].default
            default = getattr(parameter.default, "value", parameter.default)
            if name == "ConvertImageDtype":
                default = str(default).removeprefix("torch.")
            if name == "ColorJitter":
                default = default or None
            if isinstance(default, (int, float)) or default is None:
                assert ok == default, (name, key, ok, default)
            else:
                assert tuple(ok) == tuple(default), (name, key, ok, default)
        checked += 1
print(checked)
""", python=SYSTEM_PYTHON)
    assert int(checked) > 40
