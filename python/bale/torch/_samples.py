"""The base class of Dataset and IterableDataset: the fields of a sample and how they are decoded."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import bale
from bale._dataset.dataset import Dataset
from bale._types import Path
from bale.errors import FieldNotFoundError, make_error
from bale.torch._decode import DECODES, NotInModeError, decoded, label_of
from bale.transforms._operations.arguments import MODES

Spec = Path | Sequence[Path] | Dataset
Decode = Literal["pil", "tensor", "bytes"]

#: The label of samples that have none, torch.nn.CrossEntropyLoss's default ignore_index.
IGNORE_INDEX = -100
#: Attributes that change samples in Python.
TRANSFORMS = ("transform", "target_transform", "transforms")
_LABEL = "cls"
_ABOUT = {"__key__", "__index__"}  # not fields, but what is known of any sample
_ANY_IMAGE = ""


class Samples:
    """The (image, target) at each position of a packed dataset; see Dataset for the options."""

    def __init__(self, spec: Spec, transform: Callable[..., object] | None,
                 target_transform: Callable[..., object] | None, transforms: Callable[..., object] | None,
                 fields: Sequence[str] | None, field: str | None, label_field: str | None, decode: Decode,
                 verify_checksums: bool, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f"mode: {mode!r} is none of {', '.join(map(repr, MODES))}")
        if decode not in DECODES:
            raise ValueError(f"decode: {decode!r} is none of 'pil', 'tensor', 'bytes'")
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError("transforms, or transform and target_transform: give one kind")
        if fields is not None and (field is not None or label_field is not None):
            raise ValueError("field, label_field and fields: give fields, or the others")
        #: The bale.Dataset: keys, labels, every field as bytes.
        self.samples = (spec if isinstance(spec, Dataset)
                        else Dataset(spec, verify_checksums=verify_checksums))
        self.transform, self.target_transform, self.transforms = transform, target_transform, transforms
        self.decode, self.mode = decode, mode
        self._label_field = label_field
        self.fields = (field or _ANY_IMAGE, label_field or _LABEL) if fields is None else _checked(fields, self.samples)
        if fields is None:
            _checked([name for name in (field, label_field) if name], self.samples, least=0)
        self._surely_image = fields is None

    def __setattr__(self, name: str, value: object) -> None:
        """ValueError for a transform of a Dataset that a Loader was given: the Loader's workers would not run it. TypeError for one of
        bale's."""
        if name in TRANSFORMS and value is not None and not callable(value):
            raise TypeError(f"{name}: a {type(value).__name__} cannot be called; here transforms are functions, such as torchvision's, "
                            "those of bale.transforms are for a bale.torch.Loader")
        if name in TRANSFORMS and value is not None and vars(self).get("_is_of_loader"):
            raise ValueError(f"{name}: this Dataset was given to a bale.torch.Loader, whose workers run no Python; give "
                             f"transform=bale.transforms.train(224, ...) to the Loader, or make another Dataset")
        super().__setattr__(name, value)

    @property
    def _own_label(self) -> str | None:
        """The field of the labels, if they are not those of the dataset."""
        name = self._label_field or (self.fields[1] if len(self.fields) == 2 and self.fields[1].rpartition(".")[2] == _LABEL else _LABEL)
        return None if name in {_LABEL, *_ABOUT} else name

    @property
    def classes(self) -> list[str]:
        """Names of class 0, 1, ...; empty if the classes have no names, as those of a label_field."""
        return [] if self._own_label else self.samples.classes

    @property
    def num_classes(self) -> int:
        """Number of classes, as bale.Dataset.num_classes has it. Of a label_field the largest label + 1, for which all are read."""
        return 1 + max([-1, *self.targets]) if self._own_label else self.samples.num_classes

    @property
    def targets(self) -> list[int]:
        """Labels of all samples, as a new list of int, as in torchvision's datasets; -100 for a sample without one."""
        if self._own_label is None:
            return [IGNORE_INDEX if label == bale.NO_LABEL else label for label in self.samples.targets]
        return [self._read(i, self._own_label, first=False, is_label=True) for i in range(len(self.samples))]

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Class numbers by name, as in torchvision's datasets."""
        return {} if self._own_label else self.samples.class_to_idx

    def _at(self, i: int) -> object:
        image, *targets = [self._value(i, names, first=number == 0) for number, names in enumerate(self.fields)]
        target = targets[0] if len(targets) == 1 else tuple(targets)
        if self.transforms is not None:
            return self.transforms(image, target)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def _value(self, i: int, names: str, first: bool) -> object:
        if names == _LABEL:
            label = self.samples.label(i)
            return IGNORE_INDEX if label is None else label
        if names == "__key__":
            return self.samples.key(i)
        if names == "__index__":
            return self.samples._position(i)
        return self._read(i, names, first, is_label=names == self._label_field and not first)

    def _read(self, i: int, names: str, first: bool, is_label: bool) -> Any:
        try:
            field, stored = self._stored(i, names)
        except FieldNotFoundError:
            if is_label:
                return IGNORE_INDEX
            raise
        try:
            if is_label:
                return label_of(field, stored)
            return decoded(stored, "image" if first and self._surely_image else field, self.decode,
                           mode=self.mode if first else None)
        except (ImportError, MemoryError):
            raise
        except NotInModeError as error:
            key = self.samples.key(i)
            raise make_error("unsupported", f"sample {key!r}: its {field}: {error}", key=key) from None
        except Exception as error:  # Pillow, json and numpy know nothing of samples
            key = self.samples.key(i)
            raise make_error("damaged", f"sample {key!r}: its {field} cannot be decoded: {error}", key=key) from error

    def _stored(self, i: int, names: str) -> tuple[str, bytes]:
        if names == _ANY_IMAGE:
            return "image", self.samples.read_image(i)
        *others, last = names.split(";")
        for name in others:
            try:
                return name, self.samples.read_field(i, name)
            except FieldNotFoundError:
                pass
        return last, self.samples.read_field(i, last)


def _checked(fields: Sequence[str], samples: Dataset, least: int = 2) -> tuple[str, ...]:
    if isinstance(fields, str) or len(fields) < least:
        raise ValueError(f"fields: {fields!r}; name at least two: the image and its target")
    known = {*samples.fields, _LABEL}
    for names in fields:
        if names not in _ABOUT and not known.intersection(names.split(";")):
            raise ValueError(f"fields: no sample has {names!r}; there are {', '.join(sorted(known))}")
    return tuple(fields)
