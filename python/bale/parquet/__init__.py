"""Parquet and Arrow files of images, as Hugging Face's datasets and img2dataset write them.

    bale.pack("data/train-*.parquet", "packed")
    bale.pack(bale.parquet.samples("hf://datasets/OWNER/NAME/data/train-*.parquet", image="picture"), "packed")

Needs pyarrow: `pip install pyarrow`. Importing this module does not import it.
"""
from __future__ import annotations

from collections.abc import Sequence

from bale._types import Path
from bale.parquet._found import find_splits
from bale.parquet._samples import TableSamples, samples

__all__ = ["TableSamples", "samples", "splits"]


def __dir__() -> list[str]:
    return __all__


def splits(source: Path | Sequence[Path]) -> dict[str, list[str]]:
    """Lists the files of each split of a source.

    Parameters
    ----------
    source : path, or sequence of paths
        As for samples().

    Returns
    -------
    dict from str to list of str
        Names of files by split. A source without splits has one, which is called "".

    Raises
    ------
    bale.Error
        If there are no such files, or the directory cannot be read.
    """
    return {name: list(split.files) for name, split in find_splits(source).items()}
