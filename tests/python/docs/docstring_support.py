"""What test_docstrings.py compares: the docstrings of the public Python API with the code. Needs no pytest, because Debian's
Python, which has torch, runs it, too."""
import ast
import builtins
import doctest
import importlib
import inspect
import re

import bale
import bale._dataset.dataset
import bale._dataset.remote_file
import bale._loader.batch_fields
import bale.parquet

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Warns", "Notes", "Examples")
# Their arguments are bale's own.
MADE_BY_BALE = {"Edit", "Keys", "TableSamples"}
# With arguments that cannot be wrong, or are checked elsewhere.
RAISE_NOTHING = {"TableSamples.after", "Ragged", "Ragged.to", "Mix", "Field", "Samples", "Sampler", "BatchFields", "JsonRows", "Sampler.set_epoch",
                 "Prefetcher.set_epoch", "Transform", "BadSample", "Order", "Reading", "Cuda"}


def sections_of(text):
    """The text before the first section as "", then each section's lines by its title."""
    lines = inspect.cleandoc(text).split("\n")
    found, title = {"": []}, ""
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if below and set(below) == {"-"}:
            assert line in SECTIONS, f"unknown section {line!r}"
            assert len(line) == len(below), f"the line under {line} has another length"
            assert line not in found, f"two sections {line}"
            title = line
            found[title] = []
        elif not (title and line and set(line) == {"-"}):
            found[title].append(line)
    assert [title for title in SECTIONS if title in found] == list(found)[1:], "sections in another order"
    return found


def entries_of(lines):
    """(names, type) of each entry of a section; every entry has a text below."""
    entries = []
    for number, line in enumerate(lines):
        if line and not line.startswith(" "):
            assert lines[number + 1:] and lines[number + 1].startswith("    "), f"{line!r} has no text"
            names, _, kind = line.partition(" : ")
            entries.append((names.split(", ") if kind else [names], kind))
    return entries


def documented_defaults(entries):
    """The text after "default" by name; None if there is none."""
    defaults = {}
    for names, kind in entries:
        given = kind.partition(", default ")[2]
        texts = given.split(" and ") if len(names) > 1 and " and " in given else [given] * len(names)
        assert len(texts) == len(names), kind
        for name, text in zip(names, texts):
            assert name not in defaults, f"{name} is there twice"
            defaults[name] = text or None
    return defaults


def check(name, text, parameters, namespace, returns, is_class=False):
    """`parameters`: default by name, Parameter.empty without one."""
    assert text, f"{name}: no docstring"
    sections = sections_of(text)
    summary = sections[""]
    assert summary[0] and (len(summary) == 1 or not summary[1]), f"{name}: the first line is not a summary"
    attributes = {one for names, _ in entries_of(sections.get("Attributes", [])) for one in names}
    if is_class and not sections.get("Parameters"):
        assert set(parameters) <= attributes, f"{name}: neither Parameters nor Attributes has {set(parameters) - attributes}"
        parameters = {}
    defaults = documented_defaults(entries_of(sections.get("Parameters", [])))
    assert set(defaults) == set(parameters), name
    for parameter, default in parameters.items():
        given = defaults[parameter]
        if default is inspect.Parameter.empty:
            assert given is None, f"{name}: {parameter} has no default"
        else:
            assert given is not None, f"{name}: {parameter}: its default is not documented"
            assert eval(given, {"bale": bale, **namespace}) == default, f"{name}: {parameter} has the default {default!r}"
    assert ("Returns" in sections) == returns, f"{name}: a section Returns"
    for (kind,), _ in entries_of(sections.get("Raises", [])):
        assert kind == "bale.Error" or issubclass(getattr(builtins, kind), BaseException), kind
    if parameters and not any(name.endswith(f".{one}") for one in RAISE_NOTHING):
        assert "Raises" in sections, f"{name}: no section Raises"
    for example in doctest.DocTestParser().get_examples("\n".join(sections.get("Examples", []))):
        ast.parse(example.source)
    if "Examples" in sections:
        assert ">>> " in "\n".join(sections["Examples"]), name


def parameters_of(function):
    prefix = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {prefix.get(one.kind, "") + one.name: one.default for one in inspect.signature(function).parameters.values()
            if one.name not in ("self", "cls")}


def is_ours(kind):
    return kind.__module__.split(".")[0] == "bale"


def members_of(kind):
    """Public functions and properties that bale's classes define, if no class of others has them, too (a file's read())."""
    ours = [base for base in kind.__mro__ if is_ours(base)]
    others = {name for base in kind.__mro__ if not is_ours(base) for name in vars(base)}
    for name in sorted({name for base in ours for name in vars(base) if not name.startswith("_")} - others):
        yield name, inspect.getattr_static(kind, name)


def public_of(place):
    """Public classes and functions by name. The classes of some values that functions return are public, too."""
    module = importlib.import_module(place)
    found = {name: getattr(module, name) for name in module.__all__}
    if place == "bale":
        found |= {kind.__name__: kind for kind in (
            bale._dataset.dataset.Keys, bale._loader.batch_fields.BatchFields, bale._loader.batch_fields.JsonRows, bale._dataset.remote_file.OpenedFile, bale.errors.ArgumentError,
            bale.errors.PathNotFoundError, bale.errors.FieldNotFoundError)}
    return {f"{place}.{name}": value for name, value in found.items() if callable(value)}


def check_function(name, function):
    hint = function.__annotations__["return"]
    check(name, function.__doc__, parameters_of(function), vars(inspect.getmodule(function)), returns=hint not in (None, "None", "NoReturn"))


def check_class(name, kind):
    maker = next(base for base in kind.__mro__ if "__init__" in vars(base))
    if issubclass(kind, tuple):
        parameters = {field: kind._field_defaults.get(field, inspect.Parameter.empty) for field in kind._fields}
    else:
        parameters = parameters_of(maker.__init__) if is_ours(maker) and kind.__name__ not in MADE_BY_BALE else {}
    check(name, vars(kind).get("__doc__"), parameters, vars(inspect.getmodule(maker if is_ours(maker) else kind)), returns=False, is_class=True)
    for member, found in members_of(kind):
        if isinstance(found, property):
            assert found.__doc__, f"{name}.{member}: no docstring"
        elif isinstance(found, (classmethod, staticmethod)) or inspect.isfunction(found):
            check_function(f"{name}.{member}", getattr(found, "__func__", found))


def check_native(name, value):
    """A class or function of the extension module."""
    members = {name: value}
    if isinstance(value, type):
        assert value.__doc__, f"{name}: no docstring"
        members = {f"{name}.{member}": found for member, found in vars(value).items() if not member.startswith("_")}
    for member, found in members.items():
        if isinstance(found, property):
            assert found.__doc__, f"{member}: no docstring"
            continue
        signature, _, text = found.__doc__.partition("\n\n")  # nanobind begins a docstring with the signature
        signature = re.sub(r"ndarray\[[^\]]*\]", "ndarray", signature)  # ndarray[dtype=int64] is not a Python
        function = ast.parse(f"def {signature}: ...").body[0]
        names = [one.arg for one in function.args.args if one.arg != "self"]
        defaults = list(map(ast.literal_eval, function.args.defaults))
        parameters = dict(zip(names, [inspect.Parameter.empty] * (len(names) - len(defaults)) + defaults))
        check(member, text, parameters, {}, returns=ast.unparse(function.returns) != "None")


def findings_in(place):
    """(number of names, what is wrong with them)."""
    findings = []
    names = public_of(place)
    for name, value in names.items():
        native = getattr(value, "__module__", "") == "bale._bale"
        try:
            (check_native if native else check_function if inspect.isfunction(value) else check_class)(name, value)
        except AssertionError as error:
            findings.append(f"{name}: {error}")
    return len(names), findings
