"""What compilers say of the installed headers, and of programs that misuse them."""
import re
import shutil
import subprocess

import pytest
from conftest import REPO, by_tier

ROOMS = ("formats", "reader", "writer", "loader")
HEADERS = sorted(path.relative_to(REPO / room / "include").as_posix() for room in ROOMS for path in (REPO / room / "include").rglob("*.hpp")
                 if path.name != "torch.hpp")  # which needs LibTorch's headers
with_clang = pytest.mark.skipif(shutil.which("clang++") is None, reason="clang++ is not installed")
CLANG = pytest.param("clang++", marks=with_clang)


def said_of(tmp_path, compiler, text, *options):
    """What the compiler says, if it does not accept it."""
    (tmp_path / "program.cpp").write_text(text)
    done = subprocess.run([compiler, "-fsyntax-only", *options, *(f"-I{REPO}/{room}/include" for room in ROOMS), "program.cpp"],
                          capture_output=True, text=True, cwd=tmp_path)
    return "" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("compiler, step", [("g++", 1), pytest.param("clang++", by_tier(12, 1), marks=with_clang)])
def test_an_older_standard_is_one_error(tmp_path, compiler, step):
    """`step`: Clang reads on after an include that fails, so it takes longer."""
    for header in HEADERS[::step]:
        said = said_of(tmp_path, compiler, f'#include "{header}"\n', "-std=c++17")
        errors = [line for line in said.splitlines() if "error:" in line]
        assert errors == [] or len(errors) == 1 and "bale needs C++20: compile with -std=c++20 or later" in errors[0], (header, said)
    assert said_of(tmp_path, compiler, '#include "bale/loader/loader.hpp"\n', "-std=c++17")


@pytest.mark.parametrize("compiler", ["g++", CLANG])
def test_headers_are_without_extensions_that_pedants_see(tmp_path, compiler):
    text = '#include "bale/formats/base/random.hpp"\nint main() { return bale::KeyedRandom{1}.below(2) > 1; }\n'
    assert said_of(tmp_path, compiler, text, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror") == ""


def test_the_headers_of_the_api_are_installed_and_compile(tmp_path):
    """What the table of docs/CPP.md names: folders with names of headers, and whole names."""
    table = (REPO / "docs" / "CPP.md").read_text().split("## The API")[1].split("## ")[0]
    headers = []
    for row in table.splitlines()[6:]:
        folder = ""
        for name in re.findall(r"`([^`]+)`", row) if row.startswith("|") else []:
            if name.endswith("/"):
                folder = name
            elif name != "torch":  # which needs LibTorch's headers
                headers.append(name if name.endswith(".hpp") else f"{folder}{name}.hpp")
    assert len(headers) > 40 and set(headers) <= set(HEADERS), set(headers) - set(HEADERS)
    # No other header is installed, but those that these include.
    included, new = {"bale/loader/torch.hpp"}, set(headers)
    while new:
        included |= new
        new = {name for header in new for name in includes_of(header)} - included
    assert set(HEADERS) <= included, set(HEADERS) - included
    assert len(HEADERS) - len(headers) <= 28
    text = "".join(f'#include "{header}"\n' for header in reversed(headers)) + "int main() {}\n"
    assert said_of(tmp_path, "g++", text, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror") == ""


def test_the_code_of_the_page_compiles(tmp_path):
    """That of docs/CPP.md, between names that stand for the reader's."""
    blocks = re.findall(r"^```cpp\n(.*?)^```", (REPO / "docs" / "CPP.md").read_text(), re.S | re.M)
    blocks = [block for block in blocks if "torch.hpp" not in block]  # examples/cpp/libtorch.cpp has that one
    assert len(blocks) == 3
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("#include")]
    lines += ['#include "bale/formats/base/random.hpp"', "template <typename... Any> void use(const Any&...) {}",
              "template <typename... Any> void train(const Any&...) {}", "void add_noise(bale::MutableBytes, bale::KeyedRandom&) {}"]
    for number, block in enumerate(blocks):
        body = re.sub("^#include.*", "", block, flags=re.M)
        lines.append(f"void block_{number}(const std::vector<std::uint64_t>& indices, bale::LoaderOptions& options) {{\n(void)indices, (void)options;\n{body}}}")
    assert said_of(tmp_path, "g++", "\n".join(lines) + "\nint main() {}\n", "-std=c++20", "-Werror") == ""


def includes_of(header):
    room = header.split("/")[1]
    file = REPO / ("loader" if room == "bale.hpp" else room) / "include" / header
    return re.findall(r'^#include "(bale/[^"]+)"', file.read_text(), re.M)


LOADER = """#include "bale/loader/loader.hpp"
bale::Batch make();
int main() {{
  bale::Loader loader{{"x"}};
  {}
}}
"""


def flagged(said):
    """[(line, warning)] of what a compiler says, as GCC writes it."""
    return re.findall(r"^program.cpp:(\d+):.*\[-Werror[=,](?:-W)?([a-z-]+)\]$", said, re.MULTILINE)


@pytest.mark.parametrize("compiler", ["g++", CLANG])
def test_a_batch_that_is_dropped_is_a_warning(tmp_path, compiler):
    lines = ["loader.next();", "loader.next([] {});"]
    said = said_of(tmp_path, compiler, LOADER.format("\n".join(lines)), "-std=c++20", "-Werror")
    assert flagged(said) == [("5", "unused-result"), ("6", "unused-result")], said
    assert said_of(tmp_path, compiler, LOADER.format("\n".join("(void)" + line for line in lines)), "-std=c++20", "-Werror") == ""


@with_clang
def test_what_outlives_a_temporary_is_a_warning(tmp_path):
    lines = ["bale::Bytes pixels = make().pixels();", "bale::Bytes image = make().image(0);", "auto labels = make().labels();",
             "auto& classes = bale::Dataset::open(\"x\").classes();", "auto& options = bale::Loader(\"x\").options();"]
    said = said_of(tmp_path, "clang++", LOADER.format("\n".join(lines)), "-std=c++20", "-Werror")
    assert flagged(said) == [(str(5 + i), "dangling") for i in range(len(lines))], said
