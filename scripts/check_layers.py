#!/usr/bin/env python3
"""Checks that the rooms stay rooms (docs/ARCHITECTURE.md): who includes whom, where third-party headers may
appear, and that no format is named outside its own folder. Prints one line a finding; exit 1 when there are any.

usage: scripts/check_layers.py [ROOT]
"""
import pathlib
import re
import sys

# Which rooms each room may include. A format's folder is a room of its own; formats never see each other.
ALLOWED = {
    "formats/core": {"formats/core"},
    "formats/image": {"formats/core", "formats/image"},
    "formats/*": {"formats/core", "formats/image"},
    "reader": {"formats/core", "formats/image", "reader"},
    # A packed dataset is a source like any other, so the writer reads through the reader.
    "writer": {"formats/core", "formats/image", "reader", "writer"},
    "loader": {"formats/core", "formats/image", "reader", "loader"},
    "tools": {"formats/core", "formats/image", "reader", "writer", "loader", "tools"},
    "python": {"formats/core", "formats/image", "reader", "writer", "loader", "python"},
}

# Third-party headers and the one place of each. Never in a header of another room.
PLACES = {
    r"lmdb\.h": ["formats/lmdb"],
    r"hdf5\.h|H5.*\.h": ["formats/hdf5"],
    r"archive(_entry)?\.h": ["formats/tar"],
    r"google/protobuf/.*": ["formats/tfrecord"],
    r"jpeglib\.h|jerror\.h|png\.h": ["formats/image"],
    r"hwy/.*": ["formats/image"],
    r"curl/.*": ["reader/storage"],
    r"cuda.*|cub/.*": ["loader/cuda"],
    r"CLI/.*": ["tools"],
    r"nanobind/.*": ["python"],
    r"(isa-l|isa-l/.*|crc)\.?h?|xxhash\.h": ["formats/core"],
    r"zstd.*\.h": ["formats/core", "formats/tar"],
    r"zlib\.h": ["formats/tar", "formats/hdf5", "formats/image"],
}
# An installed header may include our own headers, the standard library and these. json_fwd.hpp declares only.
PUBLIC_THIRD_PARTY = re.compile(r"nlohmann/json_fwd\.hpp")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[>"]', re.M)
ROOMS = ["formats", "reader", "writer", "loader", "tools", "python"]
SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".in"}


def room_of(path):
    """"reader/dataset.hpp" -> "reader"; "formats/core/error.hpp" -> "formats/core"."""
    parts = path.parts
    if parts[0] == "formats":
        return "/".join(parts[:2]) if len(parts) > 2 else "formats"
    return parts[0]


def rule_of(room):
    if room in ALLOWED:
        return ALLOWED[room]
    return ALLOWED["formats/*"] | {room} if room.startswith("formats/") else set()


def without_comments(text):
    """Comments blanked, strings and line numbers kept."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0], text)


def check_includes(path, text, findings):
    room = room_of(path)
    if room == "formats":  # the registry: the one place that knows every format
        return
    for match in INCLUDE.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        quote, header = match[1], match[2]
        if header.startswith("bale/"):
            target = room_of(pathlib.PurePath(header[len("bale/"):]))
            if target not in rule_of(room):
                findings.append(f"{where}: {room} must not include {target} ({header})")
            continue
        for pattern, places in PLACES.items():
            if re.fullmatch(pattern, header) and not any(str(path).startswith(place + "/") for place in places):
                findings.append(f"{where}: {header} belongs in {' or '.join(places)} only")


def installed_headers(root):
    """Headers named in a HEADERS list of a bale_add_room()."""
    for cmake in root.rglob("CMakeLists.txt"):
        for block in re.findall(r"bale_add_room\((.*?)\)", cmake.read_text(), re.S):
            words = block.split()
            if "HEADERS" not in words:
                continue
            for word in words[words.index("HEADERS") + 1:]:
                if word in ("PUBLIC", "PRIVATE", "SOURCES"):
                    break
                yield cmake.parent / word


def is_standard(header):
    return re.fullmatch(r"[a-z_]+", header) is not None


def check_public_headers(root, findings):
    for header in installed_headers(root):
        path = header.relative_to(root)
        if not header.exists():
            findings.append(f"{path}: installed, but not there")
            continue
        for match in INCLUDE.finditer(header.read_text()):
            name = match[2]
            if not name.startswith("bale/") and not is_standard(name) and not PUBLIC_THIRD_PARTY.fullmatch(name):
                findings.append(f"{path}: an installed header must not include {name}")
            if name.startswith("bale/") and (root / name[len("bale/"):]) not in set(installed_headers(root)):
                findings.append(f"{path}: an installed header includes {name}, which is not installed")


def format_names(root):
    """The registry line is the only list there is."""
    line = re.search(r"set\(BALE_FORMATS ([^)]*)\)", (root / "formats" / "CMakeLists.txt").read_text())
    return line[1].split()


def check_format_names(path, text, names, findings):
    """A format's name as a word in code or strings, outside its folder. `std::memory_order` and `start` are other
    words; <memory> is the standard library's."""
    code = INCLUDE.sub("", without_comments(text))
    code = code.replace('k_array_field = "npy"', "k_array_field")  # a field's name as well, declared in one place
    for name in names:
        if path.parts[:2] == ("formats", name):
            continue
        if name == "memory":  # an English word too: only as a quoted name, an identifier of the registry, a namespace
            pattern = r'"memory"|\bk_memory_format\b|\bbale::memory\b'
        else:
            camel = name.capitalize()
            pattern = rf"(?i:(?<![a-z0-9]){name}(?![a-z0-9]))|(?<![A-Z]){camel}(?=[A-Z])"
        for match in re.finditer(pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            findings.append(f"{path}:{line}: names the format {name}")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    findings = []
    names = format_names(root)
    num_files = 0
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if not file.is_file() or file.suffix not in SOURCE_SUFFIXES:
                continue
            num_files += 1
            path, text = file.relative_to(root), file.read_text()
            check_includes(path, text, findings)
            check_format_names(path, text, names, findings)
    check_public_headers(root, findings)
    for finding in findings:
        print(finding)
    print(f"{num_files} files, {len(names)} formats, {len(findings)} findings")
    return 1 if findings or num_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
