"""The options of pack(), convert(), plan(), add() and verify(): the program's flags, with underscores.

Made by scripts/checks/option_types.py from the tables of the libraries.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, Union

Size = Union[int, str]  # bytes: 1 << 30, "1GiB", "256MB"
OnError = Literal["fail", "skip", "quarantine"]


class SampleOptions(TypedDict, total=False):
    """Options of pack(), convert(), plan() and add(). `bale pack --help` explains them."""

    compress: str
    size: int
    level: int
    label_base: int
    shard_size: Size
    shard_count: int
    shard_samples: int
    shuffle: int
    source: str
    include: Union[str, Sequence[str]]
    exclude: Union[str, Sequence[str]]
    class_map: str
    class_folders: bool
    exclude_from: str
    where: str
    sample: Union[int, str]
    sample_per_class: bool
    sample_seed: int
    max_samples: int
    on_error: OnError
    check_images: bool
    max_pixels: int
    jobs: Union[int, Literal["auto"]]
    dry_run: bool
    strict: bool
    quiet: bool


class ShardOptions(SampleOptions, total=False):
    """Options of pack(), convert() and plan()."""

    format: str
    layout: str
    name: str
    split: str
    stratify: bool
    sidecars: str
    jpeg_code: str
    seek_points: bool
    resize_short: int
    resize_max: int
    orient: bool
    strip_metadata: bool
    quality: int
    jpeg_lossless: bool
    decode: bool


class WriteOptions(ShardOptions, total=False):
    """Options of both pack() and convert()."""

    staging_dir: str
    resume: bool
    overwrite: bool


class FileOptions(TypedDict, total=False):
    """Options of pack(), plan() and add() for sources that are not packed."""

    pair: str
    pair_path: Union[str, Sequence[str]]
    annotations: Union[str, Sequence[str]]
    annotations_format: Literal["coco", "voc", "yolo", "yolo-polygons", "yolo-pose", "openimages"]
    flat: bool
    keep_extensions: bool
    allow_empty: bool
    list_jobs: int
    root: str
    path_column: str
    path_pattern: str
    label_column: str
    allow_unlabeled: bool
    files_from: str
    null: bool


class PackOptions(WriteOptions, FileOptions, total=False):
    """Options of pack()."""


class PlanOptions(ShardOptions, FileOptions, total=False):
    """Options of plan()."""

    cache_dir: str
    cache_limit: Size


class ConvertOptions(WriteOptions, total=False):
    """Options of convert()."""

    cache_dir: str
    cache_limit: Size


class AddOptions(SampleOptions, FileOptions, total=False):
    """Options of add(). `bale add --help` explains them."""

    skip_existing: bool
    allow_removed: bool
    message: str
    resume: bool
    restart: bool
    cache_dir: str
    cache_limit: Size


class VerifyOptions(TypedDict, total=False):
    """Options of verify(). `bale verify --help` explains them."""

    decode: bool
    max_pixels: int
    jobs: Union[int, Literal["auto"]]
    cache_dir: str
    cache_limit: Size
    quiet: bool
