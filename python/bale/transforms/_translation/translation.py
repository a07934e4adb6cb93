"""translate(): lists of torchvision and timm as native lists. Objects are recognized by the name and module of their
class, so neither library is imported.

Objects that make several views of an image, as projects define them (TwoCropsTransform of MoCo, DataAugmentationDINO,
lightly's MultiViewTransform, solo-learn's FullTransformPipeline), are not translated; the error says what to give."""
from __future__ import annotations

import dis
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import CodeType, FunctionType
from typing import NoReturn, Union

from bale import _bale
from bale.transforms._operations.arguments import MODES
from bale.transforms._operations.color import Grayscale
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.control import RandomApply, RandomChoice, RandomOrder
from bale.transforms._operations.ending import ToDtype, ToTensor
from bale.transforms._operations.markers import Identity, PILToTensor, ToImage
from bale.transforms._operations.operation import Operation
from bale.transforms._recipes import train
from bale.transforms._translation import from_code, from_timm, from_torchvision
from bale.transforms._translation.from_torchvision import AS_RGB, Foreign

_LIBRARIES = {"torchvision": from_torchvision.TABLE, "timm": from_timm.TABLE}
_WITH_TORCH = (*_LIBRARIES, "torch")
_CONTAINERS = {"Sequential", "ModuleList", "Compose"}
_RUNS_IT = "bale.torch.Dataset(spec, transform) with a torch DataLoader runs it"
# Instructions that build several views.
_BUILD = ("BUILD_LIST", "BUILD_TUPLE", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "LIST_APPEND", "LIST_EXTEND")


def translate(transform: object, *, layout: str = "nhwc", pillow: str | int = "13") -> Compose:
    """Returns the native list of a transform of torchvision (v1 or v2) or timm, or of a list of them.

    It has the same operations with the same parameters and distributions; the random numbers are bale's. Also of:
    torch.nn.Sequential; the presets of torchvision's weights and references; the blurs and solarizations that DINO,
    MoCo and DeiT define; `convert("RGB")`.

    Parameters
    ----------
    transform : transform, or list of transforms
        Of torchvision, timm or bale.transforms.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    pillow : str or int, default '13'
        "13" or "12": the version of Pillow whose rounding is used.

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    TypeError
        If a transform has no native counterpart; the message has its name and place.
    ValueError
        If a parameter has none.
    """
    if isinstance(transform, Compose):
        return transform
    found = _parts(transform, "transform", _Given())
    return Compose(found, layout=layout, pillow=pillow)


def of_loader(transform: object) -> Compose:
    """A Loader's `transform`: a list, or something to translate. Raises TypeError and ValueError that say
    what to do."""
    if transform is None:
        return train()
    if isinstance(transform, Compose):
        return transform
    if isinstance(transform, (list, tuple)) and len(transform) > 1 and all(
            isinstance(view, Compose) for view in transform):
        raise ValueError(f"transform: {len(transform)} lists, one per view, as presets with several views return them: give "
                         "them as views=; Compose([...]) makes one list of them")
    try:
        return translate(transform)
    except (TypeError, ValueError) as error:
        kind = type(transform)
        raise type(error)(f"transform: {kind.__module__}.{kind.__qualname__} is not one of bale.transforms, and cannot be translated. "
                          f"The Loader's workers decode and augment natively. {error}") from None


View = Union[Compose, dict[str, Compose]]  # of a mixture: by source


def views_of_loader(transform: object, views: Sequence[object] | None, mode: str | None = None) -> list[View]:
    """The views of a Loader, at least one, for images of a mode. Raises TypeError and ValueError as of_loader() does."""
    return [_of_view(view, mode) for view in _views_of_loader(transform, views)]


def firsts(views: Sequence[View]) -> list[Compose]:
    """With the transform of the first source; those of the others make images of the same form."""
    return [next(iter(view.values())) if isinstance(view, dict) else view for view in views]


def _of_view(view: object, mode: str | None) -> View:
    if isinstance(view, Mapping):
        return {source: _with_mode(of_loader(of_source), mode) for source, of_source in view.items()}
    return _with_mode(of_loader(view), mode)


def _views_of_loader(transform: object, views: Sequence[object] | None) -> Sequence[object]:
    if views is None:
        return [transform]
    if transform is not None:
        raise ValueError("give transform or views, not both")
    if not isinstance(views, (list, tuple)) or not views:
        raise TypeError(f"views: {views!r} is not a list of transforms")
    return views


def _with_mode(transform: Compose, mode: str | None) -> Compose:
    """The transform for images of this mode; None: of its own. Raises ValueError for a mode that does not exist, and for a
    transform that images of this mode cannot take."""
    if mode is None:
        return transform
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(map(repr, MODES))}")
    made = replace(transform, mode=mode)
    _bale.check_transform(made)
    return made


class _Given:
    """What the transforms so far have made of the image."""

    is_tensor = False
    is_float = False
    is_gray = False


def _parts(given: object, place: str, state: _Given) -> list[Operation]:
    """The operations that a transform consists of."""
    children = _children(given)
    if children is not None:
        inner = "transforms" if place == "transform" else f"{place}.transforms"
        return [part for i, child in enumerate(children) for part in _parts(child, f"{inner}[{i}]", state)]
    made = given if isinstance(given, Operation) else _one(given, place, state)
    if state.is_gray and made is AS_RGB:
        made = Grayscale(3)
    parts = [made] if isinstance(made, Operation) else list(made)
    if state.is_tensor and getattr(given, "antialias", True) is False and not isinstance(given, Operation):
        raise TypeError(f"{place}: {type(given).__name__}: antialias=False of a tensor has no native counterpart: images are resized with "
                        f"antialiasing, as those of Pillow are. {_RUNS_IT}")
    state.is_tensor |= any(isinstance(part, (ToImage, PILToTensor, ToTensor)) for part in parts)
    state.is_float |= any(isinstance(part, ToDtype) and part.dtype != "uint8" for part in parts)
    for part in parts:
        if isinstance(part, Grayscale):
            state.is_gray = part.num_output_channels == 1
    return parts


def _children(given: Foreign) -> Iterable[object] | None:
    """Of a container that runs all of them in order; else None."""
    if isinstance(given, (tuple, list)):
        return given
    kind = type(given)
    if kind.__name__ in _CONTAINERS and kind.__module__.split(".")[0] in ("torch", "torchvision"):
        found: Iterable[object] = given if kind.__name__ != "Compose" else given.transforms
        return found
    return from_code.inner_list(given)


def _one(given: object, place: str, state: _Given) -> Operation | Sequence[Operation]:
    local = from_code.recognized(given)
    if local is not None:
        return local
    for kind in type(given).__mro__:
        library, name = kind.__module__.split(".")[0], kind.__name__
        if _is_changed(given, kind):
            if library in _WITH_TORCH:
                raise TypeError(f"{place}: {name}: a method of it was replaced. {_RUNS_IT}")
            break
        if library == "torch" and name == "Identity":
            return Identity()
        if library == "torchvision" and name in _CONTROLS:
            return _control(given, name, place, state)
        make = _LIBRARIES.get(library, {}).get(name)
        if make is not None:
            try:
                return make(given, state.is_float)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{place}: {name}: {error}. {_RUNS_IT}") from None
    _refuse(given, place)


def _is_changed(given: object, kind: type) -> bool:
    """Whether a method is not that of the library: a subclass, the object or somebody who patched the class has another."""
    if kind.__module__.split(".")[0] not in _WITH_TORCH:
        base = super(kind, type(given))
        names = [name for name in vars(kind) if name == "__call__" or not (name.startswith("__") or name == "extra_repr")]
        return any(hasattr(base, name) and getattr(kind, name) is not getattr(base, name) for name in names)
    functions = [getattr(value, "__func__", value) for value in vars(kind).values()]
    return (any(callable(getattr(kind, name, None)) for name in getattr(given, "__dict__", ()))
            or any(isinstance(one, FunctionType) and one.__module__.split(".")[0] not in _WITH_TORCH for one in functions))

_CONTROLS = ("RandomApply", "RandomChoice", "RandomOrder")


def _control(given: Foreign, name: str, place: str, state: _Given) -> Operation:
    children = [_parts(child, f"{place}.transforms[{i}]", state) for i, child in enumerate(given.transforms)]
    alternatives = [parts[0] if len(parts) == 1 else Compose(parts) for parts in children]
    if name == "RandomApply":
        return RandomApply(alternatives, float(given.p))
    if name == "RandomOrder":
        return RandomOrder(alternatives)
    weights = given.p
    return RandomChoice(alternatives, None if weights is None or len(set(weights)) == 1 else list(weights))


def _refuse(given: Foreign, place: str) -> NoReturn:
    kind = given if hasattr(given, "__code__") else type(given)
    library = kind.__module__.split(".")[0]
    name = kind.__qualname__ if library in _WITH_TORCH else f"{kind.__module__}.{kind.__qualname__}"
    views = _hint_of_views(given)
    if views is not None:
        raise TypeError(f"{place}: {name}: {views}")
    raise TypeError(f"{place}: {name} has no native counterpart. {_RUNS_IT}")


def _hint_of_views(given: object) -> str | None:
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
    return callable(value) and (type(value).__module__.split(".")[0] in _WITH_TORCH or
                                any(_is_transform(inner) for inner in _members(value).values()))


def _code(given: object) -> CodeType | None:
    code: CodeType | None = getattr(getattr(given, "lambd", given), "__code__", None)
    for name in ("__call__", "forward"):
        method = getattr(type(given), name, None)
        if code is None and str(getattr(method, "__module__", "")).split(".")[0] not in _WITH_TORCH:
            code = getattr(method, "__code__", None)
    return code


def _returns_several(code: CodeType, has_transforms: bool) -> bool:
    """Whether what is returned was built in the last step; if it calls transforms of its own, whether it builds a list."""
    found = [one.opname for one in dis.get_instructions(code)]
    if any(before in _BUILD and now == "RETURN_VALUE" for before, now in zip(found, found[1:])):
        return True
    comprehends = any(getattr(value, "co_name", "") == "<listcomp>" for value in code.co_consts)
    return has_transforms and (comprehends or any(name in _BUILD for name in found))
