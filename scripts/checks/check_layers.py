#!/usr/bin/env python3
"""Checks that the rooms stay rooms (docs/ARCHITECTURE.md): who includes whom, where third-party headers may
appear, and that no format is named outside its own folder. Prints one line a finding; exit 1 when there are any.

usage: scripts/checks/check_layers.py [ROOT]
"""
import pathlib
import re
import sys

# Which rooms each room may include, besides itself. The longest name that fits a path is its room. A container's folder is
# a room of its own; containers never see each other.
FORMATS = {"formats/base", "formats/shard", "formats/image", "formats/registry"}
READER = FORMATS | {"formats/storage", "reader/order", "reader"}
WRITER = {"writer", "writer/source"}
LOADER = READER | {"loader/transform", "loader/ring", "loader/options", "loader/worker", "loader"}
ALLOWED = {
    "formats/base": set(),
    "formats/storage": {"formats/base"},
    "formats/shard": {"formats/base", "formats/image"},
    "formats/image": {"formats/base"},
    "formats/container": {"formats/base", "formats/shard", "formats/image"},
    "formats/registry": {"formats/base", "formats/storage", "formats/shard", "formats/image"},
    "formats/*": {"formats/base", "formats/shard", "formats/image", "formats/container"},
    "reader/order": {"formats/base", "formats/shard"},
    "reader": READER,
    # A packed dataset is a source like any other, so the writer reads through the reader.
    "writer/source": READER,
    "writer": READER | {"writer/source"},
    "loader/transform": {"formats/base", "formats/image"},
    "loader/ring": {"formats/base", "loader/transform"},  # a row carries what was drawn for it
    "loader/options": FORMATS | {"reader/order", "loader/transform", "loader/ring"},
    "loader/worker": READER | {"loader/transform", "loader/ring", "loader/options"},
    "loader": LOADER,
    "loader/cuda": LOADER,
    "bale.hpp": LOADER | {"writer"},
    "tools/terminal": READER,
    "tools/help": {"formats/base"},
    "tools/measure": LOADER | {"loader/cuda", "tools/terminal"},
    "tools/survey": READER | {"writer/source"},
    "tools/report": LOADER | WRITER | {"tools/terminal", "tools/measure", "tools/survey"},
    "tools/commands": LOADER | WRITER | {"loader/cuda", "tools/help", "tools/terminal", "tools/measure", "tools/survey", "tools/report"},
    "tools/cli": LOADER | WRITER | {"tools/help", "tools/terminal", "tools/measure", "tools/survey", "tools/commands"},
    "tools": {"reader", "tools/terminal", "tools/cli"},
    "python/programs": {"loader/worker", "tools/cli"},
    "python": LOADER | {"loader/cuda", "writer", "writer/source"},
}
# The folders within a room from the lowest up: each may include those before it. "." is the room's own folder, "include"
# the installed headers whose functions no one folder defines. A folder that is not named belongs to the one that holds it.
ORDER = {
    "formats/base": "text errors include system files codec json math names options run",
    "formats/shard": "sample index include .",
    "formats/image": "include codec png jpeg/header metadata simd point color tiff gif bmp webp pnm avif jxl jpeg/library "
                     "jpeg/entropy jpeg/pixels jpeg/decode jpeg/transcode jpeg/planes/kernels jpeg/planes jpeg warp blur "
                     "resample . similarity",
    "formats/storage": "include http aws/context aws/credentials aws/answers aws location cache/shared cache/entries cache "
                       "ranges objects .",
    "formats/container": "streams reading writing",
    "formats/hdf5": "library file scan writing .",
    "formats/tar": "header reading writing .",
    "reader": "include spec shards dataset where ahead check",
    "writer/source": "include files classes rows saved choose folder tables arrays annotations .",
    "writer": "include diff edits plan destination journal shard publish run index merge change add versions stream request",
    "loader/transform": "include random pixels fields geometry steps targets members draw list json .",
    "loader/worker": "include . process",
    "loader": "include fields batch nodes session .",
    "loader/cuda": "include driver kernels buffers decode .",
    "tools/measure": "step . verdicts trials",
    "tools/survey": ". duplicates",
    "tools/report": "pictures text json html",
    "tools/commands": ". packing reading measuring survey",
    "tools/cli": "options .",
    "python": "bindings bindings/dataset bindings/batch bindings/loader .",
}
ORDER = {room: folders.split() for room, folders in ORDER.items()}
# Says which C++ the headers need: below all of them.
STANDARD = "formats/base/cxx20.hpp"

# Headers that are installed lie here, by the name that an include has.
PUBLIC = re.compile(r"(formats|reader|writer|loader)/include/bale/")

# Installed headers of plain values, and the room that they belong to.
VALUES = {"loader/loader_options.hpp": "loader/options"}

# Installed headers for programs that use another library, and the header of it that they include.
ADAPTERS = {"loader/torch.hpp": "ATen/ops/from_blob.h"}

# Third-party headers and the one place of each. Never in a header of another room.
PLACES = {
    r"lmdb\.h": ["formats/lmdb"],
    r"hdf5\.h|H5.*\.h": ["formats/hdf5"],
    r"archive(_entry)?\.h": ["formats/tar"],
    r"google/protobuf/.*": ["formats/tfrecord"],
    r"jpeglib\.h|jerror\.h|png\.h": ["formats/image"],
    r"hwy/.*": ["formats/image"],
    r"webp/.*": ["formats/image/webp"],
    r"tiffio\.h": ["formats/image/tiff"],
    r"avif/.*": ["formats/image/avif"],
    r"jxl/.*": ["formats/image/jxl"],
    r"curl/.*|openssl/.*": ["formats/storage"],
    r"pugixml\.hpp": ["formats/storage", "writer/source"],
    r"yaml-cpp/.*": ["writer/source"],
    r"cuda.*|cub/.*": ["loader/cuda"],
    r"CLI/.*": ["tools/cli/cli.cpp"],
    r"nanobind/.*": ["python"],
    r"nlohmann/.*": ["formats/base/json/json_text.cpp"],
    r"(isa-l|isa-l/.*|crc)\.?h?|xxhash\.h": ["formats/base"],
    r"zstd.*\.h": ["formats/base", "formats/container", "formats/tar"],
    r"zlib\.h": ["formats/tar", "formats/zip", "formats/hdf5", "formats/image", "writer/source"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[>"]', re.M)
ROOMS = ["formats", "reader", "writer", "loader", "tools", "python"]
SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".in"}


def room_of(path):
    """"reader/dataset/dataset.cpp" -> "reader"; "formats/include/bale/formats/base/error.hpp" -> "formats/base"."""
    name = PUBLIC.sub("", str(path))
    if name in VALUES:
        return VALUES[name]
    parts = pathlib.PurePath(name).parts
    inner = "/".join(parts[:2])
    return inner if len(parts) > 2 and (inner in ALLOWED or parts[0] == "formats") else parts[0]


def rule_of(room):
    if room in ALLOWED:
        return ALLOWED[room] | {room}
    return ALLOWED["formats/*"] | {room} if room.startswith("formats/") else set()


class Folders:
    """The folder of ORDER that a header or source belongs to. An installed header of the formats or the reader belongs to
    the source of its name; those of writer and loader, which declare what the highest folders define, to "include"."""

    def __init__(self, root):
        self.sources = {}
        for room in ("formats", "reader"):
            for file in (root / room).rglob("*.cpp"):
                path = file.relative_to(root)
                self.sources[room_of(path), path.stem] = path
        self.installed = {PUBLIC.sub("", str(file)) for file in
                          (header.relative_to(root) for header in installed_headers(root))}

    def of(self, path):
        room, name = room_of(path), PUBLIC.sub("", str(path))
        if name in self.installed:
            path = self.sources.get((room, pathlib.PurePath(name).stem))
            if path is None:
                return ORDER[room][0] if name == STANDARD else "include"
        inner = pathlib.PurePath(path).parent.relative_to(room)
        while str(inner) != "." and str(inner) not in ORDER[room]:
            inner = inner.parent
        return str(inner)


def without_comments(text):
    """Comments blanked, strings and line numbers kept."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0], text)


def check_includes(path, text, folders, findings):
    room = room_of(path)
    for match in INCLUDE.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        header = match[2]
        if header.startswith("bale/"):
            target = room_of(pathlib.PurePath(header[len("bale/"):]))
            if target not in rule_of(room):
                findings.append(f"{where}: {room} must not include {target} ({header})")
            elif target == room and room in ORDER:
                above, below = folders.of(path), folders.of(header[len("bale/"):])
                if above not in ORDER[room] or below not in ORDER[room]:
                    findings.append(f"{where}: {room} has no order of {above} and {below} ({header})")
                elif ORDER[room].index(below) > ORDER[room].index(above):
                    findings.append(f"{where}: {room}/{above} must not include {room}/{below} ({header})")
            continue
        for pattern, places in PLACES.items():
            if re.fullmatch(pattern, header) and not any(f"{path}/".startswith(place + "/") for place in places):
                findings.append(f"{where}: {header} belongs in {' or '.join(places)} only")


def installed_headers(root):
    return {file for room in ROOMS for file in (root / room / "include").rglob("*.hpp")}


def is_standard(header):
    return re.fullmatch(r"[a-z_]+", header) is not None


def check_public_headers(root, findings):
    headers = installed_headers(root)
    names = {str(header.relative_to(root / header.relative_to(root).parts[0] / "include")) for header in headers}
    for header in sorted(headers):
        path = header.relative_to(root)
        for match in INCLUDE.finditer(header.read_text()):
            name = match[2]
            if not name.startswith("bale/") and not is_standard(name) and ADAPTERS.get(PUBLIC.sub("", str(path))) != name:
                findings.append(f"{path}: an installed header must not include {name}")
            if name.startswith("bale/") and name not in names:
                findings.append(f"{path}: an installed header includes {name}, which is not installed")


def format_names(root):
    """The registry line is the only list there is."""
    line = re.search(r"set\(BALE_ALL_FORMATS ([^)]*)\)", (root / "formats" / "CMakeLists.txt").read_text())
    return line[1].split()


def check_format_names(path, text, names, findings):
    """A format's name as a word in code or strings, outside its folder. `start` is another word."""
    code = INCLUDE.sub("", without_comments(text))
    code = code.replace('k_array_field = "npy"', "k_array_field")  # a field's name as well, declared in one place
    for name in names:
        if room_of(path) == f"formats/{name}":
            continue
        if name == "zip":  # a word of many programs' names, messages and JSON: only what belongs to the format
            pattern = r"\bk_zip_format\b|\bbale::zip\b"
        else:
            camel = name.capitalize()
            pattern = rf"(?i:(?<![a-z0-9]){name}(?![a-z0-9]))|(?<![A-Z]){camel}(?=[A-Z])"
        for match in re.finditer(pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            findings.append(f"{path}:{line}: names the format {name}")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    findings = []
    names = format_names(root)
    folders = Folders(root)
    num_files = 0
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if not file.is_file() or file.suffix not in SOURCE_SUFFIXES:
                continue
            num_files += 1
            path, text = file.relative_to(root), file.read_text()
            check_includes(path, text, folders, findings)
            check_format_names(path, text, names, findings)
    check_public_headers(root, findings)
    for finding in findings:
        print(finding)
    print(f"{num_files} files, {len(names)} formats, {len(findings)} findings")
    return 1 if findings or num_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
