"""Transforms of a Loader that are one of five recipes: train(), val(), padded(), ragged(), raw(). Names and defaults are
torchvision's, pixels are Pillow's, bit for bit."""
from __future__ import annotations

from typing import NamedTuple

from bale import _bale
from bale._dtypes import dtype_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    Size = int | tuple[int, int] | list[int]
    Range = tuple[float, float]
    DType = Literal["uint8", "float16", "bfloat16", "float32", "uint16"]
    Mode = Literal["RGB", "L", "RGBA", "I;16"]
    Layout = Literal["nhwc", "nchw"]
    Interpolation = Literal["bilinear", "bicubic"]
    Normalize = bool | Sequence[Sequence[float]] | None

MODES = ("RGB", "L", "RGBA", "I;16")
_MODE_OF_CHANNELS = {1: "L", 3: "RGB", 4: "RGBA"}
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Transform(NamedTuple):
    """The parameters of a recipe, an immutable value. Make one with train(), val(), padded(), ragged() or raw().

    Attributes
    ----------
    kind : str
        "train", "val", "padded", "ragged" or "raw".
    height, width : int
        Size of the images of a batch in pixels.
    interpolation : str
        "bilinear" or "bicubic".
    pillow : str
        "13" or "12": the version of Pillow whose rounding is used.
    resize : int
        Of val(): the shorter side in pixels before the crop.
    scale, ratio : (float, float)
        Of train(): ranges of the crop's area, as a share of the image's, and of its width / height.
    hflip, gray : float
        Of train(): probabilities.
    brightness, contrast, saturation, hue : (float, float)
        Of train(): ranges of the factors, and of hue in turns of the color circle.
    dtype : str
        Dtype of the batch.
    layout : str
        "nhwc" or "nchw".
    normalize : (mean, std) or None
        A tuple of numbers each.
    mode : str
        What images are decoded to: "RGB", "L", "RGBA" or "I;16".
    """

    kind: str = "train"
    height: int = 224
    width: int = 224
    interpolation: str = "bilinear"
    pillow: str = "13"
    resize: int = 256
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    hflip: float = 0.5
    brightness: tuple[float, float] = (1, 1)
    contrast: tuple[float, float] = (1, 1)
    saturation: tuple[float, float] = (1, 1)
    hue: tuple[float, float] = (0, 0)
    gray: float = 0.0
    dtype: str = "uint8"
    layout: str = "nhwc"
    normalize: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    mode: str = "RGB"

    def __repr__(self) -> str:
        defaults = self._field_defaults
        changed = [f"{name}={value!r}" for name, value in zip(self._fields, self) if value != defaults[name]]
        return f"bale.transforms.{self.kind}({', '.join(c for c in changed if not c.startswith('kind='))})"


class Mix(NamedTuple):
    """Mixup and cutmix: Loader(mix=...), also on a device.

    Each image is mixed with the one before it in its batch, with the same parameters for the whole batch. Names are
    timm's.

    Parameters
    ----------
    mixup : float, default 0.0
        Alpha of mixup: shares are drawn from Beta(alpha, alpha). 0: none.
    cutmix : float, default 0.0
        Alpha of cutmix. 0: none.
    probability : float, default 1.0
        Probability that a batch is mixed.
    switch : float, default 0.5
        Probability of cutmix, if both are on.
    num_classes : int or None, default None
        Number of classes of soft labels, which bale.torch.Loader then returns: a float32 tensor N x num_classes; the
        share of an image without a label is zeros. None: labels, partner_labels and shares.
    label_smoothing : float, default 0.0
        Of soft labels, as by timm, 0 to 1.

    Notes
    -----
    The Loader checks the values, and raises ValueError.
    """

    mixup: float = 0.0  # alpha: shares are drawn from Beta(alpha, alpha); 0: none
    cutmix: float = 0.0
    probability: float = 1.0  # that a batch is mixed
    switch: float = 0.5
    num_classes: int | None = None  # None: labels, partner_labels and shares instead of soft labels
    label_smoothing: float = 0.0  # of soft labels


def train(size: Size = 224, *, scale: Range = (0.08, 1.0), ratio: Range = (3 / 4, 4 / 3), hflip: float = 0.5,
          jitter: Sequence[float | Range] | None = None, gray: float = 0.0, interpolation: Interpolation = "bilinear",
          dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: Normalize = None,
          pillow: str | int = "13") -> Transform:
    """RandomResizedCrop(size, scale, ratio), RandomHorizontalFlip(hflip), ColorJitter(*jitter), RandomGrayscale(gray).

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    scale : (float, float), default (0.08, 1.0)
        Range of the crop's area, as a share of the image's.
    ratio : (float, float), default (3 / 4, 4 / 3)
        Range of the crop's width / height.
    hflip : float, default 0.5
        Probability that the image is mirrored.
    jitter : sequence of float or (float, float), or None, default None
        (brightness, contrast, saturation, hue) as for ColorJitter, each a number or a range. None: no jitter.
    gray : float, default 0.0
        Probability that the image becomes gray.
    interpolation : {'bilinear', 'bicubic'}, default 'bilinear'
        "bilinear" or "bicubic".
    dtype : {'uint8', 'float16', 'bfloat16', 'float32'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.
    pillow : str or int, default '13'
        "13" or "12": the version of Pillow whose rounding is used.

    Returns
    -------
    Transform
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.

    Examples
    --------
    >>> transform = bale.transforms.train(224, jitter=(0.4, 0.4, 0.4, 0.1), dtype="float32", normalize=True)
    """
    height, width = _sides(size)
    ranges = _jitter(jitter)
    return _checked(kind="train", height=height, width=width, scale=_range(scale), ratio=_range(ratio), hflip=hflip,
                    gray=gray, interpolation=interpolation, dtype=dtype, layout=layout,
                    normalize=mean_and_std(normalize), pillow=str(pillow), **ranges)


def val(size: Size = 224, *, resize: int | None = None, interpolation: Interpolation = "bilinear",
        dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: Normalize = None,
        pillow: str | int = "13") -> Transform:
    """Resize(resize), CenterCrop(size).

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    resize : int or None, default None
        The shorter side in pixels, not below `size`. None: size * 256 / 224.
    interpolation : {'bilinear', 'bicubic'}, default 'bilinear'
        "bilinear" or "bicubic".
    dtype : {'uint8', 'float16', 'bfloat16', 'float32', 'uint16'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.
    pillow : str or int, default '13'
        "13" or "12": the version of Pillow whose rounding is used.

    Returns
    -------
    Transform
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.
    """
    height, width = _sides(size)
    if resize is None:
        resize = (max(height, width) * 256 + 112) // 224
    return _checked(kind="val", height=height, width=width, resize=resize, interpolation=interpolation, dtype=dtype,
                    layout=layout, normalize=mean_and_std(normalize), pillow=str(pillow))


def padded(size: Size, *, dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: Normalize = None) -> Transform:
    """The image, unscaled, at the top left of (height, width), with zeros elsewhere. Larger images are bad samples.

    Parameters
    ----------
    size : int or (int, int)
        Side in pixels, or (height, width).
    dtype : {'uint8', 'float16', 'bfloat16', 'float32', 'uint16'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.

    Returns
    -------
    Transform
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.
    """
    height, width = _sides(size)
    return _checked(kind="padded", height=height, width=width, dtype=dtype, layout=layout,
                    normalize=mean_and_std(normalize))


def ragged(*, dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: Normalize = None) -> Transform:
    """The image, unscaled; each row has its own size.

    Parameters
    ----------
    dtype : {'uint8', 'float16', 'bfloat16', 'float32', 'uint16'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.

    Returns
    -------
    Transform
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.
    """
    return _checked(kind="ragged", dtype=dtype, layout=layout, normalize=mean_and_std(normalize))


def raw() -> Transform:
    """The stored bytes, not decoded.

    Returns
    -------
    Transform
        For Loader(transform=...).
    """
    return _checked(kind="raw")


def _checked(**fields: Any) -> Transform:
    if "dtype" in fields:
        fields["dtype"] = dtype_name(fields["dtype"])
    transform = Transform(**fields)
    # The Loader says of which mode images are; a transform for one of another mode is as good.
    channels = 3 if transform.normalize is None else len(transform.normalize[0])
    _bale.check_transform(transform._replace(mode=_MODE_OF_CHANNELS[channels]))
    return transform


def _sides(size: Size) -> tuple[int, int]:
    if isinstance(size, (tuple, list)):
        height, width = size
        return height, width
    return size, size


def _range(given: Range) -> Range:
    low, high = given
    return low, high


def mean_and_std(normalize: Normalize) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Returns what an option `normalize` stands for.

    Parameters
    ----------
    normalize : bool, (mean, std) or None
        True (ImageNet's mean and standard deviation), or (mean, std) of one, three or four numbers each; False or None:
        none.

    Returns
    -------
    (mean, std) or None
        Tuples of float.

    Raises
    ------
    ValueError
        If there are not as many numbers as images have channels.
    """
    if normalize is None or normalize is False:
        return None
    if normalize is True:
        return IMAGENET_MEAN, IMAGENET_STD
    mean, std = normalize
    if len(mean) not in _MODE_OF_CHANNELS or len(std) != len(mean):
        raise ValueError("normalize: mean and std are three numbers each, or one for mode L, or four for RGBA")
    return tuple(map(float, mean)), tuple(map(float, std))


def _jitter(jitter: Sequence[float | Range] | None) -> dict[str, Range]:
    if jitter is None:
        return {}
    if len(jitter) != 4:
        raise ValueError("jitter: (brightness, contrast, saturation, hue)")

    def around(center: float, given: float | Range, least: float) -> Range:
        if isinstance(given, (tuple, list)):
            return _range(given)
        if given < 0:
            raise ValueError(f"jitter: {given} is below 0")
        return max(least, center - given), center + given

    brightness, contrast, saturation, hue = jitter
    return {"brightness": around(1, brightness, 0), "contrast": around(1, contrast, 0),
            "saturation": around(1, saturation, 0), "hue": around(0, hue, -0.5)}
