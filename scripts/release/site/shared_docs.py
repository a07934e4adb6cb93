"""A griffe extension: docstrings of transforms have what bale.transforms._docs adds to them when they are imported."""
import importlib.util
import os
import pathlib

import griffe

SPEC = importlib.util.spec_from_file_location("_docs", pathlib.Path(os.environ["BALE_SITE_PYTHON"]) / "bale" / "transforms" / "_docs.py")
docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(docs)


class SharedDocs(griffe.Extension):
    def on_class(self, *, cls, **_):
        if cls.docstring and any(str(base).endswith("Operation") for base in cls.bases):
            cls.docstring.value = docs.with_raises(cls.docstring.value)

    def on_function(self, *, func, **_):
        if any(str(decorator.value) == "described" for decorator in func.decorators):
            parameters = {one.name: None if one.default is None else str(one.default) for one in func.parameters}
            func.docstring.value = docs.with_parameters(func.docstring.value, parameters, str(func.returns))
