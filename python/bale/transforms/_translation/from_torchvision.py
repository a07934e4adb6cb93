"""Transforms of torchvision, v1 (0.13 and later) and v2 (0.16 and later), as native ones: by their attributes, whose
names are those of the parameters unless a function here says otherwise."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from bale.transforms._operations import boxes, color, ending, geometry, markers, policies, warps
from bale.transforms._operations.operation import Operation

Foreign: TypeAlias = Any  # a transform of another library, of which only the attributes are known
Make: TypeAlias = Callable[[Foreign, bool], Operation | Sequence[Operation]]

AS_RGB = markers.Identity()  # images are decoded to RGB

_PLAIN: dict[str, tuple[type[Operation], tuple[str, ...]]] = {
    kind.__name__: (kind, names) for kind, names in (
        (geometry.Resize, ("size", "interpolation", "max_size")),
        (geometry.CenterCrop, ("size",)),
        (geometry.RandomResizedCrop, ("size", "scale", "ratio", "interpolation")),
        (geometry.Pad, ("padding", "fill", "padding_mode")),
        (geometry.RandomHorizontalFlip, ("p",)),
        (geometry.RandomVerticalFlip, ("p",)),
        (geometry.ScaleJitter, ("target_size", "scale_range", "interpolation")),
        (geometry.RandomResize, ("min_size", "max_size", "interpolation")),
        (geometry.RandomShortestSize, ("min_size", "max_size", "interpolation")),
        (geometry.RandomZoomOut, ("fill", "side_range", "p")),
        (warps.RandomRotation, ("degrees", "interpolation", "expand", "center", "fill")),
        (warps.RandomAffine, ("degrees", "translate", "scale", "shear", "interpolation", "fill", "center")),
        (warps.RandomPerspective, ("distortion_scale", "p", "interpolation", "fill")),
        (color.ColorJitter, ("brightness", "contrast", "saturation", "hue")),
        (color.Grayscale, ("num_output_channels",)),
        (color.RandomGrayscale, ("p",)),
        (color.RandomPhotometricDistort, ("brightness", "contrast", "saturation", "hue", "p")),
        (color.RandomSolarize, ("threshold", "p")),
        (color.RandomPosterize, ("bits", "p")),
        (color.RandomEqualize, ("p",)),
        (color.RandomAutocontrast, ("p",)),
        (color.RandomInvert, ("p",)),
        (color.RandomAdjustSharpness, ("sharpness_factor", "p")),
        (color.RandomChannelPermutation, ()),
        (color.GaussianBlur, ("kernel_size", "sigma")),
        (policies.AutoAugment, ("policy", "interpolation", "fill")),
        (policies.RandAugment, ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")),
        (policies.TrivialAugmentWide, ("num_magnitude_bins", "interpolation", "fill")),
        (policies.AugMix, ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill")),
        (ending.Normalize, ("mean", "std")),
        (markers.Identity, ()),
        (markers.ToImage, ()),
        (markers.PILToTensor, ()),
        (markers.ToPureTensor, ()),
    )}


def for_images(given: Foreign) -> Foreign:
    """What a dictionary by type, as v2 takes it for `fill` and `dtype`, has for images."""
    if not isinstance(given, dict):
        return given
    by_name = {key if isinstance(key, str) else key.__name__: value for key, value in given.items()}
    for name in ("Image", "Tensor", "others"):
        if name in by_name:
            return by_name[name]
    return None


def _plain(kind: type[Operation], names: tuple[str, ...]) -> Make:
    def make(given: Foreign, _is_float: bool) -> Operation:
        return kind(**{name: for_images(getattr(given, name)) for name in names})
    return make


def _random_crop(given: Foreign, _is_float: bool) -> Operation:
    padding = given.padding
    if padding is not None and any(".v2." in kind.__module__ for kind in type(given).__mro__):  # there (left, right, top, bottom)
        padding = [padding[0], padding[2], padding[1], padding[3]]
    return geometry.RandomCrop(given.size, padding, given.pad_if_needed, for_images(given.fill), given.padding_mode)


def _random_erasing(given: Foreign, _is_float: bool) -> Operation:
    value = "random" if given.value is None else given.value
    return ending.RandomErasing(given.p, given.scale, given.ratio, value)


def _iou_crop(given: Foreign, _is_float: bool) -> Operation:
    return boxes.RandomIoUCrop(given.min_scale, given.max_scale, given.min_aspect_ratio, given.max_aspect_ratio, list(given.options),
                               given.trials)


def _clamp(given: Foreign, _is_float: bool) -> Operation:
    mode = getattr(given, "clamping_mode", "auto")  # 0.23 and later
    return markers.Identity() if mode is None else boxes.ClampBoundingBoxes(mode)


def _sanitize(given: Foreign, _is_float: bool) -> Operation:
    return boxes.SanitizeBoundingBoxes(given.min_size, getattr(given, "min_area", 1.0), given.labels_getter)


def _box_format(given: Foreign, _is_float: bool) -> Operation:
    """bale.Field decides, and its default is this one."""
    name = getattr(given.format, "value", given.format)
    if str(name).upper() != "XYXY":
        raise ValueError(f"format: give the field of the boxes format={str(name).lower()!r} instead")
    return markers.Identity()


def _to_tensor(_given: Foreign, _is_float: bool) -> Operation:
    return ending.ToTensor()


def _convert(given: Foreign, _is_float: bool) -> Operation:
    return ending.ConvertImageDtype(given.dtype)


def _to_dtype(given: Foreign, is_float: bool) -> Operation:
    dtype = for_images(given.dtype)
    if dtype is None:
        return markers.Identity()
    # Between float types nothing is scaled.
    return ending.ToDtype(dtype, given.scale or is_float)


def _to_pil_image(_given: Foreign, is_float: bool) -> Operation:
    if is_float:
        raise TypeError("floats that become an image again have no native counterpart")
    return markers.Identity()


def _rgb(_given: Foreign, _is_float: bool) -> Operation:
    return AS_RGB


def _image_classification(given: Foreign, _is_float: bool) -> list[Operation]:
    """The preset of a model's weights: torchvision.models.get_weight(...).transforms()."""
    return [geometry.Resize(given.resize_size, given.interpolation), geometry.CenterCrop(given.crop_size), ending.ToTensor(),
            ending.Normalize(given.mean, given.std)]

TABLE: dict[str, Make] = {
    **{name: _plain(kind, names) for name, (kind, names) in _PLAIN.items()},
    "RandomCrop": _random_crop, "RandomErasing": _random_erasing, "ToTensor": _to_tensor, "ConvertImageDtype": _convert,
    "ToDtype": _to_dtype, "RandomIoUCrop": _iou_crop, "ClampBoundingBoxes": _clamp,
    "SanitizeBoundingBoxes": _sanitize, "ConvertBoundingBoxFormat": _box_format, "ToPILImage": _to_pil_image, "RGB": _rgb, "ImageClassification": _image_classification,
}
