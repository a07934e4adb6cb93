"""Lists that papers and libraries train with, as they are in their sources. Each function returns a Compose, or a list
of them, one per view.

Sizes are pixels, and a size is a side or (height, width). `dtype` and `layout` are the batch's; `mean` and `std` those
of Normalize. What a source does to a whole batch (mixup, label smoothing) and how often it repeats an image is not part
of a list.
"""
from bale.transforms.presets._classification import (
    deit3,
    open_clip_eval,
    open_clip_train,
    reference_eval,
    reference_train,
    reference_v2_train,
)
from bale.transforms.presets._detection import detection_train, lsj_train, ssd_train, ssdlite_train
from bale.transforms.presets._segmentation import segmentation_eval, segmentation_train
from bale.transforms.presets._self_supervised import byol, dino, dinov2, mae, moco_v3, simclr
from bale.transforms.presets._timm import timm_eval, timm_train

__all__ = ["byol", "deit3", "detection_train", "dino", "dinov2", "lsj_train", "mae", "moco_v3", "open_clip_eval", "open_clip_train",
           "reference_eval", "reference_train", "reference_v2_train", "segmentation_eval", "segmentation_train", "simclr",
           "ssd_train", "ssdlite_train", "timm_eval", "timm_train"]


def __dir__() -> list[str]:
    return __all__
