"""open_clip."""
from __future__ import annotations

from typing import TYPE_CHECKING

from bale._docs import makes_list
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.ending import normalized
from bale.transforms._operations.geometry import CenterCrop, RandomResizedCrop, Range, Resize, Size

if TYPE_CHECKING:
    from bale._dtypes import DType

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)  # open_clip/constants.py
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)


@makes_list
def open_clip_train(size: Size = 224, *, scale: Range = (0.9, 1.0), mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD,
                    dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=True): mlfoundations/open_clip's src/open_clip/transform.py."""
    return Compose([RandomResizedCrop(size, scale, interpolation="bicubic"), *normalized(dtype, mean, std)], layout)


@makes_list
def open_clip_eval(size: int = 224, *, mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD, dtype: DType = "float32",
                   layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=False), also that of OpenAI's CLIP."""
    return Compose([Resize(size, "bicubic"), CenterCrop(size), *normalized(dtype, mean, std)], layout)
