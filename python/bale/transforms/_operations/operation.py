"""Operation: one transform of a list, an immutable value."""
from __future__ import annotations

from dataclasses import MISSING, dataclass, fields

from bale import _docs
from bale.transforms._operations import arguments


@dataclass(frozen=True, repr=False)
class Operation:
    """A transform of a list, an immutable value.

    Its repr can be evaluated: `from bale.transforms import *`.
    """

    def __init_subclass__(cls) -> None:
        cls.__doc__ = _docs.operation.completed(cls.__doc__, _docs.members_of(cls))

    def _normalized(self, **members: object) -> None:
        """Replaces what the caller gave. Only for __post_init__: later an Operation never changes."""
        for name, value in members.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        given: list[str] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is MISSING:
                given.append(repr(value) if not given or "=" not in given[-1] else f"{field.name}={value!r}")
            elif value != type(self)._default(field.name):
                given.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"

    @classmethod
    def _default(cls, name: str) -> object:
        """The value that a member has if its argument is left out."""
        default = next(field.default for field in fields(cls) if field.name == name)
        return arguments.color(name, default) if name == "fill" else default

    def to_dict(self) -> dict[str, object]:
        """The transform for the native list.

        Returns
        -------
        dict
            Its name and members, without those that are None.
        """
        return {"name": type(self).__name__, **{k: v for k, v in self._members().items() if v is not None}}

    def _members(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _OF_TORCHVISION_ONLY}

# Accepted for torchvision's sake. Images are always resized with antialiasing, as torchvision resizes PIL images, and
# nothing is ever changed in place.
_OF_TORCHVISION_ONLY = ("antialias", "inplace")
