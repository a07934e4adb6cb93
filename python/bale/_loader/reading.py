"""How samples are read, an option of Loaders. Made by scripts/checks/option_types.py from the table of the loader."""
from __future__ import annotations

from typing import Literal, NamedTuple

from bale import _bale

ImageMode = Literal["RGB", "L", "RGBA", "I;16"]


class Reading(NamedTuple):
    """How samples are read and decoded, as `reading=` of a Loader.

    Parameters
    ----------
    field : str, default ''
        Name of the field of the image. "": the first one with an image's name.
    label_field : str, default ''
        Name of the field of the label, a whole number as in "cls", or a list of one: "label.cls". A sample without it has
        no label. "": the labels of the dataset.
    labels : {'merged', 'separate'}, default 'merged'
        Of several datasets. "merged": numbers of all classes, merged by name. "separate": each sample's number in its own
        dataset.
    no_label : int, default bale.NO_LABEL
        Label of rows without one: unlabeled and skipped samples, empty rows.
    mode : {'RGB', 'L', 'RGBA', 'I;16'} or None, default None
        What images are decoded to, by Pillow's names: "L" has one channel, "RGBA" four, "I;16" is 16-bit gray PNGs and
        TIFFs as uint16, which can be cropped, flipped and resized. The transform changes such images. An image that a
        mode cannot give is a bad sample. None: the transform's own mode, usually RGB.
    persistent_workers : bool, default True
        False: workers exit at the end of each epoch.
    verify_checksums : bool, default True
        Compare the checksum of each field before it is decoded.
    max_pixels : int, default 178956970
        Images with more pixels are bad samples.
    stall_timeout_s : float, default 120.0
        Seconds after which a worker that is stuck at one sample is replaced; waiting for its bytes does not count. 0:
        never.
    storage_timeout_s : float, default 1800.0
        Seconds that a worker may wait for the bytes of a sample before the iteration raises bale.Error ("retryable"). 0:
        no limit.
    read_ahead_bytes : int, default 128 << 20
        Bytes that are requested from the kernel ahead of the workers. 0: none. See docs/TUNING.md.
    large_transfers : bool, default False
        For disks that are limited in transfers per second; see docs/TUNING.md.
    direct_io : bool, default False
        Bypass the page cache, without reading ahead, for datasets larger than memory; see docs/TUNING.md.
    seek_point_cache_bytes : int, default 0
        Bytes of shared memory for seek points of JPEGs, which workers make in the first epoch so that later epochs decode
        faster. 0: none. See docs/TUNING.md.

    Notes
    -----
    The Loader checks the values: it raises ValueError.

    Examples
    --------
    >>> loader = bale.Loader("packs/train", reading=bale.Reading(mode="L", verify_checksums=False))
    """

    field: str = ""
    label_field: str = ""
    labels: Literal["merged", "separate"] = "merged"
    no_label: int = _bale.NO_LABEL
    mode: ImageMode | None = None
    persistent_workers: bool = True
    verify_checksums: bool = True
    max_pixels: int = 178956970
    stall_timeout_s: float = 120.0
    storage_timeout_s: float = 1800.0
    read_ahead_bytes: int = 128 << 20
    large_transfers: bool = False
    direct_io: bool = False
    seek_point_cache_bytes: int = 0
