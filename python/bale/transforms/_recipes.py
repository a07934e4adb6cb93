"""Lists that many train and evaluate with: train(), val(), padded(), ragged(), raw(). Names and defaults are
torchvision's, pixels are Pillow's, bit for bit."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from bale._docs import makes_list
from bale.transforms._operations import arguments
from bale.transforms._operations.color import ColorJitter, RandomGrayscale
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.ending import Normalize, ToDtype, mean_and_std
from bale.transforms._operations.geometry import CenterCrop, PadTo, RandomHorizontalFlip, RandomResizedCrop, Resize
from bale.transforms._operations.operation import Operation

if TYPE_CHECKING:
    from bale._types import DType
    from bale.transforms._operations.arguments import Interpolation

Size = int | Sequence[int]
Range = tuple[float, float]
Layout = Literal["nhwc", "nchw"]
MeanAndStd = bool | Sequence[Sequence[float]] | None


@makes_list
def train(size: Size = 224, *, scale: Range = (0.08, 1.0), ratio: Range = (3 / 4, 4 / 3), hflip: float = 0.5,
          jitter: Sequence[float | Range] | None = None, gray: float = 0.0, interpolation: Interpolation = "bilinear",
          dtype: DType = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None,
          pillow: str | int = "13") -> Compose:
    """RandomResizedCrop(size, scale, ratio), RandomHorizontalFlip(hflip), ColorJitter(*jitter), RandomGrayscale(gray).

    Parameters
    ----------
    jitter : sequence of float or (float, float), or None, default None
        (brightness, contrast, saturation, hue) as for ColorJitter, each a number or a range. None: no jitter.

    Examples
    --------
    >>> transform = bale.transforms.train(224, jitter=(0.4, 0.4, 0.4, 0.1), dtype="float32", normalize=True)
    """
    found: list[Operation] = [RandomResizedCrop(size, scale, ratio, interpolation)]
    if arguments.probability("hflip", hflip) > 0:
        found.append(RandomHorizontalFlip(hflip))
    if jitter is not None:
        found.append(ColorJitter(*arguments.values("jitter", jitter, 4)))
    if arguments.probability("gray", gray) > 0:
        found.append(RandomGrayscale(gray))
    return Compose(found + _ending(dtype, normalize), layout, pillow)


@makes_list
def val(size: Size = 224, *, resize: int | None = None, interpolation: Interpolation = "bilinear",
        dtype: DType = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None,
        pillow: str | int = "13") -> Compose:
    """Resize(resize), CenterCrop(size).

    Parameters
    ----------
    resize : int or None, default None
        The shorter side in pixels, not below `size`. None: size * 256 / 224.
    """
    sides = arguments.sides("size", size)
    if resize is None:
        resize = (max(sides) * 256 + 112) // 224
    short = arguments.whole("resize", resize, max(sides), arguments.MAX_SIDE)
    return Compose([Resize(short, interpolation), CenterCrop(sides), *_ending(dtype, normalize)], layout, pillow)


@makes_list
def padded(size: Size, *, dtype: DType = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None) -> Compose:
    """The image, unscaled, at the top left of (height, width), with zeros elsewhere. Larger images are bad samples."""
    return Compose([PadTo(size), *_ending(dtype, normalize)], layout)


@makes_list
def ragged(*, dtype: DType = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None) -> Compose:
    """The image, unscaled; each row has its own size."""
    return Compose(_ending(dtype, normalize), layout, shape="ragged")


@makes_list
def raw() -> Compose:
    """The stored bytes, not decoded."""
    return Compose([], shape="raw")


def _ending(dtype: DType, normalize: MeanAndStd) -> list[Operation]:
    end, given = ToDtype(dtype), mean_and_std(normalize)
    if end.dtype == "uint8":
        if given is not None:
            raise ValueError("normalize: needs a float dtype")
        return []
    return [end] if given is None else [end, Normalize(*given)]
