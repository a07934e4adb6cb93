"""Decoding of stored fields by their names."""
from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import torch

from bale import _bale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image as PilImage

DECODES = ("pil", "tensor", "bytes")
_ARRAY = b"\x93NUMPY"  # what an array file begins with


class NotInModeError(ValueError):
    """The image has no pixels of the mode."""


def decoded(stored: bytes, field: str, decode: str, *, mode: str | None) -> Any:
    """Decodes a field by what follows the last dot of its name, as webdataset's decoders do:

    image, jpg, png, ...   a PIL image; with decode="tensor" a uint8 tensor, C x H x W (bool for 1 bit, int32 for 16 bits
             per value). In `mode`, or if it is None in the stored mode: palette indices, gray levels. An image may also be stored
             as an array of pixels
    json     the result of json.loads
    txt      str
    cls      int, the number of a class
    npy      a numpy array; with decode="tensor" a tensor
    others   bytes, as is everything with decode="bytes"
    """
    kind = field.rpartition(".")[2]
    if decode == "bytes":
        return stored
    if kind == "image" or _bale.is_image_field(kind):
        return _image(stored, decode, mode)
    if kind == "json":
        return json.loads(stored)
    if kind == "txt":
        return stored.decode()
    if kind == "npy":
        return _array(stored) if decode == "pil" else torch.from_numpy(_array(stored))
    if kind == "cls":
        return label_of(kind, stored)
    return stored


def label_of(field: str, stored: bytes) -> int:
    """Raises ValueError for what is not a whole number, or an array or JSON of one."""
    label: int | None = _bale.field_label(field, stored)
    if label is None:
        raise ValueError("not a whole number, so no label")
    return label


def _image(stored: bytes, decode: str, mode: str | None) -> PilImage.Image | torch.Tensor:
    from PIL import Image, UnidentifiedImageError

    image: PilImage.Image
    if stored.startswith(_ARRAY):
        image = Image.fromarray(_array(stored))
    else:
        try:
            image = Image.open(io.BytesIO(stored))
        except UnidentifiedImageError:
            raise ValueError("Pillow knows no such image") from None
        image.load()
    if mode == "I;16" and not image.mode.startswith("I;16"):
        raise NotInModeError("not an image of 16-bit gray, which mode I;16 needs")
    if mode is not None and image.mode != mode:  # convert() copies even if it has the mode already
        image = image.convert(mode)
    return image if decode == "pil" else _tensor(image)


def _tensor(image: object) -> torch.Tensor:
    import numpy as np

    pixels = np.array(image)
    if pixels.dtype == np.uint16:  # torch supports few operations on it
        pixels = pixels.astype(np.int32)
    tensor: torch.Tensor = torch.from_numpy(pixels)
    made: torch.Tensor = tensor.unsqueeze(0) if tensor.dim() == 2 else tensor.permute(2, 0, 1).contiguous()
    return made


def _array(stored: bytes) -> NDArray[np.generic]:
    import numpy as np

    array: NDArray[np.generic] = np.load(io.BytesIO(stored), allow_pickle=False)
    return array
