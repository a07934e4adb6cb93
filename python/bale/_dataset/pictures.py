"""What notebooks show: HTML of a Dataset and a Loader, and thumbnails."""
from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bale._dataset.spec import shown
from bale.errors import Error

if TYPE_CHECKING:
    from bale._dataset.dataset import Dataset
    from bale._loader.base import LoaderBase

_SHOWN = 8  # thumbnails of a Dataset
_SIDE = 96  # pixels of their longer side
_MAX_CLASSES = 5
_MAX_TEXT = 60  # characters of a key or a name
_MAX_STORED = 16 << 10  # bytes of an image that is shown as it is stored, because Pillow is not there
_MAX_PIXELS = 178_956_970  # as a Loader decodes
_ARRAY = b"\x93NUMPY"
# What browsers show, by its first bytes.
_TYPES = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"BM": "bmp", b"RIFF": "webp"}

# What trains from a dataset of images.
_TRAINING = """import bale, bale.torch
loader = bale.torch.Loader({spec!r}, batch_size=256, transform=bale.transforms.train(224))
for images, labels in loader: ...  # uint8, 256 x 3 x 224 x 224
"""

class Pictures:
    """Thumbnails of some samples, which a notebook shows as HTML and a terminal as lines of text. Dataset.show() makes it.

    Parameters
    ----------
    dataset : bale.Dataset
        Of the samples.
    positions : sequence of int
        Positions of the samples.
    size : int
        The longer side of a thumbnail in pixels.

    Notes
    -----
    Samples are read when it is shown. One that cannot be read or decoded is shown as the reason why.
    """

    def __init__(self, dataset: Dataset, positions: Sequence[int], size: int) -> None:
        self._dataset = dataset
        self._positions = list(positions)
        self._size = size

    def __len__(self) -> int:
        return len(self._positions)

    def _repr_html_(self) -> str:
        return html_of_samples(self._dataset, self._positions, self._size)

    def __repr__(self) -> str:
        names = self._dataset.classes
        return "\n".join(f"{position}: {self._dataset.key(position)}{_label_text(self._dataset, position, names)}" for position in self._positions)


def html_of_dataset(dataset: Dataset) -> str:
    """A table of what is in it, the lines that train from it, and thumbnails of samples from all its parts."""
    classes = dataset.classes
    named = ", ".join(map(_short, classes[:_MAX_CLASSES])) + (", ..." if len(classes) > _MAX_CLASSES else "")
    rows = [("samples", f"{len(dataset):,}"), ("fields", ", ".join(map(_short, dataset.fields))),
            ("version", dataset.version)]
    if classes:
        rows.insert(1, ("classes", f"{len(classes):,}: {named}"))
    pictures = html_of_samples(dataset, spread(len(dataset), _SHOWN), _SIDE)
    lines = _TRAINING.format(spec=shown(dataset.spec)) if "<img" in pictures else ""
    return _table("bale.Dataset", shown(dataset.spec), rows) + f'<pre style="white-space:pre-wrap">{_escaped(lines)}</pre>' * bool(lines) + pictures


def html_of_loader(loader: LoaderBase, name: str) -> str:
    """A table of its options and counters. It takes no batch."""
    rows = [("batches per epoch", f"{loader._text_of_batches()} of {loader.batch_size:,} samples"), ("rank", f"{loader.rank} of {loader.world_size}")]
    rows += [("transform" if len(loader.views) == 1 else f"view {i}", repr(view)) for i, view in enumerate(loader.views)]
    try:
        counters = {**loader.counters, "bad_samples": len(loader.bad_samples)}
        rows.append(("epoch", str(loader.epoch)))
    except Error:  # it is closed
        counters = {}
    rows += [(word.replace("_", " "), f"{counters[word]:,}") for word in ("batches", "samples", "workers_replaced", "bad_samples") if counters.get(word)]
    return _table(name, shown(loader._spec), rows)


def html_of_samples(dataset: Dataset, positions: Sequence[int], size: int) -> str:
    """Thumbnails side by side, each with its key and class."""
    names = dataset.classes
    figures = [_figure(dataset, position, size, names) for position in positions]
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px;align-items:flex-end">{"".join(figures)}</div>'


def spread(size: int, count: int) -> list[int]:
    """Up to `count` positions, equally far apart: samples often lie class after class."""
    count = min(size, count)
    return [i * size // count for i in range(count)]


def _table(name: str, spec: str, rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f'<tr><th style="text-align:left">{_escaped(word)}</th><td style="text-align:left;overflow-wrap:anywhere">{_escaped(text)}</td></tr>'
                    for word, text in rows)
    return f"<div><code>{_escaped(name)}</code> {_escaped(spec)}</div><table>{cells}</table>"


def _figure(dataset: Dataset, position: int, size: int, names: Sequence[str]) -> str:
    try:
        picture = f'<img alt="" src="{_data_url(dataset.read_image(position), size)}">'
    except Exception as error:  # of decoders, which raise anything: one bad sample must not hide the others
        reason = str(error) if isinstance(error, (Error, ValueError)) else f"{type(error).__name__}: {error}"
        picture = f'<small style="display:block;width:{size}px">{_escaped(_short(reason, 200))}</small>'
    caption = _escaped(_short(dataset.key(position)) + _label_text(dataset, position, names))
    return (f'<figure style="margin:0;max-width:{size}px">{picture}<figcaption style="font-size:10px;overflow-wrap:anywhere">{caption}'
            "</figcaption></figure>")


def _label_text(dataset: Dataset, position: int, names: Sequence[str]) -> str:
    try:
        label = dataset.label(position)
    except Error:  # of a dataset whose classes have other names than its labels
        return ""
    if label is None:
        return ""
    return f" ({_short(names[label]) if 0 <= label < len(names) else label})"


def _data_url(stored: bytes, size: int) -> str:
    """A thumbnail; without Pillow a small image as it is stored."""
    try:
        content, kind = _thumbnail(stored, size), "jpeg"
    except ImportError:
        found = next((kind for start, kind in _TYPES.items() if stored.startswith(start)), None)
        if found is None or len(stored) > _MAX_STORED:
            raise ValueError("needs Pillow: pip install pillow") from None
        content, kind = stored, found
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _thumbnail(stored: bytes, size: int) -> bytes:
    from PIL import Image

    image: object
    if stored.startswith(_ARRAY):
        import numpy as np

        image = Image.fromarray(np.load(io.BytesIO(stored), allow_pickle=False))
    else:
        image = Image.open(io.BytesIO(stored))
        if image.width * image.height > _MAX_PIXELS:
            raise ValueError(f"{image.width} x {image.height} pixels are too many")
        image.draft("RGB", (size, size))  # a JPEG is decoded at a fraction of its size
    if image.mode.startswith("I"):  # 16 bits of gray
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    image = image.convert("RGB")
    image.thumbnail((size, size))
    made = io.BytesIO()
    image.save(made, "JPEG", quality=75)
    return made.getvalue()


def _short(text: str, most: int = _MAX_TEXT) -> str:
    return text if len(text) <= most else f"{text[:most - 3]}..."


def _escaped(text: str) -> str:
    """For HTML. Names of files may be of any bytes, which a notebook could not store."""
    return html.escape(text.encode("utf-8", "replace").decode())
