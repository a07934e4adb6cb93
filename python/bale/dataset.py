"""bale.Dataset: random access to a packed dataset of any format."""
from __future__ import annotations

import operator
import os
from collections.abc import Sequence

from bale import _bale
from bale.cache import warn_of_cache

TYPE_CHECKING = False
if not TYPE_CHECKING:
    def overload(function):
        """typing.overload, without importing typing."""
        return function
else:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, SupportsIndex, overload

    import numpy as np
    from numpy.typing import NDArray

    from bale.program import Path

_SPECIAL = frozenset("*?[{")


def text_of_spec(spec: Path | Sequence[Path]) -> str:
    """A spec as one str, with relative paths made absolute, so that another process can open the same dataset. Raises
    ValueError for an empty list or a name that bale cannot read, TypeError for anything that is not a path."""
    if isinstance(spec, (list, tuple)):
        if not spec:
            raise ValueError("spec: an empty list names no dataset")
        return "::".join(text_of_spec(part) for part in spec)
    if not isinstance(spec, (str, bytes, os.PathLike)):
        raise TypeError(f"spec: {spec!r} is not a path, or a list of paths")
    spec = os.fsdecode(spec)
    names = _bale.names_in_spec(spec)
    is_remote = [_bale.is_remote_name(name) for name in names]
    here = os.getcwd()
    if _SPECIAL.intersection(here) or "::" in here:
        return spec
    return "::".join(name if remote or not name else os.path.join(here, name)
                     for name, remote in zip(names, is_remote, strict=True))


def lines_of_notices(notices: Sequence[tuple[str, int, str]]) -> list[str]:
    return [f"ignored {count} (such as {text}): {why}" if why else text for why, count, text in notices]


def warn_of_notices(spec: str, notices: Sequence[tuple[str, int, str]], stacklevel: int) -> None:
    """Issues one UserWarning with all notices, and one if the cache of remote files cannot be used."""
    warn_of_cache(stacklevel + 1)
    if notices:
        import warnings

        warnings.warn(f"{spec}: {'; '.join(lines_of_notices(notices))}", stacklevel=stacklevel)


class Dataset:
    """Random access to the samples of a packed dataset, by position or key.

        dataset = bale.Dataset("packs/train")
        dataset[0]                      # {"jpg": b"...", "cls": b"0"}
        dataset.keys[0], dataset.label(0), dataset.read_field(0, "jpg"), dataset.find("cat/1")

    spec               directory of a packed dataset; or shards: a path, a glob, or braces ("x-{0..9}.tar"); or several of
                       these, as a list or joined by `::`. Names may be remote: https://HOST/PATH, s3://BUCKET/KEY,
                       hf://datasets/OWNER/NAME/PATH. These are read through a cache on the local disk (bale.set_cache)
    verify_checksums   compare the checksum of each field before it is returned

    Positions are Python's: -1 is the last sample. The dataset holds no Python object per sample.

    Threads: may be used by many threads at once. Processes: it can be pickled, and used after a fork; both open the files
    again. Raises IndexError for a position out of range, and bale.Error for missing or damaged files,
    and for remote files that cannot be fetched in time (code "retryable").
    """

    def __init__(self, spec: Path | Sequence[Path], *, verify_checksums: bool = True) -> None:
        self.spec: str = text_of_spec(spec)
        self.verify_checksums: bool = bool(verify_checksums)
        self._dataset = _bale.Dataset(self.spec, self.verify_checksums)
        warn_of_notices(self.spec, self._dataset.notices(), stacklevel=3)

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, i: SupportsIndex) -> dict[str, bytes]:
        """All fields of a sample, as a dict from name to bytes."""
        return self._dataset.read(self._position(i))

    def read_field(self, i: SupportsIndex, field: str) -> bytes:
        """The bytes of one field. Raises KeyError if the sample does not have it."""
        return self._dataset.read_field(self._position(i), field)

    def read_image(self, i: SupportsIndex) -> bytes:
        """The bytes of the first field with an image's name. Raises KeyError if there is none."""
        return self._dataset.read_image(self._position(i))

    def prefetch(self, positions: Iterable[SupportsIndex]) -> None:
        """Asks the kernel to read these samples ahead; does not wait for the disk. Pass all the samples that you will
        read next: neighbors on disk are requested together."""
        self._dataset.prefetch([self._position(i) for i in positions])

    def key(self, i: SupportsIndex) -> str:
        return self._dataset.key(self._position(i))

    def label(self, i: SupportsIndex) -> int | None:
        """Class number, or None if the sample has none."""
        label = self._dataset.label(self._position(i))
        return None if label == _bale.NO_LABEL else label

    def find(self, key: str) -> int | None:
        """Position of the first sample with this key, or None. Searches shard after shard, and opens those that were not
        opened before."""
        return self._dataset.find(key)

    @property
    def notices(self) -> list[str]:
        """What shards without an index hold besides samples (links, members that belong to no sample, other arrays), and
        warnings about them: one line per reason, with the number and an example. Opening such a dataset warns with these
        lines; after `bale index` it does not."""
        return lines_of_notices(self._dataset.notices())

    @property
    def keys(self) -> Keys:
        """All keys, as a sequence that looks each of them up when it is needed."""
        return Keys(self)

    @property
    def labels(self) -> NDArray[np.int64]:
        """All class numbers, as a new int64 array; NO_LABEL for a sample without one."""
        return self._dataset.labels()

    @property
    def targets(self) -> list[int]:
        """All class numbers, as a new list of int, as in torchvision's datasets; NO_LABEL for a sample without one."""
        targets: list[int] = self.labels.tolist()
        return targets

    @property
    def classes(self) -> list[str]:
        """Names of class 0, 1, ...; empty if the classes have no names."""
        return self._dataset.classes()

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Class numbers by name, as in torchvision's datasets."""
        return {name: i for i, name in enumerate(self.classes)}

    @property
    def fields(self) -> list[str]:
        """Names of the fields that any sample has."""
        return self._dataset.fields()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _open, (type(self), self.spec, self.verify_checksums)

    def __repr__(self) -> str:
        return f"bale.Dataset({self.spec!r}): {len(self)} samples"

    def _position(self, i: SupportsIndex) -> int:
        index = operator.index(i)
        size = len(self._dataset)
        if not -size <= index < size:
            raise IndexError(f"sample {index} of {size}")
        return index % size


class Keys(Sequence[str]):
    """The type of Dataset.keys, a sequence of str. Slices are lists."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    @overload
    def __getitem__(self, i: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: SupportsIndex | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self._dataset.key(position) for position in range(*i.indices(len(self)))]
        return self._dataset.key(i)

    def __iter__(self) -> Iterator[str]:
        return (self._dataset.key(i) for i in range(len(self)))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._dataset.find(key) is not None


def _open(kind: type[Dataset], spec: str, verify_checksums: bool) -> Dataset:
    return kind(spec, verify_checksums=verify_checksums)
