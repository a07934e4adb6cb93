"""A griffe extension: docstrings have what bale._docs adds to them when they are imported."""
import importlib.util
import inspect
import os
import pathlib
import sys

import griffe

SPEC = importlib.util.spec_from_file_location("_docs", pathlib.Path(os.environ["BALE_SITE_PYTHON"]) / "bale" / "_docs.py")
docs = importlib.util.module_from_spec(SPEC)
sys.modules["_docs"] = docs  # dataclasses look their module up
SPEC.loader.exec_module(docs)


class Source(str):
    """An expression, as it is in the code."""

    __repr__ = str.__str__


def default_of(source):
    return inspect.Parameter.empty if source is None else Source(source)


def complete(documented, decorators, parameters):
    for decorator in decorators:
        shared = getattr(docs, str(decorator.value).rpartition(".")[2], None)
        if isinstance(shared, docs.Shared) and documented.docstring:
            documented.docstring.value = shared.completed(documented.docstring.value, {one.name: default_of(one.default) for one in parameters
                                                                                       if one.name != "self"})


def members_of(cls):
    members = {}
    for base in cls.bases:
        known = cls.module.members.get(str(base))
        members |= members_of(known) if known is not None and known.is_class else {}
    for name, member in cls.members.items():
        if member.is_attribute and member.annotation is not None and "property" not in member.labels:
            members[name] = default_of(member.value)
            if "init=False" in str(member.value):
                del members[name]
    return members


class SharedDocs(griffe.Extension):
    def on_class(self, *, cls, **_):
        if cls.module.path.startswith("bale.transforms._operations"):
            if cls.docstring and cls.bases:
                cls.docstring.value = docs.operation.completed(cls.docstring.value, members_of(cls))
        elif "__init__" in cls.members:
            complete(cls, cls.decorators, cls.members["__init__"].parameters)

    def on_function(self, *, func, **_):
        complete(func, func.decorators, func.parameters)
