"""The bytes of a field: what Writer.add() makes of the values that it is given."""
from __future__ import annotations

import io
import json
import numbers
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bale._warnings import warn
from bale.errors import make_error

if TYPE_CHECKING:
    from PIL import Image as PilImage
    from typing_extensions import Buffer

# Formats of Pillow by the name of the field, and how they are saved: without loss if the format can.
_PILLOW: dict[str, tuple[str, dict[str, object]]] = {
    "jpg": ("JPEG", {}), "jpeg": ("JPEG", {}), "png": ("PNG", {}), "webp": ("WEBP", {"lossless": True}),
    "tif": ("TIFF", {}), "tiff": ("TIFF", {}), "bmp": ("BMP", {}), "ppm": ("PPM", {}), "pgm": ("PPM", {}),
}
# Modes that Pillow writes with other pixels, and says nothing.
_CHANGED = {"WEBP": ("I", "I;16", "I;16L", "I;16B", "F"), "BMP": ("RGBA",), "PPM": ("RGBA",)}
_LABELS_END = 1 << 63  # of both signs; its negative says that there is no label


class FieldValues:
    """Turns values into bytes.

    jpeg_quality    of JPEGs that are made from pixels

    Threads: may be used by many threads at once."""

    def __init__(self, jpeg_quality: int) -> None:
        if not 1 <= jpeg_quality <= 100:
            raise ValueError(f"jpeg_quality: {jpeg_quality} is not from 1 to 100")
        self._jpeg_quality = jpeg_quality
        self._warned = False

    def bytes_of(self, name: str, value: Any) -> Buffer:
        """The bytes of `value` in a field of this name. Raises TypeError for a value that the field cannot hold."""
        if isinstance(value, (bytes, bytearray)):
            return value
        if isinstance(value, memoryview):
            return value if value.c_contiguous else value.tobytes()
        if isinstance(value, str):
            return value.encode()
        extension = name.lower().rpartition(".")[2]
        if extension == "json":
            return json.dumps(value, ensure_ascii=False, default=plain).encode()
        if isinstance(value, bool) or value is None:
            raise _wrong(name, value)
        if extension == "npy" and isinstance(value, numbers.Real):
            import numpy

            value = numpy.asarray(value)
        elif isinstance(value, numbers.Integral):
            return str(int(value)).encode()
        elif isinstance(value, numbers.Real):
            return repr(float(value)).encode()
        return self._pixels_or_array(name, extension, value)

    def column_of(self, name: str, values: Iterable[object]) -> list[Buffer]:
        """The bytes of each of `values`. An error begins with the position of its value."""
        if isinstance(values, (str, bytes, bytearray)):
            raise TypeError(f"column {name!r}: {type(values).__name__}, not an iterable of values, one per key")
        return [value if type(value) is bytes else _at(position, self.bytes_of, name, value)
                for position, value in enumerate(values)]

    def _pixels_or_array(self, name: str, extension: str, value: Any) -> Buffer:
        pillow = sys.modules.get("PIL.Image")
        if pillow is not None and isinstance(value, pillow.Image):
            return self._image(name, extension, value)
        if hasattr(value, "detach") and hasattr(value, "cpu"):  # a torch tensor
            _require_corners(value)
            value = value.detach().cpu().numpy()
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, numpy.ndarray):
            raise _wrong(name, value)
        if extension == "npy":
            out = io.BytesIO()
            numpy.save(out, value, allow_pickle=False)
            return out.getbuffer()
        if extension not in _PILLOW:
            raise _wrong(name, value)
        if value.dtype != numpy.uint8 or value.ndim not in (2, 3) or value.ndim == 3 and value.shape[2] not in (1, 3, 4):
            raise TypeError(f"field {name!r}: an image is a uint8 array of shape (height, width), (height, width, 3) or "
                            f"(height, width, 4), not {value.dtype} {value.shape}")
        from PIL import Image

        if value.ndim == 3 and value.shape[2] == 1:
            value = value[:, :, 0]
        return self._saved(name, extension, Image.fromarray(numpy.ascontiguousarray(value)))

    def _image(self, name: str, extension: str, image: PilImage.Image) -> Buffer:
        if extension not in _PILLOW:
            raise TypeError(f"field {name!r}: to store an image, name the field {', '.join(_PILLOW)}, or pass its bytes")
        made_as = _PILLOW[extension][0]
        if image.format == made_as or (image.format, made_as) == ("MPO", "JPEG"):
            file = _untouched_file(image, sys.modules["PIL.Image"])
            if file is not None:
                return file
            if made_as == "JPEG":
                self._warn(name)
        return self._saved(name, extension, image)

    def _warn(self, name: str) -> None:
        if self._warned:
            return
        self._warned = True
        warn(f"field {name!r}: a decoded JPEG is encoded again, with quality {self._jpeg_quality}, which changes its "
             "pixels; to keep them, pass the bytes of its file, or name the field png")

    def _saved(self, name: str, extension: str, image: PilImage.Image) -> Buffer:
        out = io.BytesIO()
        kind, how = _PILLOW[extension]
        if kind == "JPEG":
            how = {"quality": self._jpeg_quality, "subsampling": 0}
        try:
            image.load()
        except (OSError, SyntaxError, ValueError) as error:
            raise make_error("damaged", f"field {name!r}: Pillow cannot read the image: {error}") from None
        if image.mode in _CHANGED.get(kind, ()) or kind in ("PNG", "PPM") and image.mode == "I" and not _has_16_bits(image):
            raise TypeError(f"field {name!r}: {kind} cannot hold these pixels of mode {image.mode}; name the field tiff")
        try:
            image.save(out, kind, **how)
        except (OSError, KeyError) as error:
            raise TypeError(f"field {name!r}: Pillow cannot write an image of mode {image.mode} as {kind}: {error}") from None
        return out.getbuffer()


def _has_16_bits(image: PilImage.Image) -> bool:
    extrema: Any = image.getextrema()
    low, high = extrema
    return bool(0 <= low and high <= 65535)


def is_image_field(name: str) -> bool:
    """Whether Pillow can make the file of a field of this name."""
    return name.lower().rpartition(".")[2] in _PILLOW


def _untouched_file(image: PilImage.Image, pillow: ModuleType) -> bytes | None:
    """The file of an image that Pillow has opened and not decoded yet: nothing can have changed its pixels. None of a later frame and of a
    draft(): the file would be read as another image."""
    file = getattr(image, "fp", None)
    if image.tell() or not getattr(image, "tile", None) or file is None or getattr(image, "_exclusive_fp", None) is None:
        return None
    try:
        at = file.tell()
        try:
            file.seek(0)
            content: bytes = file.read()
        finally:
            file.seek(at)
        with pillow.open(io.BytesIO(content)) as first:
            return content if (first.size, first.mode) == (image.size, image.mode) else None
    except (OSError, ValueError):
        return None


def plain(value: object) -> object:
    """A value inside of JSON that the json module does not know: of numpy or torch."""
    _require_corners(value)
    for method in ("tolist", "item"):
        if hasattr(value, method):
            return getattr(value, method)()
    apart = "; give it a field of its own, such as (key, {'png': image, 'mask.png': mask})" if hasattr(value, "getpixel") else ""
    raise TypeError(f"{type(value).__name__} cannot be JSON{apart}")


def _require_corners(value: object) -> None:
    """Of BoundingBoxes of torchvision, whose format would be lost."""
    kind = getattr(value, "format", None)
    if kind is not None and hasattr(value, "canvas_size") and getattr(kind, "value", kind) != "XYXY":
        raise TypeError(f"BoundingBoxes in the format {getattr(kind, 'value', kind)}: convert them to XYXY, or give their tolist() or numpy()")


def _wrong(name: str, value: object) -> TypeError:
    hint = "a json field" if isinstance(value, (dict, list, tuple, bool, type(None))) else "bytes"
    return TypeError(f"field {name!r} cannot hold a value of type {type(value).__name__}: use {hint}")


def labels_of(labels: Iterable[object], numbers_of_classes: dict[str, int]) -> list[int | None]:
    """label_of() of each. An error begins with the position of its label."""
    tolist = getattr(labels, "tolist", None)  # of numpy or torch
    return [label if type(label) is int and -_LABELS_END < label < _LABELS_END else _at(position, label_of, label, numbers_of_classes)
            for position, label in enumerate(labels if tolist is None else tolist())]


def _at(position: int, make: Callable[..., object], *given: object) -> Any:
    try:
        return make(*given)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"position {position}: {error}") from None


def label_of(label: Any, numbers_of_classes: dict[str, int]) -> int | None:
    """A class number from a number or the name of a class."""
    if label is None:
        return None
    if isinstance(label, str):
        if label not in numbers_of_classes:
            raise ValueError(f"label: {label!r} is none of the classes; name them all, as in classes=['cat', 'dog']")
        return numbers_of_classes[label]
    if hasattr(label, "item"):  # a scalar of numpy or torch
        label = label.item()
    if isinstance(label, bool) or not isinstance(label, numbers.Integral):
        raise TypeError(f"label: {label!r} is not a class number; put it into a json field")
    number = int(label)
    if not -_LABELS_END < number < _LABELS_END:
        raise ValueError(f"label: {label} is not a class number, which has at most 63 bits; put it into a json field")
    return number
