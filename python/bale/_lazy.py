"""Packages whose names are imported when they are first used (PEP 562), so that importing the package is quick."""
from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # of typing, which takes more time than all else of `import bale`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(package: dict[str, object], modules: Mapping[str, str],
               submodules: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package.

    package      its globals()
    modules      names by the module below the package that has them, separated by blanks
    submodules   names of modules that users use as attributes of the package, separated by blanks
    """
    name_of_package = package["__name__"]
    module_of = {name: module for module, names in modules.items() for name in names.split()}
    public = sorted([*module_of, *submodules.split()])

    def get(name: str) -> object:
        if name in module_of:
            value = package[name] = getattr(import_module(f"{name_of_package}.{module_of[name]}"), name)
            return value
        if name in public:
            return import_module(f"{name_of_package}.{name}")
        raise AttributeError(f"module {name_of_package!r} has no attribute {name!r}")

    return get, lambda: public
