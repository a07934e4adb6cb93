"""open_clip."""
from __future__ import annotations

from typing import Any

from bale.transforms._docs import described
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.geometry import CenterCrop, RandomResizedCrop, Resize
from bale.transforms.presets._ending import Range, Size, ending

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)  # open_clip/constants.py
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)


@described
def open_clip_train(size: Size = 224, *, scale: Range = (0.9, 1.0), mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD,
                    dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=True): mlfoundations/open_clip's src/open_clip/transform.py.

    Parameters
    ----------
    scale : (float, float), default (0.9, 1.0)
        Range of the crop's area, as a share of the image's.
    """
    return Compose([RandomResizedCrop(size, scale, interpolation="bicubic"), *ending(dtype, mean, std)], layout)


@described
def open_clip_eval(size: int = 224, *, mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD, dtype: Any = "float32",
                   layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=False), also that of OpenAI's CLIP.

    Parameters
    ----------
    size : int, default 224
        Side in pixels, or (height, width).
    """
    return Compose([Resize(size, "bicubic"), CenterCrop(size), *ending(dtype, mean, std)], layout)
