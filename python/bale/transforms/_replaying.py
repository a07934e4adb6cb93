"""replay(): recorded steps, applied to a PIL image by Pillow and torchvision."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image as PilImage


def replay(steps: str | list[dict[str, Any]], image: PilImage.Image) -> Any:
    """Applies steps, as the Loader draws and records them (Batch.draw), to a PIL image of the Loader's mode.

    Needs Pillow; torchvision for hue, blur with a kernel, and erasing.

    Parameters
    ----------
    steps : str or list of dict
        A JSON array, or a list, of {"name": "Crop", "left": 3, ...}.
    image : PIL image
        Of the Loader's mode.

    Returns
    -------
    PIL image, or (PIL image, callable)
        The image. If a step erases converted pixels, a function comes with it: it takes the float tensor
        (channels x height x width) which the list's ToDtype and Normalize have made, and returns it erased.

    Raises
    ------
    ValueError
        For a step that it does not know.
    """
    found = json.loads(steps) if isinstance(steps, str) else steps
    late = [step for step in found if step["name"] == "Erase" and step.get("converted", True)]
    for step in found:
        if step not in late:
            image = _step(step, image)
    if not late:
        return image
    return image, lambda tensor: _erased(late, tensor)


def _step(step: dict[str, Any], image: PilImage.Image) -> PilImage.Image:
    members = {name: value for name, value in step.items() if name != "name"}
    run = _STEPS.get(step["name"])
    if run is None:
        raise ValueError(f"step: {step['name']!r} is not one of {', '.join(_STEPS)}")
    made: PilImage.Image = run(image, **members)
    return made


def _color(image: Any, color: Any) -> Any:
    """A step's color for an image of this mode. Those of other modes than RGB are one number."""
    if image.mode in ("L", "I;16"):
        return color[0]
    return tuple(color) if image.mode == "RGB" else (*color, color[0])


def _as_it_is(image: Any, **_members: Any) -> Any:
    """Of steps that change boxes only."""
    return image

# --- geometry


def _crop(image: Any, left: int, top: int, width: int, height: int) -> Any:
    return image.crop((left, top, left + width, top + height))


def _pad(image: Any, left: int, top: int, right: int, bottom: int, mode: str = "constant", fill: Any = (0, 0, 0)) -> Any:
    from torchvision.transforms import functional
    return functional.pad(image, [left, top, right, bottom], _color(image, fill), mode)


def _resize(image: Any, width: int, height: int, filter: str = "bilinear", pass_order: str = "") -> Any:  # noqa: A002
    """The order of passes is that of the Pillow which is installed."""
    from PIL import Image
    return image.resize((width, height), getattr(Image, filter.upper()))


def _flip(image: Any) -> Any:
    from PIL import ImageOps
    return ImageOps.mirror(image)


def _flip_vertically(image: Any) -> Any:
    from PIL import ImageOps
    return ImageOps.flip(image)


def _rotate(image: Any, angle: float, sampling: str = "nearest", expand: bool = False, center: Any = None,
            fill: Any = (0, 0, 0)) -> Any:
    from PIL import Image
    return image.rotate(angle, getattr(Image, sampling.upper()), expand, None if center is None else tuple(center),
                        fillcolor=_color(image, fill))


def _affine(image: Any, matrix: Any, sampling: str = "nearest", fill: Any = (0, 0, 0)) -> Any:
    from PIL import Image
    return image.transform(image.size, Image.Transform.AFFINE, tuple(matrix), getattr(Image, sampling.upper()), fillcolor=_color(image, fill))


def _perspective(image: Any, coefficients: Any, sampling: str = "bilinear", fill: Any = (0, 0, 0)) -> Any:
    from PIL import Image
    return image.transform(image.size, Image.Transform.PERSPECTIVE, tuple(coefficients), getattr(Image, sampling.upper()),
                           fillcolor=_color(image, fill))

# --- colors


def _enhance(name: str) -> Any:
    def run(image: Any, factor: float) -> Any:
        from PIL import ImageEnhance
        return getattr(ImageEnhance, name)(image).enhance(factor)
    return run


def _ops(name: str) -> Any:
    def run(image: Any) -> Any:
        from PIL import ImageOps
        return getattr(ImageOps, name)(image)
    return run


def _hue(image: Any, turn: float) -> Any:
    from torchvision.transforms import functional
    return functional.adjust_hue(image, turn)


def _grayscale(image: Any) -> Any:
    return image if image.mode == "L" else image.convert("L").convert("RGB")


def _solarize(image: Any, threshold: Any = 128) -> Any:
    from PIL import ImageOps
    return ImageOps.solarize(image, threshold)


def _solarize_add(image: Any, add: int, threshold: int = 128) -> Any:
    return image.point([min(255, value + add) if value < threshold else value for value in range(256)] * len(image.getbands()))


def _posterize(image: Any, bits: int) -> Any:
    """ImageOps.posterize refuses 0 bits in some versions; timm's does not."""
    mask = ~(2 ** (8 - bits) - 1) & 255
    return image.point([value & mask for value in range(256)] * len(image.getbands()))


def _permute(image: Any, order: Any) -> Any:
    from PIL import Image
    if image.mode == "L":
        return image
    channels = image.split()
    return Image.merge("RGB", [channels[i] for i in order])


def _gaussian_blur(image: Any, kernel_width: int, kernel_height: int, sigma_x: float, sigma_y: float) -> Any:
    from torchvision.transforms import functional
    return functional.gaussian_blur(image, [kernel_width, kernel_height], [sigma_x, sigma_y])


def _pillow_blur(image: Any, radius: float) -> Any:
    from PIL import ImageFilter
    return image.filter(ImageFilter.GaussianBlur(radius))

# --- mixtures and erasing


def _mixture(image: Any, share: float, weights: Any, chains: Any, rule: str = "sum") -> Any:
    """In float32, in the order of the chains, cut to 8 bits; or with Pillow's blends, as timm."""
    import numpy as np
    from PIL import Image
    if rule not in ("sum", "blend", "blend_each"):
        raise ValueError(f"step: {rule!r} is not a rule of Mixture")
    result = image
    total: Any = np.float32(share if rule == "sum" else 0) * np.asarray(image, dtype=np.float32)
    for weight, chain in zip(weights, chains):
        mixed = image
        for step in chain:
            mixed = _step(step, mixed)
        if rule == "blend_each":
            result = Image.blend(result, mixed, weight)
        else:
            total = total + np.float32(weight) * np.asarray(mixed, dtype=np.float32)
    if rule == "blend_each":
        return result
    total = Image.fromarray(np.clip(total, 0, 255).astype(np.uint8))
    return total if rule == "sum" else Image.blend(image, total, share)


def _erase_bytes(image: Any, left: int, top: int, width: int, height: int, value: Any = (0, 0, 0), **others: Any) -> Any:
    if others.get("with", "value") != "value":
        raise ValueError("step: Erase of 8-bit pixels has a value, no noise")
    made = image.copy()
    made.paste(_color(image, [int(v) for v in value]), (left, top, left + width, top + height))
    return made


def _erased(steps: list[dict[str, Any]], tensor: Any) -> Any:
    """Noise is bale's own: its rectangles become NaN here, which marks them."""
    import torch
    made = tensor.clone()
    for step in steps:
        values = step.get("value", (0, 0, 0)) if step.get("with", "value") == "value" else (float("nan"),) * 3
        rows, columns = slice(step["top"], step["top"] + step["height"]), slice(step["left"], step["left"] + step["width"])
        values = (*values, values[0])[:len(made)]  # of other images than RGB they are one number
        made[:, rows, columns] = torch.tensor(values, dtype=made.dtype)[:, None, None]
    return made

_STEPS: dict[str, Any] = {
    "Crop": _crop, "Pad": _pad, "Resize": _resize, "HorizontalFlip": _flip, "VerticalFlip": _flip_vertically, "Rotate": _rotate,
    "Affine": _affine, "Perspective": _perspective, "Brightness": _enhance("Brightness"), "Contrast": _enhance("Contrast"),
    "Saturation": _enhance("Color"), "Sharpness": _enhance("Sharpness"), "Hue": _hue, "Grayscale": _grayscale,
    "Invert": _ops("invert"), "Solarize": _solarize, "SolarizeAdd": _solarize_add, "Posterize": _posterize,
    "Equalize": _ops("equalize"), "AutoContrast": _ops("autocontrast"), "PermuteChannels": _permute,
    "ZeroBoundingBoxes": _as_it_is,
    "ClampBoundingBoxes": _as_it_is, "SanitizeBoundingBoxes": _as_it_is, "GaussianBlur": _gaussian_blur, "PillowGaussianBlur": _pillow_blur, "Mixture": _mixture, "Erase": _erase_bytes,
}
