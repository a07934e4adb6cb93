"""bale.pack() of samples in memory: what each kind of source holds, as arguments of Writer.add()."""
from __future__ import annotations

import inspect
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bale import _bale
from bale._dataset.remote_file import open_file
from bale._keywords import check_keywords
from bale._progress_bar import Bar
from bale._types import Options, Path, Report
from bale._warnings import warn
from bale._writer.field_values import is_image_field
from bale._writer.image_files import OpenedFiles
from bale._writer.labels import Labels, class_names, classes_of
from bale._writer.writer import Writer
from bale.errors import Error, error_of, make_error
from bale.options import PackOptions
from bale.parquet._columns import Columns, rows_of_batch
from bale.parquet._found import find_splits, is_table_name, may_hold_tables
from bale.parquet._samples import TableSamples, samples_of_split

Sample = tuple[str, dict[str, object] | Exception, object]  # fields, or why there are none

_BATCH_ROWS = 64  # of a Hugging Face dataset that are in memory
_OF_WRITER = inspect.signature(Writer).parameters
# Of bale.pack() for paths: they need all samples beforehand, or files.
_NOT_FOR_SAMPLES = [option for option in PackOptions.__annotations__ if option not in (*_OF_WRITER, "class_map", "quiet")]


def pack_samples(source: object, destination: Path, make_bar: Callable[..., Bar] | None, options: Options) -> Report:
    """Writes all samples of `source`. `make_bar` is the class of progress bars, or None. The report is Writer.close()'s."""
    check_keywords("pack", options, PackOptions, ("image_field", *_OF_WRITER))
    for option in _NOT_FOR_SAMPLES:
        if options.pop(option, None) not in (None, False):
            raise ValueError(f"{option}: only for a source that is a path; pack the samples, and run bale.convert() on the result")
    options.pop("quiet", None)
    skips = options.get("on_error") == "skip"
    samples = source if isinstance(source, TableSamples) else _Samples(source, options.pop("image_field", None), skips)
    labels = Labels(samples.classes, options.pop("classes", None), options.pop("class_map", None))
    if samples.has_numbers_inside and labels.are_moved:
        raise make_error("invalid_argument", "source: `classes` or `class_map` would give classes other numbers, and columns have the old ones inside",
                         hint="leave it out, or change the numbers in the source")
    if labels.classes is None and getattr(getattr(source, "coco", None), "cats", None):
        warn("source: the names of its categories are not kept; bale.pack(IMAGES, DST, annotations=FILE) packs files and annotations of COCO with them")
    options["classes"] = labels.classes
    if options.get("jobs") == "auto":
        del options["jobs"]
    with Writer(destination, **options) as writer:
        encodes = isinstance(source, TableSamples) and source._has_keys_of_files and not writer._writer.keys_name_files()
        bar = make_bar and make_bar(desc="pack", unit="img", total=samples.size, initial=writer.count)
        if samples.size is not None and samples.size < writer.count:
            raise _fewer(samples.size, writer.count)
        if isinstance(samples, _Samples) and not skips:
            samples.is_known = writer.__contains__
        if isinstance(samples, TableSamples) and not skips:
            for i, key in enumerate(samples._keys_before(writer.count)):
                if (_bale.encode_key(key) if encodes else key) not in writer:
                    raise _other(i, key)
        try:
            for key, fields, label in samples.after(writer.count):
                if isinstance(fields, Exception):
                    writer._skip(key, fields)
                    continue
                try:
                    writer.add(_bale.encode_key(key) if encodes else key, *labels.take(fields, label))
                except Error as error:
                    if not isinstance(samples, TableSamples) or error.key not in (key, _bale.encode_key(key)):
                        raise
                    raise error_of(error.code, f"{samples.place}: {error}", key=error.key, hint=error.hint or "") from None
                if bar:
                    bar.update()
        finally:
            if bar:
                bar.close()
    assert writer.report is not None
    if isinstance(source, TableSamples):
        writer.report["missing_images"] = source.num_missing
    return writer.report


def tables_of(source: object, options: Mapping[str, object]) -> dict[str, TableSamples]:
    """The splits of a path, or of a list of paths, that names Parquet or Arrow files with images, or of Hugging Face's
    DatasetDict; empty for other sources."""
    if isinstance(source, Mapping) and source and all(map(_is_of_hugging_face, source.values())):
        return dict(source)
    if isinstance(source, list) and source and all(isinstance(name, (str, bytes, os.PathLike)) for name in source):
        return {"": samples_of_split(find_splits(source)[""])} if all(is_table_name(os.fsdecode(name)) for name in source) else {}
    if not isinstance(source, (str, bytes, os.PathLike)):
        return {}
    name = os.fsdecode(source)
    is_remote = _is_remote_directory(name)
    if not is_table_name(name) and not is_remote and not (os.path.isdir(name) and may_hold_tables(name)) or options.get("source") is not None:
        return {}
    if is_remote:
        try:
            splits = find_splits(name)
        except FileNotFoundError:
            return {}
        if _has_manifest(name):
            return {}
        return {split: samples_of_split(files) for split, files in splits.items()}
    if not is_table_name(name):  # a directory may have tables about images that are elsewhere
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            return {}
    tables = {name: samples_of_split(split) for name, split in find_splits(name).items()}
    has_images = all(table.has_images for table in tables.values())
    if not has_images and not is_table_name(name):
        return {}
    if not has_images:
        raise ValueError(f"{name}: no column of images; name it with bale.parquet.samples({name!r}, image=...)")
    return tables


def _is_remote_directory(name: str) -> bool:
    """Whether it is a name without a pattern that may be one of a directory which can be listed."""
    if not _bale.can_list(name) or any(sign in name for sign in ("*", "?", "[", "{", "::")):
        return False
    parts = name.rstrip("/").split("/")
    return len(parts) == 5 and parts[2] == "datasets" or "." not in parts[-1]  # hf://datasets/OWNER/NAME


def _has_manifest(directory: str) -> bool:
    """Whether it is a packed dataset, which may have tables next to its shards."""
    try:
        open_file(f"{directory.rstrip('/')}/manifest.json").close()
    except FileNotFoundError:
        return False
    return True


def pack_splits(tables: dict[str, TableSamples], destination: Path, make_bar: Callable[..., Bar] | None,
                options: Options) -> Report:
    """Packs a source with one split into `destination`, and each of several into a directory of its name there, but those
    without samples. The report of several is their sum."""
    if len(tables) == 1:
        return pack_samples(next(iter(tables.values())), destination, make_bar, options)
    if options.get("classes") is not None:
        options["classes"] = class_names(options["classes"])  # an iterator would be empty for the second split
    whole: Report = {}
    filled = {split: table for split, table in tables.items() if not _is_empty(table)} or tables
    if empty := [split for split in tables if split not in filled]:
        warn(f"{os.fsdecode(destination)}: nothing is packed of splits without samples: {', '.join(empty)}")
    classes = {split: table.classes for split, table in filled.items() if isinstance(table, TableSamples) and table.classes}
    first = next(iter(classes), "")
    if others := [split for split, names in classes.items() if names != classes[first]]:
        warn(f"{os.fsdecode(destination)}: the classes of {', '.join(others)} are not those of {first}: a number is another class there")
    for split, table in filled.items():
        report = pack_samples(table, os.path.join(os.fsdecode(destination), split), make_bar, dict(options))
        whole = _sum(whole, report)
    for rate in ("samples", "bytes"):
        whole[f"{rate}_per_second"] = None if whole["resumed_shards"] else whole[rate] / whole["seconds"]
    return whole


def _is_empty(table: Any) -> bool:
    """Whether a split is known to have no samples."""
    if isinstance(table, TableSamples):
        return table.size == 0
    return hasattr(table, "__len__") and len(table) == 0


def _sum(a: Any, b: Any) -> Any:
    """Of two reports, or parts of them: counts add up, lists follow one another; a text or null of the first stays."""
    if isinstance(a, dict):
        return {**a, **{name: _sum(a[name], value) if name in a else value for name, value in b.items()}}
    if isinstance(a, list) and isinstance(b, list):
        return [*a, *b]
    return a + b if isinstance(a, (int, float)) and isinstance(b, (int, float)) else a


def _fewer(size: int, count: int) -> ValueError:
    return ValueError(f"source: {size} samples, and the interrupted run has {count}: resume needs the same samples in the same order")


def _other(i: int, key: object) -> ValueError:
    return ValueError(f"sample {i}: the interrupted run has no {key!r}: resume needs the same samples in the same order")


def _own_key(item: object) -> str | None:
    """The key that a sample of a generator has itself, as _Samples._sample() takes it."""
    if isinstance(item, Mapping):
        key = item.get("__key__")
    else:
        key = item[0] if isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[1], Mapping) else None
    return key if isinstance(key, str) else None


class _Samples:
    """The samples of any source, in its order. `size` is None if the source does not know it. `is_known`, if it is set, says whether an
    interrupted run has a sample of this key."""

    def __init__(self, source: Any, image_field: str | None, skips: bool) -> None:
        self._image_field = image_field or "png"
        self._takes_files = image_field is None  # of images that were opened from files, else they are stored in that field
        self._opened = OpenedFiles()
        self._skips = skips
        self._has_warned = False
        self.classes: list[str] | None = None
        self.has_numbers_inside = False  # of its classes, and no labels
        self.size: int | None = None
        self.is_known: Callable[[object], bool] | None = None
        self._at: Callable[[int], Sample] | None = None
        self._items: Iterable[Any] = ()
        self._after: Callable[[int], Iterator[Sample]] | None = None
        _refuse_containers(source)
        if _is_pair_of_arrays(source):
            images, labels = source
            if labels.ndim == 2 and labels.shape[1] == 1:  # Keras's
                labels = labels.reshape(-1)
            self._index(len(labels), lambda i: self._pair(i, images[i], labels[i]))
        elif _is_of_hugging_face(source):
            self._take_table(source)
        elif _has_files(source):
            root = os.path.abspath(source.root)
            self.classes = classes_of(source)
            self._index(len(source.samples), lambda i: self._file(root, *source.samples[i]))
        elif hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, Mapping):
            self.classes = classes_of(source)
            self._index(len(source), lambda i: self._sample(i, self._item(source, i)))
        elif hasattr(source, "__iter__"):
            self._items = source
        else:
            raise TypeError(f"source: {source!r} is not a path, and gives no samples")

    def _index(self, size: int, at: Callable[[int], Sample]) -> None:
        self.size, self._at = size, at

    def after(self, count: int) -> Iterator[Sample]:
        """All but the first `count`."""
        if self._after is not None:
            yield from self._after(count)
            return
        if self._at is not None and self.size is not None:
            for i in range(count, self.size):
                yield self._at_or_why_not(i)  # map() would end at a StopIteration of the source
            return
        items = iter(self._items)
        for i in itertools.count():
            try:
                with self._opened.watched():
                    item = next(items)
            except StopIteration:
                if i < count:
                    raise _fewer(i, count) from None
                return
            if i >= count:
                yield self._sample_or_why_not(i, item)
            elif self.is_known and (key := _own_key(item)) is not None and not self.is_known(key):
                raise _other(i, key)

    def _item(self, source: Any, i: int) -> Any:
        with self._opened.watched():
            return source[i]

    def _sample_or_why_not(self, i: int, item: object) -> Sample:
        """Of a generator: what it raises itself ends it, and a file that it names may be bad."""
        try:
            return self._sample(i, item)
        except OSError as error:
            if not self._skips:
                raise
            return _key(i), error, None

    def _at_or_why_not(self, i: int) -> Sample:
        assert self._at is not None
        try:
            return self._at(i)
        except (OSError, SyntaxError) as error:  # as Pillow reports a bad file
            if not self._skips:
                raise
            return _key(i), error, None

    def _sample(self, i: int, item: object) -> Sample:
        if isinstance(item, Mapping):
            fields = dict(item)
            if "__url__" in fields:
                self._warn_of_decoded(fields)
            key = fields.pop("__key__", None)
            for name in [name for name in fields if isinstance(name, str) and name.startswith("__")]:
                del fields[name]  # webdataset's notes on a sample, such as __url__
            return _key(i) if key is None else key, fields, None
        if isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], str) and isinstance(item[1], Mapping):
            return item[0], dict(item[1]), item[2] if len(item) == 3 else None
        if isinstance(item, (tuple, list)) and len(item) == 2:
            return self._pair(i, item[0], item[1])
        if isinstance(item, (str, os.PathLike)):
            return self._pair(i, item, None)
        raise TypeError(f"sample {i}: {type(item).__name__} is none of (image, label), (path, label), (key, fields), "
                        "(key, fields, label) and a dict of fields")

    def _warn_of_decoded(self, fields: Mapping[str, object]) -> None:
        """Of a sample of webdataset, whose decode() makes pixels of three colors of every image."""
        decoded = [name for name, value in fields.items() if is_image_field(name) and not isinstance(value, (bytes, bytearray, memoryview))]
        if decoded and not self._has_warned:
            self._has_warned = True
            warn(f"source: webdataset decoded the field {decoded[0]!r}, so its file is not kept; leave out .decode() to pack the files unchanged")

    def _pair(self, i: int, image: Any, label: Any) -> Sample:
        fields: dict[str, object] = {}
        place: int | str = i
        if isinstance(image, (str, os.PathLike)):  # of a file
            place = os.fsdecode(image)
            with open(image, "rb") as file:
                image = file.read()
        if isinstance(image, (bytes, bytearray, memoryview)):
            fields[self._field_of_image(place, bytes(image))] = image
        elif content := self._content_of(image):
            fields[_bale.image_field_of(content)] = content
        else:
            fields[self._image_field] = _rows_first(image)
        if hasattr(label, "tolist"):  # of numpy or torch
            label = label.tolist()
        if isinstance(label, bytes):  # the file of a field cls
            text = label.decode().strip()
            label = int(text) if text.removeprefix("-").isdecimal() else text
        if label is None or isinstance(label, (int, str)) and not isinstance(label, bool):
            return _key(i), fields, label
        return _key(i), {**fields, "json": label}, None  # boxes, several labels, a regression target

    def _content_of(self, image: object) -> bytes | None:
        """The file that the dataset opened to make this image of Pillow, if its pixels are the file's."""
        content = self._opened.content_of(image) if self._takes_files else None
        return content if content and _bale.image_field_of(content) else None

    def _file(self, root: str, path: str, label: int) -> Sample:
        with open(path, "rb") as file:
            content = file.read()
        key = os.path.splitext(os.path.relpath(os.path.abspath(path), root))[0]
        return key, {self._field_of_image(path, content): content}, label

    def _field_of_image(self, place: int | str, content: bytes) -> str:
        field: str = _bale.image_field_of(content)
        if not field and not self._skips:
            raise make_error("damaged", f"sample {place}: not an image that bale packs, by its first bytes")
        return field or self._image_field  # which the Writer skips

    def _take_table(self, table: Any) -> None:
        """A Dataset or IterableDataset of Hugging Face, as the batches of Arrow that it stores: nothing is decoded."""
        if table.features is None:
            raise ValueError("source: its features are not known; use table.cast(features) or its _resolve_features()")
        if getattr(table, "format", {}).get("type") == "custom":
            raise ValueError("source: a transform changes its rows; pack source.with_format(None), or a generator of its rows")
        columns = Columns(table.features.arrow_schema, image=None, label=None, keep=None, key=None)
        self.classes, self.has_numbers_inside = columns.classes, columns.label is None
        columns.warn_of_classes_inside("source")
        arrow = table.with_format("arrow")

        def after(count: int) -> Iterator[Sample]:
            batches: Iterator[tuple[int, Any]]
            if hasattr(table, "__len__"):
                batches = ((start, arrow[start:start + _BATCH_ROWS]) for start in range(count, len(table), _BATCH_ROWS))
            else:
                batches = _numbered(arrow.iter(_BATCH_ROWS))
            for start, batch in batches:
                for i, row in enumerate(rows_of_batch(batch, columns, {}, _file), start):
                    if i >= count:
                        yield _key(i), row.fields, row.label

        self.size = len(table) if hasattr(table, "__len__") else None
        self._after = after


def _numbered(batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Batches with the number of their first row."""
    first = 0
    for batch in batches:
        yield first, batch
        first += batch.num_rows


def _file(path: str) -> bytes:
    with open_file(path) as file:
        return file.read()


def _key(i: int) -> str:
    return f"{i:08d}"


def _is_of_hugging_face(source: object) -> bool:
    return hasattr(source, "features") and hasattr(source, "cast_column")


def _refuse_containers(source: object) -> None:
    """Of samples, which would be taken for something else."""
    kind = f"{type(source).__module__}.{type(source).__name__}"
    if type(source).__name__ == "DataFrame":
        raise make_error("invalid_argument", f"source: a {kind} is not a sequence of samples: pack zip(table['path'], "
                         "table['label']) of its columns, or the file that table.to_csv('table.csv') writes")
    if isinstance(source, Mapping):
        raise make_error("invalid_argument", f"source: a {kind} is not a sequence of samples: pack each of its values")


def _is_pair_of_arrays(source: object) -> bool:
    if not (isinstance(source, (tuple, list)) and len(source) == 2):
        return False
    images, labels = source
    if getattr(images, "ndim", 0) not in (3, 4) or getattr(labels, "ndim", 1) not in (1, 2) or not hasattr(labels, "__len__"):
        return False
    if not hasattr(labels, "ndim") or len(images) != len(labels):
        raise make_error("invalid_argument", f"source: an array of {len(images)} images, and {type(labels).__name__} of {len(labels)} labels: "
                         "give two arrays of one length")
    return True


def _has_files(source: Any) -> bool:
    """A DatasetFolder of torchvision that changes nothing: its files are packed as they are."""
    theirs = "torchvision.datasets.folder"
    return all(hasattr(source, name) for name in ("root", "samples", "classes", "loader", "extensions")) and all(
        getattr(source, name, None) is None for name in ("transform", "target_transform", "transforms")) and all(
        getattr(function, "__module__", None) == theirs for function in (type(source).__getitem__, source.loader))


def _rows_first(image: Any) -> Any:
    """torch's images are channels x height x width."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(image, torch.Tensor) and image.ndim == 3 and image.shape[0] in (1, 3, 4):
        return image.permute(1, 2, 0)
    return image
