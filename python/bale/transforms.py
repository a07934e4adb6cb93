"""What becomes of an image on its way into a batch. Names and defaults are torchvision's, pixels are Pillow's."""
import collections

from bale import _bale

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

_FIELDS = {
    "kind": "train", "height": 224, "width": 224, "interpolation": "bilinear", "pillow": "13", "resize": 256,
    "scale": (0.08, 1.0), "ratio": (3 / 4, 4 / 3), "hflip": 0.5, "brightness": (1, 1), "contrast": (1, 1),
    "saturation": (1, 1), "hue": (0, 0), "grey": 0.0, "dtype": "uint8", "layout": "nhwc", "normalize": None,
}


class Transform(collections.namedtuple("Transform", _FIELDS, defaults=_FIELDS.values())):
    """A plain value; made by the functions below."""

    __slots__ = ()

    def __repr__(self):
        changed = [f"{name}={value!r}" for name, value in zip(self._fields, self) if value != _FIELDS[name]]
        return f"bale.transforms.{self.kind}({', '.join(c for c in changed if not c.startswith('kind='))})"


def train(size=224, *, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), hflip=0.5, jitter=None, grey=0.0,
          interpolation="bilinear", dtype="uint8", layout="nhwc", normalize=None, pillow="13"):
    """RandomResizedCrop(size, scale, ratio), RandomHorizontalFlip(hflip), ColorJitter(*jitter), RandomGrayscale(grey).

    size           side, or (height, width)
    jitter         (brightness, contrast, saturation, hue) as ColorJitter takes them, each a number or a range
    interpolation  "bilinear" or "bicubic"
    dtype          "uint8", "float16", "bfloat16", "float32"; floats are value / 255
    layout         "nhwc" or "nchw": how pixels lie in memory
    normalize      True (ImageNet's mean and deviation), or (mean, std) of three numbers each; float types only
    pillow         "13" or "12": whose rounding
    """
    height, width = _sides(size)
    ranges = _jitter(jitter)
    return _checked(kind="train", height=height, width=width, scale=tuple(scale), ratio=tuple(ratio), hflip=hflip,
                    grey=grey, interpolation=interpolation, dtype=dtype, layout=layout,
                    normalize=_normalize(normalize), pillow=str(pillow), **ranges)


def eval(size=224, *, resize=None, interpolation="bilinear", dtype="uint8", layout="nhwc", normalize=None,
         pillow="13"):
    """Resize(resize), CenterCrop(size); resize defaults to size * 256 / 224."""
    height, width = _sides(size)
    if resize is None:
        resize = (max(height, width) * 256 + 112) // 224
    return _checked(kind="eval", height=height, width=width, resize=resize, interpolation=interpolation, dtype=dtype,
                    layout=layout, normalize=_normalize(normalize), pillow=str(pillow))


def padded(size, *, dtype="uint8", layout="nhwc", normalize=None):
    """Decoded as it is into the top left of (height, width), zeros elsewhere; larger images are bad samples."""
    height, width = _sides(size)
    return _checked(kind="padded", height=height, width=width, dtype=dtype, layout=layout,
                    normalize=_normalize(normalize))


def ragged(*, dtype="uint8", layout="nhwc", normalize=None):
    """Decoded as it is, each of its own size."""
    return _checked(kind="ragged", dtype=dtype, layout=layout, normalize=_normalize(normalize))


def raw():
    """The stored bytes."""
    return _checked(kind="raw")


def _checked(**fields):
    transform = Transform(**fields)
    _bale.check_transform(transform)
    return transform


def _sides(size):
    if isinstance(size, (tuple, list)):
        height, width = size
        return height, width
    return size, size


def _normalize(normalize):
    if normalize is None or normalize is False:
        return None
    if normalize is True:
        return IMAGENET_MEAN, IMAGENET_STD
    mean, std = normalize
    if len(mean) != 3 or len(std) != 3:
        raise ValueError("normalize: mean and std are three numbers each")
    return tuple(map(float, mean)), tuple(map(float, std))


def _jitter(jitter):
    if jitter is None:
        return {}
    if len(jitter) != 4:
        raise ValueError("jitter: (brightness, contrast, saturation, hue)")

    def around(centre, given, least):
        if isinstance(given, (tuple, list)):
            low, high = given
            return low, high
        if given < 0:
            raise ValueError(f"jitter: {given} is below 0")
        return max(least, centre - given), centre + given

    brightness, contrast, saturation, hue = jitter
    return {"brightness": around(1, brightness, 0), "contrast": around(1, contrast, 0),
            "saturation": around(1, saturation, 0), "hue": around(0, hue, -0.5)}
