"""Which fields the samples of a dataset have, for what is written from it."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bale import _bale
from bale._dataset.dataset import Dataset
from bale._dataset.spec import shown
from bale._progress_bar import bar_of_samples
from bale.errors import make_error

_AHEAD = 64


def field_sets(dataset: Dataset) -> list[tuple[bool, list[str]]]:
    """Whether a sample has a label, and its fields: each such pair that any sample has, once. Reads the indexes."""
    return dataset._dataset.field_sets()


def read_ahead(dataset: Dataset, name: str, progress: bool | None) -> Iterator[int]:
    """All positions, each after the kernel was asked for it and its neighbors, with a bar that says how far it is."""
    bar = bar_of_samples(progress, name, len(dataset))
    try:
        for i in range(len(dataset)):
            if i % _AHEAD == 0:
                dataset.prefetch(range(i, min(i + 2 * _AHEAD, len(dataset))))
            yield i
            if bar:
                bar.update()
    finally:
        if bar:
            bar.close()


def main_image(fields: Iterable[str]) -> str | None:
    """The image of a sample with these fields: the first with an image's name."""
    return next((name for name in fields if _bale.is_image_field(name)), None)


def require_text_keys(dataset: Dataset, format: str) -> None:
    """Raises bale.Error for the first key that is not UTF-8, as readers of this format refuse it."""
    for key in map(dataset.key, range(len(dataset))):
        if not key.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in key):
            raise make_error("unsupported", f"{shown(dataset.spec)}: the key {_bale.printed_key(key)} is not UTF-8, and keys in {format} are text",
                             dataset.spec, key, hint="give the file a name in UTF-8 and pack it again")


def fields_to_write(sets: Sequence[tuple[bool, Sequence[str]]], wanted: Sequence[str] | None) -> list[str]:
    """All fields but the image of each sample, and cls if labels say the same; or of these the wanted ones, in their order. Raises
    ValueError for a wanted field that no sample has."""
    known = list(dict.fromkeys(name for _, names in sets for name in names if name != main_image(names)))
    if wanted is None:
        is_label = not any("cls" in names and not has_label for has_label, names in sets)
        return [name for name in known if not (is_label and name == "cls")]
    for name in wanted:
        if name not in known:
            raise ValueError(f"fields: no sample has {name!r} next to its image; there are {', '.join(known) or 'no others'}")
    return list(wanted)
