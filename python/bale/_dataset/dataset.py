"""bale.Dataset: random access to a packed dataset of any format."""
from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, SupportsIndex, overload

from bale import _bale
from bale._dataset.cache import warn_of_cache
from bale._dataset.pictures import Pictures, html_of_dataset, spread
from bale._dataset.spec import shown, text_of_spec
from bale._docs import of_sample
from bale._types import Json, Path
from bale._warnings import warn

if TYPE_CHECKING:
    import numpy as np
    from _typeshed import WriteableBuffer
    from numpy.typing import NDArray


class Dataset:
    """Random access to the samples of a packed dataset, by position or key.

    Positions are Python's: -1 is the last sample. The dataset holds no Python object per sample.

    Parameters
    ----------
    spec : path, or sequence of paths
        Directory of a packed dataset, or "DIRECTORY@ID" for a version of it; or shards: a path, a glob, or braces ("x-{0..9}.tar"); or several of these, as a
        list or joined by `::`. Names may be remote: https://HOST/PATH, s3://BUCKET/KEY, hf://datasets/OWNER/NAME/PATH.
        These are read through a cache on the local disk (bale.set_cache).
    verify_checksums : bool, default True
        Compare the checksum of each field before it is returned.

    Attributes
    ----------
    spec : str
        The given spec as one string, with absolute paths.
    verify_checksums : bool
        As given.

    Raises
    ------
    bale.Error
        If files are missing (also a FileNotFoundError) or damaged (code "damaged"), or remote files cannot be fetched
        in time (code "retryable"). Also of each method that reads.
    ValueError
        If the spec is an empty list, or a name that bale cannot read.
    TypeError
        If the spec is neither a path nor a sequence of paths.

    Notes
    -----
    Threads: may be used by many threads at once. The GIL is released while files are read.
    Processes: it can be pickled, and used after a fork; both open the files again.

    Examples
    --------
    >>> dataset = bale.Dataset("packs/train")
    >>> dataset[0]
        {'jpg': b'...', 'cls': b'0'}
    >>> dataset.keys[0], dataset.label(0), len(dataset.read_field(0, "jpg")), dataset.find("cat/1")
        ('cat/0', 0, 12345, 1)
    """

    _merges_classes = True

    def __init__(self, spec: Path | Sequence[Path], *, verify_checksums: bool = True) -> None:
        self.spec: str = text_of_spec(spec)
        self.verify_checksums: bool = bool(verify_checksums)
        self._dataset = _bale.Dataset(self.spec, self.verify_checksums)
        warn_of_notices(self.spec, self._dataset.notices())

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, i: SupportsIndex) -> dict[str, bytes]:
        """All fields of a sample, as a dict from name to bytes."""
        return self._dataset.read(i)

    @of_sample
    def read_field(self, i: SupportsIndex, field: str) -> bytes:
        """Reads one field of a sample.

        Parameters
        ----------
        field : str
            Name of the field, such as "jpg"; `fields` lists them.

        Returns
        -------
        bytes
            The field as it is stored, a copy.

        Raises
        ------
        KeyError
            If the sample does not have the field (also a bale.Error).
        bale.Error
            If the file cannot be read, or its bytes are damaged.
        """
        return self._dataset.read_field(i, field)

    @of_sample
    def read_image(self, i: SupportsIndex) -> bytes:
        """Reads the first field of a sample that has an image's name.

        Returns
        -------
        bytes
            The image as it is stored, such as a JPEG file; a copy.

        Raises
        ------
        KeyError
            If the sample has no such field (also a bale.Error).
        bale.Error
            If the file cannot be read, or its bytes are damaged.
        """
        return self._dataset.read_image(i)

    @overload
    def read_many(self, positions: Iterable[SupportsIndex], field: str | None = None, *, threads: int = 0,
                  out: None = None) -> list[bytes]: ...
    @overload
    def read_many(self, positions: Iterable[SupportsIndex], field: str | None = None, *, threads: int = 0,
                  out: WriteableBuffer) -> list[memoryview]: ...

    def read_many(self, positions: Iterable[SupportsIndex], field: str | None = None, *, threads: int = 0,
                  out: WriteableBuffer | None = None) -> list[bytes] | list[memoryview]:
        """The bytes of one field of many samples.

        All are read in one call, with several threads and without the GIL. The kernel, or the server of a remote dataset, is
        asked for all of them first. Sorted positions are fastest if the samples are not in memory.

        Parameters
        ----------
        positions : iterable of int
            Positions of samples, in any order; one may come several times.
        field : str or None, default None
            Name of the field. None: each sample's first field with an image's name.
        threads : int, default 0
            Number of threads; 0 for one per core. Remote samples are read by the calling thread.
        out : writable buffer or None, default None
            A writable buffer of bytes (bytearray, numpy uint8 array, mmap) to read into, one sample after the other. Use it
            again for the next call.

        Returns
        -------
        list of bytes, or list of memoryview
            As many as positions, in their order. The memoryviews are parts of `out`, which its next use overwrites.

        Raises
        ------
        IndexError
            A position is out of range.
        KeyError
            A sample does not have the field.
        ValueError
            `positions` is a mask; np.flatnonzero(mask) are its positions. `out` is too small; the message says how many bytes
            are needed.
        bale.Error
            A sample is damaged or cannot be read. Nothing is returned, and what `out` holds is undefined.

        Notes
        -----
        New memory from the kernel for some hundred images costs more time than to read them. So glibc's malloc is made to keep
        up to 64 MiB that objects of such a call have freed, unless its environment variables say otherwise.
        """
        if threads < 0:
            raise ValueError(f"threads: {threads} is below 0")
        if out is None:
            return self._dataset.read_many(positions, field, min(threads, 1024))
        place: memoryview = memoryview(out).cast("B")
        views, begin = [], 0
        for size in self._dataset.read_many_into(positions, field, min(threads, 1024), place):
            views.append(place[begin:begin + size])
            begin += size
        return views

    def prefetch(self, positions: Iterable[SupportsIndex]) -> None:
        """Asks the kernel to read samples ahead. It does not wait for the disk.

        Parameters
        ----------
        positions : iterable of int
            Positions of all the samples that you will read next: neighbors on disk are requested together.

        Raises
        ------
        IndexError
            If there is no sample at one of these positions.
        """
        self._dataset.prefetch(positions)

    @of_sample
    def key(self, i: SupportsIndex) -> str:
        """Returns the key of a sample.

        Returns
        -------
        str
            The key, such as "cat/0001".
        """
        return self._dataset.key(i)

    @of_sample
    def label(self, i: SupportsIndex) -> int | None:
        """Returns the class number of a sample.

        Returns
        -------
        int or None
            The class number, from 0; None if the sample has none.
        """
        label = self._dataset.label(i)
        return None if label == _bale.NO_LABEL else label

    def find(self, key: str) -> int | None:
        """Searches a sample by its key.

        Shards are searched one after the other; those that were not opened before are opened.

        Parameters
        ----------
        key : str
            The whole key. If shards repeat keys, the shard's name may stand before it: "00000.tar/cat/1".

        Returns
        -------
        int or None
            Position of the first sample with this key; None if there is none.

        Raises
        ------
        bale.Error
            If a shard cannot be opened.
        """
        return self._dataset.find(key)

    @property
    def notices(self) -> list[str]:
        """What shards without an index hold in addition to samples (links, members that belong to no sample, other arrays), and
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

    def select(self, where: str) -> NDArray[np.int64]:
        """Returns the positions of the samples for which a condition is true, from the index.

        Parameters
        ----------
        where : str
            The condition (docs/WHERE.md), such as "width >= 256 and class = 'cat'".

        Returns
        -------
        array of int64, shape (N,)
            The positions, ascending.

        Raises
        ------
        ValueError
            If the condition is wrong (also a bale.Error).
        bale.Error
            If a shard cannot be opened.
        """
        return self._dataset.select(where)

    def image_sizes(self, positions: Iterable[SupportsIndex] | None = None) -> NDArray[np.int64]:
        """Returns the sizes of the stored images in pixels, from the index.

        Parameters
        ----------
        positions : iterable of int or None, default None
            Positions of samples, in any order. None: all.

        Returns
        -------
        array of int64, shape (N, 2)
            Width and height; 0, 0 if the index does not have them, as that of a shard which was only scanned.

        Raises
        ------
        IndexError
            If there is no sample at one of the positions.
        """
        return self._dataset.image_sizes(positions)

    @property
    def version(self) -> str:
        """The id of the content, 16 hex digits: the same for every copy of the dataset. `spec` with "@" and the id names this
        version, also after others were published (docs/LIVING.md). Without a manifest the first call opens every shard."""
        return self._dataset.version_id()

    @property
    def classes(self) -> list[str]:
        """Names of class 0, 1, ...; empty if the classes have no names."""
        return self._dataset.classes()

    @property
    def num_classes(self) -> int:
        """Number of classes, an int: of their names, or if they have none the largest label + 1. 0 without labels."""
        return len(self.classes) or 1 + max(-1, int(self.labels.max(initial=-1)))

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Class numbers by name, as in torchvision's datasets."""
        return {name: i for i, name in enumerate(self.classes)}

    @property
    def fields(self) -> list[str]:
        """Names of the fields that any sample has."""
        return self._dataset.fields()

    def show(self, n: int = 16, *, positions: Iterable[SupportsIndex] | None = None, size: int = 128) -> Pictures:
        """Shows samples as thumbnails in a notebook.

        Parameters
        ----------
        n : int, default 16
            How many; they are equally far apart in the dataset.
        positions : iterable of int or None, default None
            Positions of the samples to show instead.
        size : int, default 128
            The longer side of a thumbnail in pixels, at most 1024.

        Returns
        -------
        Pictures
            A notebook shows it as HTML if it is the last value of a cell, or is given to display(). In a terminal it is text:
            positions, keys and classes.

        Raises
        ------
        ValueError
            If n is below 0, or size is not within 1 to 1024.
        IndexError
            If there is no sample at one of the positions.

        Notes
        -----
        Needs Pillow; without it, small images are shown as they are stored.
        """
        if n < 0:
            raise ValueError(f"n: {n} is below 0")
        if not 1 <= size <= 1024:
            raise ValueError(f"size: {size} is not within [1, 1024]")
        chosen = spread(len(self), n) if positions is None else self._dataset.positions(positions)
        return Pictures(self, chosen, size)

    def _repr_html_(self) -> str:
        return html_of_dataset(self)

    def __getstate__(self) -> Json:
        return {**vars(self), "_dataset": self._dataset.version()}

    def __setstate__(self, state: Json) -> None:
        vars(self).update(state)
        self._dataset = _bale.Dataset(self.spec, self.verify_checksums, state["_dataset"], self._merges_classes)

    @classmethod
    def _opened_as(cls, spec: str, version: tuple[int, int, str] | None, merges_classes: bool = True) -> Dataset:
        """What another process, or a Loader, has open under the spec."""
        dataset = cls.__new__(cls)
        dataset.__setstate__({"spec": spec, "verify_checksums": True, "_merges_classes": merges_classes, "_dataset": version})
        return dataset

    def __setattr__(self, name: str, value: object) -> None:
        """ValueError for a transform, which nothing would call. Subclasses may have one."""
        if name in ("transform", "target_transform", "transforms") and type(self) is Dataset:
            raise ValueError(f"{name}: a bale.Dataset gives bytes and runs no transform; give transform= to the Loader or to "
                             f"bale.torch.Dataset")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"bale.Dataset({shown(self.spec)!r}): {len(self)} samples"

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


def lines_of_notices(notices: Sequence[tuple[str, int, str]]) -> list[str]:
    return [f"ignored {count} (such as {text}): {why}" if why else text for why, count, text in notices]


def warn_of_notices(spec: str, notices: Sequence[tuple[str, int, str]]) -> None:
    """Issues one UserWarning with all notices, and one if the cache of remote files cannot be used."""
    warn_of_cache()
    if notices:
        warn(shown(f"{spec}: {'; '.join(lines_of_notices(notices))}"))
