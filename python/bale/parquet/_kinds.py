"""What Arrow types are. pyarrow is imported when the first is asked for."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def is_any(kind: object, *names: str) -> bool:
    """Whether one of pyarrow's functions is_NAME() is true of a type. Of None, and of a function that this pyarrow does not have: no."""
    import pyarrow as pa

    return kind is not None and any(getattr(pa.types, f"is_{name}", lambda _: False)(kind) for name in names)


def is_bytes(kind: object) -> bool:
    return is_any(kind, "binary", "large_binary", "fixed_size_binary", "binary_view")


def is_text(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type, or None, are strings."""
    return is_any(kind.value_type if is_any(kind, "dictionary") else kind, "string", "large_string", "string_view")


def is_list(kind: object) -> bool:
    return is_any(kind, "list", "large_list", "fixed_size_list")


def is_file(kind: object) -> bool:
    """{bytes, path}, as datasets stores images; other writers leave out one of the two, or have only nulls in it."""
    members = members_of(kind)
    if "bytes" not in members or not set(members) <= {"bytes", "path"}:
        return False
    has_bytes, has_path = is_bytes(members["bytes"]), is_text(members.get("path"))
    is_right = has_bytes or is_any(members["bytes"], "null") and has_path
    return is_right and (has_path or "path" not in members or is_any(members["path"], "null"))


def holds_bytes(kind: pa.DataType) -> bool:
    kind = storage_of(kind)
    return is_bytes(kind) or is_any(kind, "nested") and any(holds_bytes(kind.field(i).type) for i in range(kind.num_fields))


def members_of(kind: pa.DataType) -> dict[str, object]:
    """The types of the members of a struct; empty of anything else."""
    return {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)} if is_any(kind, "struct") else {}


def storage_of(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def shape_of_array(kind: pa.DataType) -> tuple[int, ...] | None:
    """Of a list of numbers, whose inner lists all have fixed sizes: (-1, ...). None for all others."""
    if not is_list(kind):
        return None
    shape = [-1]
    kind = kind.value_type
    while is_any(kind, "fixed_size_list"):
        shape.append(kind.list_size)
        kind = kind.value_type
    return tuple(shape) if is_any(kind, "integer", "floating", "boolean") else None
