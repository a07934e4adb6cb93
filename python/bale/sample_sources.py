"""bale.pack() of samples in memory: what each kind of source holds, as arguments of Writer.add()."""
from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Mapping

from bale import _bale
from bale.errors import make_error
from bale.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from bale.program import Path, Report

    Sample = tuple[str, dict[str, Any], Any]

# Of bale.pack() for paths: they need all samples beforehand, or files.
_NOT_FOR_SAMPLES = ("shard_count", "shuffle", "split", "stratify", "source", "include", "exclude", "where", "max_samples", "dry_run",
                    "class_map", "pair", "pair_path", "files_from", "null", "flat", "allow_empty", "root", "path_column",
                    "label_column")


def pack_samples(source: Any, destination: Path, make_bar: Callable[..., Any] | None, options: dict[str, Any]) -> Report:
    """Writes all samples of `source`. `make_bar` is the class of progress bars, or None. The report is Writer.close()'s."""
    for option in _NOT_FOR_SAMPLES:
        if options.pop(option, None) not in (None, False):
            raise ValueError(f"{option}: only for a source that is a path; pack the samples, and run bale.convert() on the result")
    options.pop("quiet", None)
    samples = _Samples(source, options.pop("image_field", "png"))
    if options.get("classes") is None:
        options["classes"] = samples.classes
    if options.get("jobs") == "auto":
        del options["jobs"]
    with Writer(destination, **options) as writer:
        bar = make_bar and make_bar(desc="pack", unit="img", total=samples.size, initial=writer.count)
        try:
            for key, fields, label in samples.after(writer.count):
                writer.add(key, fields, label)
                if bar:
                    bar.update()
        finally:
            if bar:
                bar.close()
    assert writer.report is not None
    return writer.report


class _Samples:
    """The samples of any source, in its order. `size` is None if the source does not know it."""

    def __init__(self, source: Any, image_field: str) -> None:
        self._image_field = image_field
        self.classes: list[str] | None = None
        self.size: int | None = None
        self._at: Callable[[int], Sample] | None = None
        self._items: Iterable[Any] = ()
        if _is_pair_of_arrays(source):
            images, labels = source
            self._index(len(labels), lambda i: self._pair(i, images[i], labels[i]))
        elif hasattr(source, "features") and hasattr(source, "cast_column"):
            self._take_table(source)
        elif _has_files(source):
            root = os.path.abspath(source.root)
            self.classes = list(source.classes)
            self._index(len(source.samples), lambda i: self._file(root, *source.samples[i]))
        elif hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, Mapping):
            self.classes = _classes_of(source)
            self._index(len(source), lambda i: self._sample(i, source[i]))
        elif hasattr(source, "__iter__"):
            self._items = source
        else:
            raise TypeError(f"source: {source!r} is not a path, and gives no samples")

    def _index(self, size: int, at: Callable[[int], Sample]) -> None:
        self.size, self._at = size, at

    def after(self, count: int) -> Iterator[Sample]:
        """All but the first `count`."""
        if self._at is not None and self.size is not None:
            yield from map(self._at, range(count, self.size))
            return
        for i, item in itertools.islice(enumerate(self._items), count, None):
            yield self._sample(i, item)

    def _sample(self, i: int, item: Any) -> Sample:
        if isinstance(item, Mapping):
            fields = dict(item)
            key = fields.pop("__key__", None)
            for name in [name for name in fields if isinstance(name, str) and name.startswith("__")]:
                del fields[name]  # webdataset's notes on a sample, such as __url__
            return _key(i) if key is None else key, fields, None
        if isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], str) and isinstance(item[1], Mapping):
            return item[0], dict(item[1]), item[2] if len(item) == 3 else None
        if isinstance(item, (tuple, list)) and len(item) == 2:
            return self._pair(i, item[0], item[1])
        raise TypeError(f"sample {i}: {type(item).__name__} is none of (image, label), (key, fields), (key, fields, label) and a dict of fields")

    def _pair(self, i: int, image: Any, label: Any) -> Sample:
        fields: dict[str, Any] = {}
        if isinstance(image, (bytes, bytearray, memoryview)):
            fields[_field_of_image(i, bytes(image))] = image
        else:
            fields[self._image_field] = _rows_first(image)
        if hasattr(label, "tolist"):  # of numpy or torch
            label = label.tolist()
        if label is None or isinstance(label, (int, str)) and not isinstance(label, bool):
            return _key(i), fields, label
        return _key(i), {**fields, "json": label}, None  # boxes, several labels, a regression target

    @staticmethod
    def _file(root: str, path: str, label: int) -> Sample:
        with open(path, "rb") as file:
            content = file.read()
        key = os.path.splitext(os.path.relpath(os.path.abspath(path), root))[0]
        return key, {_field_of_image(path, content): content}, label

    def _take_table(self, table: Any) -> None:
        """A Dataset or IterableDataset of Hugging Face: images as their bytes, the class, and all other columns as JSON."""
        features = table.features
        if features is None:
            raise ValueError("source: its features are not known; use table.cast(features) or its _resolve_features()")
        kinds = {name: type(feature).__name__ for name, feature in features.items()}
        images = [name for name, kind in kinds.items() if kind == "Image"]
        label = next((name for name, kind in kinds.items() if kind == "ClassLabel"), None)
        for name in images:
            table = table.cast_column(name, type(features[name])(decode=False))
        if label is not None:
            self.classes = list(features[label].names)

        def sample(i: int, row: dict[str, Any]) -> Sample:
            return self._row(i, row, images, label)

        if hasattr(table, "__len__"):
            self._index(len(table), lambda i: sample(i, table[i]))
        else:
            self._items = (sample(i, row) for i, row in enumerate(table))

    @staticmethod
    def _row(i: int, row: dict[str, Any], images: list[str], label: str | None) -> Sample:
        fields: dict[str, Any] = {}
        for number, name in enumerate(images):
            image = row[name]
            if image is None:
                continue
            content = image["bytes"]
            if content is None:
                with open(image["path"], "rb") as file:
                    content = file.read()
            field = _field_of_image(i, content)
            fields[field if number == 0 else f"{name.lower()}.{field}"] = content
        rest = {name: value for name, value in row.items() if name not in images and name != label}
        if rest:
            fields["json"] = rest
        number_of_class = row[label] if label is not None else None
        return _key(i), fields, None if number_of_class == -1 else number_of_class  # -1: a split without labels


def _key(i: int) -> str:
    return f"{i:08d}"


def _is_pair_of_arrays(source: Any) -> bool:
    if not (isinstance(source, (tuple, list)) and len(source) == 2):
        return False
    images, labels = source
    return getattr(images, "ndim", 0) in (3, 4) and getattr(labels, "ndim", 0) >= 1 and len(images) == len(labels)


def _has_files(source: Any) -> bool:
    """A DatasetFolder of torchvision that changes nothing: its files are packed as they are."""
    return all(hasattr(source, name) for name in ("root", "samples", "classes", "loader", "extensions")) and all(
        getattr(source, name, None) is None for name in ("transform", "target_transform", "transforms"))


def _classes_of(source: Any) -> list[str] | None:
    while source is not None:
        classes = getattr(source, "classes", None)
        if isinstance(classes, (list, tuple)) and all(isinstance(name, str) for name in classes):
            return list(classes)
        source = getattr(source, "dataset", None)  # torch's Subset
    return None


def _rows_first(image: Any) -> Any:
    """torch's images are channels x height x width."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(image, torch.Tensor) and image.ndim == 3 and image.shape[0] in (1, 3, 4):
        return image.permute(1, 2, 0)
    return image


def _field_of_image(place: int | str, content: bytes) -> str:
    field: str = _bale.image_field_of(content)
    if not field:
        raise make_error("damaged", f"sample {place}: not an image that bale packs, by its first bytes")
    return field
