"""bale.Ragged: rows of different lengths, one after the other in one array."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class Ragged:
    """Rows of different lengths: row i is data[offsets[i]:offsets[i + 1]].

    `ragged[i]` is a row and `ragged[a:b]` a Ragged, both views of `data` without a copy; negative numbers count from
    the end. `list(ragged)` is a list of rows, `bytes(ragged[i])` a copy of a row of bytes.

    Parameters
    ----------
    data : array
        All rows, end to end; its first axis is that of the rows.
    offsets : array of int64, shape (N + 1,)
        Where rows begin and end, from 0.

    Attributes
    ----------
    data, offsets : array
        As given.

    Notes
    -----
    IndexError for a row that is not there.
    Lifetime: a row of a batch keeps the batch's slot, as its images do: copy what you keep.
    Threads: may be read by any number of threads.
    Processes: it can be pickled, which copies it.
    """

    def __init__(self, data: Any, offsets: Any) -> None:
        self.data = data
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return self._part(i)
        row = range(len(self))[i]
        return self.data[int(self.offsets[row]):int(self.offsets[row + 1])]

    def _part(self, rows: slice) -> Self:
        first, end, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("a part of a Ragged is made of rows one after the other: its step is 1")
        offsets = self.offsets[first:max(first, end) + 1]
        return type(self)(self.data[int(offsets[0]):int(offsets[-1])], offsets - offsets[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    @property
    def lengths(self) -> Any:
        """Lengths of the rows, an int64 array of shape (N,)."""
        return self.offsets[1:] - self.offsets[:-1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows of {self.data.dtype}, {len(self.data)} in total)"
