"""Objects that make several views of an image, as projects define them: TwoCropsTransform of MoCo, DataAugmentationDINO,
lightly's MultiViewTransform, solo-learn's FullTransformPipeline. They are not translated; the error says what to give."""
from __future__ import annotations

import dis
from types import CodeType

_BUILD = ("BUILD_LIST", "BUILD_TUPLE", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "LIST_APPEND", "LIST_EXTEND")
_LIBRARIES = ("torch", "torchvision", "timm")


def hint(given: object) -> str | None:
    """What to do, for an object or a function that looks as if it returned several images; None for others."""
    inner = [name for name, value in _members(given).items() if _is_transform(value)]
    code = _code(given)
    if code is None or not _returns_several(code, bool(inner)):
        return None
    example = f"views=[t.{inner[0]}] * 2" if len(inner) == 1 else "views=[" + ", ".join(f"t.{name}" for name in inner) + "]"
    return ("it makes several views of an image, and a transform makes one. Give one transform per view as views="
            + (f", for example {example}" if inner else "") + "; each image is decoded once")


def _members(given: object) -> dict[str, object]:
    return vars(given) if hasattr(given, "__dict__") and not hasattr(given, "__code__") else {}


def _is_transform(value: object) -> bool:
    """A transform of a library, or a list of such objects."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_transform, value))
    return callable(value) and (type(value).__module__.split(".")[0] in _LIBRARIES or
                                any(_is_transform(inner) for inner in _members(value).values()))


def _code(given: object) -> CodeType | None:
    code: CodeType | None = getattr(getattr(given, "lambd", given), "__code__", None)
    for name in ("__call__", "forward"):
        method = getattr(type(given), name, None)
        if code is None and str(getattr(method, "__module__", "")).split(".")[0] not in _LIBRARIES:
            code = getattr(method, "__code__", None)
    return code


def _returns_several(code: CodeType, has_transforms: bool) -> bool:
    """Whether what is returned was built in the last step; if it calls transforms of its own, whether it builds a list."""
    found = [one.opname for one in dis.get_instructions(code)]
    if any(before in _BUILD and now == "RETURN_VALUE" for before, now in zip(found, found[1:])):
        return True
    comprehends = any(getattr(value, "co_name", "") == "<listcomp>" for value in code.co_consts)
    return has_transforms and (comprehends or any(name in _BUILD for name in found))
