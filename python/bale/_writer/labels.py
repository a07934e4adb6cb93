"""Class numbers and names of samples that a program hands over."""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bale import _bale
from bale._types import Path
from bale.errors import make_error


class Labels:
    """The class numbers of a source's labels.

    classes   names of class 0, 1, ...; None if the classes have no names

    `own` are the names of the source's classes, or None. `wanted` and `class_map` are what the user gives: they renumber classes that
    have names by these names, and name others. Raises ValueError if both are given."""

    def __init__(self, own: Sequence[str] | None, wanted: Iterable[object] | None, class_map: Path | None) -> None:
        if wanted is not None and class_map is not None:
            raise ValueError("classes and class_map exclude each other")
        self._own = own
        self._numbers: dict[str, int] | None = None
        self.classes: list[str] | None = None if own is None else list(own)
        if class_map is not None:
            self._numbers, self.classes = _bale.load_class_map(os.fsdecode(class_map))
        elif wanted is not None:
            self.classes = class_names(wanted)
            self._numbers = {name: number for number, name in enumerate(self.classes) if name}

    @property
    def are_moved(self) -> bool:
        """Whether classes of the source get other numbers, or none."""
        return self._numbers is not None and any(name and self._numbers.get(name) != number for number, name in enumerate(self._own or ()))

    def number(self, label: Any) -> Any:
        """The class number of a label of the source, which may be a number, a name or None. Raises ValueError for a class that was not
        asked for."""
        if self._numbers is None or label is None:
            return label
        if not isinstance(label, str):
            if not self._own:
                return label
            number = label.item() if hasattr(label, "item") else label
            if not 0 <= number < len(self._own):
                raise ValueError(f"label: {label!r} is none of the source's {len(self._own)} classes")
            label = self._own[number]
        if label not in self._numbers:
            raise make_error("invalid_argument", f"class {label!r} of the source is none of the classes that were asked for",
                             hint="name all classes of the source, in any order")
        return self._numbers[label]

    def take(self, fields: dict[str, object], label: object) -> tuple[dict[str, object], Any]:
        """Fields and label of a sample with the number of its class, which may be in the field cls."""
        if self._numbers is not None and label is None and "cls" in fields:
            fields = dict(fields)
            label = fields.pop("cls")
            label = int(label) if isinstance(label, (bytes, bytearray)) else label
        return fields, self.number(label)


def class_names(names: Iterable[object], ids: Sequence[str] | None = None) -> list[str]:
    """Names of classes as texts. A tuple of synonyms, as torchvision's ImageNet has them, is the first that no other class has as its
    first, else all of them, else with its id. Raises TypeError for anything else."""
    if isinstance(names, (str, bytes, Mapping, set, frozenset)):
        raise TypeError(f"classes: a {type(names).__name__} is not a list of names in the order of their numbers")
    given = list(names)
    words = [[name] if isinstance(name, str) else list(name) if isinstance(name, (list, tuple)) else [] for name in given]
    for name, synonyms in zip(given, words, strict=True):
        if not synonyms or not all(isinstance(word, str) for word in synonyms):
            raise TypeError(f"classes: {name!r} is not a name")
    texts = [synonyms[0] for synonyms in words]
    ways: tuple[Callable[[int], str], ...] = (lambda i: ", ".join(words[i]), lambda i: f"{', '.join(words[i])} ({ids[i] if ids else i})")
    for longer in ways:
        counts = Counter(texts)
        texts = [longer(i) if counts[text] > 1 and not isinstance(given[i], str) else text for i, text in enumerate(texts)]
    return texts


def classes_of(source: object) -> list[str] | None:
    """The names of the classes of a torch dataset, also of a Subset; None if it has none."""
    while source is not None:
        classes = getattr(source, "classes", None)
        if isinstance(classes, (list, tuple)) and classes:
            try:
                return class_names(classes, getattr(source, "wnids", None))
            except TypeError:
                return None
        source = getattr(source, "dataset", None)  # torch's Subset
    return None
