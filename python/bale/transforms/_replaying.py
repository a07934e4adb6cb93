"""replay(): recorded steps, applied to a PIL image by Pillow and torchvision."""
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from PIL import Image as PilImage

Step = dict[str, Any]  # a name and members, as JSON has them


def replay(steps: str | list[Step],
           image: PilImage.Image) -> PilImage.Image | tuple[PilImage.Image, Callable[[torch.Tensor], torch.Tensor]]:
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


def _step(step: Step, image: PilImage.Image) -> PilImage.Image:
    members = {name: value for name, value in step.items() if name != "name"}
    run = _STEPS.get(step["name"])
    if run is None:
        raise ValueError(f"step: {step['name']!r} is not one of {', '.join(_STEPS)}")
    return run(image, **members)


def _color(image: PilImage.Image, color: Sequence[int]) -> int | tuple[int, ...]:
    """A step's color for an image of this mode. Those of other modes than RGB are one number."""
    if image.mode in ("L", "I;16"):
        return color[0]
    return tuple(color) if image.mode == "RGB" else (*color, color[0])


def _as_it_is(image: PilImage.Image, **_members: object) -> PilImage.Image:
    """Of steps that change boxes only."""
    return image


def _functional() -> Any:
    """torchvision's functions, which take PIL images, although they say that they take tensors."""
    from torchvision.transforms import functional
    return functional

# --- geometry


def _crop(image: PilImage.Image, left: int, top: int, width: int, height: int) -> PilImage.Image:
    return image.crop((left, top, left + width, top + height))


def _pad(image: PilImage.Image, left: int, top: int, right: int, bottom: int, mode: str = "constant", fill: Sequence[int] = (0, 0, 0)) -> PilImage.Image:
    padded: PilImage.Image = _functional().pad(image, [left, top, right, bottom], _color(image, fill), mode)
    return padded


def _resize(image: PilImage.Image, width: int, height: int, filter: str = "bilinear", pass_order: str = "") -> PilImage.Image:  # noqa: A002
    """The order of passes is that of the Pillow which is installed."""
    from PIL import Image
    return image.resize((width, height), getattr(Image, filter.upper()))


def _flip(image: PilImage.Image) -> PilImage.Image:
    from PIL import ImageOps
    return ImageOps.mirror(image)


def _flip_vertically(image: PilImage.Image) -> PilImage.Image:
    from PIL import ImageOps
    return ImageOps.flip(image)


def _rotate(image: PilImage.Image, angle: float, sampling: str = "nearest", expand: bool = False, center: tuple[float, float] | None = None,
            fill: Sequence[int] = (0, 0, 0)) -> PilImage.Image:
    from PIL import Image
    return image.rotate(angle, getattr(Image, sampling.upper()), expand, None if center is None else (center[0], center[1]),
                        fillcolor=_color(image, fill))


def _affine(image: PilImage.Image, matrix: Sequence[float], sampling: str = "nearest", fill: Sequence[int] = (0, 0, 0)) -> PilImage.Image:
    from PIL import Image
    return image.transform(image.size, Image.Transform.AFFINE, tuple(matrix), getattr(Image, sampling.upper()), fillcolor=_color(image, fill))


def _perspective(image: PilImage.Image, coefficients: Sequence[float], sampling: str = "bilinear", fill: Sequence[int] = (0, 0, 0)) -> PilImage.Image:
    from PIL import Image
    return image.transform(image.size, Image.Transform.PERSPECTIVE, tuple(coefficients), getattr(Image, sampling.upper()),
                           fillcolor=_color(image, fill))

# --- colors


def _enhance(name: str) -> Callable[..., PilImage.Image]:
    def run(image: PilImage.Image, factor: float) -> PilImage.Image:
        from PIL import ImageEnhance
        made: PilImage.Image = getattr(ImageEnhance, name)(image).enhance(factor)
        return made
    return run


def _ops(name: str) -> Callable[..., PilImage.Image]:
    def run(image: PilImage.Image) -> PilImage.Image:
        from PIL import ImageOps
        made: PilImage.Image = getattr(ImageOps, name)(image)
        return made
    return run


def _hue(image: PilImage.Image, turn: float) -> PilImage.Image:
    turned: PilImage.Image = _functional().adjust_hue(image, turn)
    return turned


def _grayscale(image: PilImage.Image) -> PilImage.Image:
    return image if image.mode == "L" else image.convert("L").convert("RGB")


def _solarize(image: PilImage.Image, threshold: int = 128) -> PilImage.Image:
    from PIL import ImageOps
    return ImageOps.solarize(image, threshold)


def _solarize_add(image: PilImage.Image, add: int, threshold: int = 128) -> PilImage.Image:
    return image.point([min(255, value + add) if value < threshold else value for value in range(256)] * len(image.getbands()))


def _posterize(image: PilImage.Image, bits: int) -> PilImage.Image:
    """ImageOps.posterize refuses 0 bits in some versions; timm's does not."""
    mask = ~(2 ** (8 - bits) - 1) & 255
    return image.point([value & mask for value in range(256)] * len(image.getbands()))


def _permute(image: PilImage.Image, order: Sequence[int]) -> PilImage.Image:
    from PIL import Image
    if image.mode == "L":
        return image
    channels = image.split()
    return Image.merge("RGB", [channels[i] for i in order])


def _gaussian_blur(image: PilImage.Image, kernel_width: int, kernel_height: int, sigma_x: float, sigma_y: float) -> PilImage.Image:
    blurred: PilImage.Image = _functional().gaussian_blur(image, [kernel_width, kernel_height], [sigma_x, sigma_y])
    return blurred


def _pillow_blur(image: PilImage.Image, radius: float) -> PilImage.Image:
    from PIL import ImageFilter
    return image.filter(ImageFilter.GaussianBlur(radius))

# --- mixtures and erasing


def _mixture(image: PilImage.Image, share: float, weights: Sequence[float], chains: Sequence[list[Step]], rule: str = "sum") -> PilImage.Image:
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


def _erase_bytes(image: PilImage.Image, left: int, top: int, width: int, height: int, value: Sequence[float] = (0, 0, 0), **others: object) -> PilImage.Image:
    if others.get("with", "value") != "value":
        raise ValueError("step: Erase of 8-bit pixels has a value, no noise")
    made = image.copy()
    made.paste(_color(image, [int(v) for v in value]), (left, top, left + width, top + height))
    return made


def _erased(steps: list[Step], tensor: torch.Tensor) -> torch.Tensor:
    """Noise is bale's own: its rectangles become NaN here, which marks them."""
    import torch
    made: torch.Tensor = tensor.clone()
    for step in steps:
        values = step.get("value", (0, 0, 0)) if step.get("with", "value") == "value" else (float("nan"),) * 3
        rows, columns = slice(step["top"], step["top"] + step["height"]), slice(step["left"], step["left"] + step["width"])
        values = (*values, values[0])[:len(made)]  # of other images than RGB they are one number
        made[:, rows, columns] = torch.tensor(values, dtype=made.dtype)[:, None, None]
    return made

_STEPS: dict[str, Callable[..., PilImage.Image]] = {
    "Crop": _crop, "Pad": _pad, "Resize": _resize, "HorizontalFlip": _flip, "VerticalFlip": _flip_vertically, "Rotate": _rotate,
    "Affine": _affine, "Perspective": _perspective, "Brightness": _enhance("Brightness"), "Contrast": _enhance("Contrast"),
    "Saturation": _enhance("Color"), "Sharpness": _enhance("Sharpness"), "Hue": _hue, "Grayscale": _grayscale,
    "Invert": _ops("invert"), "Solarize": _solarize, "SolarizeAdd": _solarize_add, "Posterize": _posterize,
    "Equalize": _ops("equalize"), "AutoContrast": _ops("autocontrast"), "PermuteChannels": _permute,
    "ZeroBoundingBoxes": _as_it_is,
    "ClampBoundingBoxes": _as_it_is, "SanitizeBoundingBoxes": _as_it_is, "GaussianBlur": _gaussian_blur, "PillowGaussianBlur": _pillow_blur, "Mixture": _mixture, "Erase": _erase_bytes,
}
