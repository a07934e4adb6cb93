"""Which Parquet and Arrow files a name stands for, and of which splits they are. Needs no pyarrow."""
from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from bale import _bale
from bale._types import Json, Path
from bale._warnings import warn
from bale.errors import make_error

_SUFFIXES = (".parquet", ".arrow")
# What the Hub calls its files: train-00000-of-00004.parquet, also with a hash, and the cache beans-train-00000-of-00002.arrow.
_NUMBERED = re.compile(r"(?P<split>.+?)-(?P<number>\d{5,})-of-(?P<count>\d{5,})(-[0-9a-f]+)?\.(parquet|arrow)")
_NOTES = (".json", ".md", ".txt", ".lock", ".gitattributes", ".crc")  # files next to tables that hold no samples


class Split(NamedTuple):
    """The files of a split, in their order. `num_rows` is what the dataset's own notes say; None if they say nothing."""

    files: list[str]
    num_rows: int | None = None


def is_table_name(name: str) -> bool:
    """Whether a name is that of a Parquet or Arrow file, or of several."""
    return name.rstrip("/").lower().endswith(_SUFFIXES)


def may_hold_tables(directory: str) -> bool:
    """Whether a local directory looks like one of Parquet or Arrow files, and of nothing else. Cheap."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return False
    if _is_saved(names) or _is_cached(names):
        return True
    if "manifest.json" in names:
        return False
    files = [name for name in names if not os.path.isdir(os.path.join(directory, name)) and not name.startswith(("_", "."))]
    if not all(name.lower().endswith((*_SUFFIXES, *_NOTES)) for name in files):
        return False
    if any(is_table_name(name) for name in files):
        return True
    folders = [name for name in names if name not in files and not name.startswith((".", "_"))]
    return bool(folders) and all(_has_only_tables(os.path.join(directory, name)) for name in folders)


def _has_only_tables(directory: str) -> bool:
    """Looks at its first entries only: it may be a class of a million images."""
    with os.scandir(directory) as entries:
        names = [entry.name for entry, _ in zip(entries, range(64)) if not entry.name.startswith((".", "_"))]
    return bool(names) and all(is_table_name(name) or name.lower().endswith(_NOTES) for name in names) and any(map(is_table_name, names))


def find_splits(source: Path | Sequence[Path]) -> dict[str, Split]:
    """The splits that a name, or a list of names, stands for. One that has no name is called "". Raises bale.Error if there is
    no file, or one that must be there is missing."""
    if isinstance(source, (list, tuple)):
        names = [os.fsdecode(name) for name in source]
        if not names:
            raise ValueError("source: an empty list names no file")
        return _as_one(names[0], [file for name in names for file in _bale.expand_names(name)])
    name = os.fsdecode(source)  # type: ignore[arg-type]
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise TypeError(f"source: {source!r} is not a path, or a list of paths")
    if os.path.isdir(name):
        return _splits_of_directory(name)
    if _bale.is_remote_name(name) and not is_table_name(name):
        return _by_name(name, _list_remote(name.rstrip("/")))
    return _as_one(name, _bale.expand_names(name))


def _as_one(name: str, files: list[str]) -> dict[str, Split]:
    """Files that are named one by one or by a pattern are one split. Warns if their names say several."""
    if line := _bale.several_splits(files):
        warn(f"{name}: {line}")
    return {"": Split(files)}


def _list_remote(directory: str) -> list[str]:
    """The Parquet files of a directory, or of its `data`, as the Hub has them."""
    try:
        return _bale.expand_names(f"{directory}/*.parquet")
    except FileNotFoundError:
        return _bale.expand_names(f"{directory}/data/*.parquet")


def _is_saved(names: list[str]) -> bool:
    return "dataset_dict.json" in names or "state.json" in names and "dataset_info.json" in names


def _is_cached(names: list[str]) -> bool:
    return "dataset_info.json" in names and any(name.endswith(".arrow") for name in names)


def _splits_of_directory(directory: str) -> dict[str, Split]:
    names = sorted(os.listdir(directory))
    if "dataset_dict.json" in names:
        splits = _json_of(directory, "dataset_dict.json").get("splits")
        return {split: _saved(os.path.join(directory, split)) for split in _plain_names(splits, os.path.join(directory, "dataset_dict.json"))}
    if "state.json" in names:
        return {"": _saved(directory)}
    if _is_cached(names):
        return _cached(directory, names)
    files = [name for name in names if is_table_name(name)]
    if not files and os.path.isdir(os.path.join(directory, "data")):
        return _splits_of_directory(os.path.join(directory, "data"))
    if files:
        return _by_name(directory, [os.path.join(directory, name) for name in files])
    found = {name: _split_in(os.path.join(directory, name)) for name in names if os.path.isdir(os.path.join(directory, name))}
    splits = {name: split for name, split in found.items() if split.files}
    if not splits:
        raise make_error("not_found", f"{directory}: no Parquet or Arrow files", directory, hint="name the files")
    return splits


def _split_in(directory: str) -> Split:
    """The files of a directory whose name is that of a split."""
    files = [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if is_table_name(name)]
    splits = _by_name(directory, files)
    if len(splits) > 1:
        raise make_error("invalid_argument", f"{directory}: one of several datasets, with the splits {', '.join(splits)}", directory,
                         hint="name the directory of one dataset")
    return next(iter(splits.values()), Split([]))


def _saved(directory: str) -> Split:
    """What Dataset.save_to_disk() wrote."""
    state = _json_of(directory, "state.json")
    if state.get("_indices_data_files"):
        raise make_error("unsupported", f"{directory}: saved with a mapping of indices, by an old version of datasets", directory,
                         hint="save it again with flatten_indices()")
    listed = state.get("_data_files")
    names = [file.get("filename") if isinstance(file, dict) else None for file in listed] if isinstance(listed, list) else None
    files = [os.path.join(directory, name) for name in _plain_names(names, os.path.join(directory, "state.json"))]
    _require_all(files)
    return Split(files)  # dataset_info.json counts what the dataset was made from, perhaps more than was saved


def _cached(directory: str, names: list[str]) -> dict[str, Split]:
    """A directory of the cache of datasets: NAME-SPLIT.arrow, or NAME-SPLIT-00000-of-00004.arrow."""
    info = _json_of(directory, "dataset_info.json")
    splits = {}
    for split in _plain_names(info.get("splits") or {}, os.path.join(directory, "dataset_info.json")):
        files = [name for name in names if re.fullmatch(rf"(.*-)?{re.escape(split)}(-\d{{5}}-of-\d{{5}})?\.arrow", name)]
        if not files:
            raise make_error("not_found", f"{directory}: no file of the split {split}, which dataset_info.json lists", directory)
        splits[split] = Split(_complete([os.path.join(directory, name) for name in files]).files, _num_rows(info, split))
    return splits or _by_name(directory, [os.path.join(directory, name) for name in names if is_table_name(name)])


def _num_rows(info: Json, split: str | None) -> int | None:
    splits = info.get("splits")
    of_split = splits.get(split) if isinstance(splits, dict) else None
    number = of_split.get("num_examples") if isinstance(of_split, dict) else None
    return number if isinstance(number, int) else None


def _by_name(directory: str, files: list[str]) -> dict[str, Split]:
    """Files of one directory, by the splits in their names. Without any, or with one name only, they are one split."""
    groups: dict[str, list[str]] = {}
    for file in files:
        base = os.path.basename(file)
        numbered = _NUMBERED.fullmatch(base)
        stem = base.rpartition(".")[0]
        groups.setdefault(numbered["split"] if numbered else stem if _bale.is_split_name(stem) else "", []).append(file)
    if "" in groups and len(groups) > 1:
        raise make_error("invalid_argument", f"{directory}: {os.path.basename(groups[''][0])} and others are of no split, "
                         f"{os.path.basename(groups[max(groups)][0])} is", directory, hint="name the files of one split")
    return {split: _complete(group) for split, group in groups.items()}


def _complete(files: list[str]) -> Split:
    """Raises bale.Error if files that are numbered "-00003-of-00012" do not have all numbers."""
    parts = [_NUMBERED.fullmatch(os.path.basename(file)) for file in files]
    numbered = [part for part in parts if part]
    for part in numbered:
        present = {int(other["number"]) for other in numbered if (other["split"], other["count"]) == (part["split"], part["count"])}
        missing = set(range(int(part["count"]))) - present
        if missing:
            name = f"{part['split']}-{min(missing):0{len(part['number'])}}-of-{part['count']}"
            raise make_error("not_found", f"{os.path.dirname(files[0])}: {name} is missing: {len(present)} of {int(part['count'])} files "
                             "are there", os.path.dirname(files[0]), hint="download it again, or name the files to take")
    return Split(files)


def _require_all(files: list[str]) -> None:
    for file in files:
        if not os.path.exists(file):
            raise make_error("not_found", f"{file}: not there, and state.json lists it", file, hint="copy the dataset again")


def _plain_names(names: object, path: str) -> list[str]:
    """The names of splits or files that a JSON file lists. Raises bale.Error for others than those of files next to it: packs of splits
    get their names, and would lie elsewhere."""
    if isinstance(names, (list, dict)) and all(isinstance(name, str) and os.path.basename(name) == name and name not in ("", ".", "..")
                                               for name in names):
        return list(names)
    raise make_error("damaged", f"{path}: does not list names of splits or files next to it", path, hint="copy the dataset again")


def _json_of(directory: str, name: str) -> Json:
    path = os.path.join(directory, name)
    try:
        with open(path, "rb") as file:
            content = json.load(file)
    except FileNotFoundError:
        raise make_error("not_found", f"{path}: no such file", path, hint="copy the dataset again") from None
    except ValueError as error:
        raise make_error("damaged", f"{path}: {error}", path, hint="copy the dataset again") from error
    if not isinstance(content, dict):
        raise make_error("damaged", f"{path}: not an object", path, hint="copy the dataset again")
    return content
