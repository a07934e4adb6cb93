"""bale.Dataset: random access to a packed dataset of any format."""
import operator
import os

from bale import _bale

_SPECIAL = frozenset("*?[{")


def text_of_spec(spec):
    """A path as str, or what the CLI takes: globs, braces, several joined by `::`. Relative ones are made absolute, so that
    another process may open the same."""
    spec = os.fsdecode(spec)
    here = os.getcwd()
    if _SPECIAL.intersection(here) or "::" in here:
        return spec
    return "::".join(os.path.join(here, part) if part else part for part in spec.split("::"))


class Dataset:
    """Samples by position or key. Holds no Python object per sample; may be pickled and used after a fork, either of
    which opens the files again. Any number of threads may read.

        dataset = bale.Dataset("packs/train")
        dataset[0]                      # {"jpg": b"...", "cls": b"0"}
        dataset.keys[0], dataset.label(0), dataset.read_field(0, "jpg"), dataset.find("cat/1")
    """

    def __init__(self, spec, *, verify_checksums=True):
        self.spec = text_of_spec(spec)
        self.verify_checksums = bool(verify_checksums)
        self._dataset = _bale.Dataset(self.spec, self.verify_checksums)

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, i):
        """The sample's fields, name -> bytes."""
        return self._dataset.read(self._position(i))

    def read_field(self, i, field):
        return self._dataset.read_field(self._position(i), field)

    def read_image(self, i):
        """The first field with an image's name."""
        return self._dataset.read_image(self._position(i))

    def key(self, i):
        return self._dataset.key(self._position(i))

    def label(self, i):
        """Class number, or None."""
        label = self._dataset.label(self._position(i))
        return None if label == _bale.NO_LABEL else label

    def find(self, key):
        """Position of the sample of this key, or None."""
        return self._dataset.find(key)

    @property
    def keys(self):
        """All keys, as a sequence that reads them when asked."""
        return Keys(self)

    @property
    def labels(self):
        """All class numbers as a new int64 array; NO_LABEL where there is none."""
        return self._dataset.labels()

    @property
    def classes(self):
        return self._dataset.classes()

    @property
    def fields(self):
        return self._dataset.fields()

    def __reduce__(self):
        return _open, (type(self), self.spec, self.verify_checksums)

    def __repr__(self):
        return f"bale.Dataset({self.spec!r}): {len(self)} samples"

    def _position(self, i):
        index = operator.index(i)
        size = len(self._dataset)
        if not -size <= index < size:
            raise IndexError(f"sample {index} of {size}")
        return index % size


class Keys:
    """dataset.keys: len, [i], iteration, `in`."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, i):
        return self._dataset.key(i)

    def __iter__(self):
        return (self._dataset.key(i) for i in range(len(self)))

    def __contains__(self, key):
        return isinstance(key, str) and self._dataset.find(key) is not None


def _open(kind, spec, verify_checksums):
    return kind(spec, verify_checksums=verify_checksums)
