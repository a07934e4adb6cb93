"""The Debian package of this build, unpacked, and what the scripts of a release answer to wrong arguments. The packages
themselves are tried on minimal systems: scripts/release/deb.sh --check and scripts/release/try_wheel.sh."""
import os
import re
import subprocess
import sys
import sysconfig

import pytest
from conftest import BUILD, REPO

SCRIPTS = ["release/deb.sh", "release/wheels.sh", "release/try_wheel.sh", "gpu/gpu_carry.sh", "release/release.sh", "release/try_sdist.sh",
           "checks/check_aarch64.sh"]


def run(script, *arguments):
    return subprocess.run([REPO / "scripts" / script, *arguments], capture_output=True, text=True, cwd="/", timeout=60)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_the_head_of_the_script(script):
    done = run(script, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: scripts/{script}" in done.stdout and "#" not in done.stdout and "set -euo" not in done.stdout


@pytest.mark.parametrize("script, arguments, said", [
    ("release/deb.sh", ["--frobnicate"], "not an option: --frobnicate"),
    ("release/deb.sh", ["--out"], "no value after --out"),
    ("release/deb.sh", ["--check", "sarge"], "not a system that is checked: sarge"),
    ("release/wheels.sh", ["--python", "/nowhere/python3.12"], "no such interpreter: /nowhere/python3.12"),
    ("release/wheels.sh", ["--target", "vax"], "not a target: vax"),
    ("release/wheels.sh", ["bookworm"], "not an option: bookworm"),
    ("release/try_wheel.sh", [], "no folder with wheels"),
    ("release/try_wheel.sh", ["/nowhere"], "no wheels in /nowhere"),
    ("release/try_wheel.sh", ["/nowhere", "sarge"], "not a system that is tried: sarge"),
    ("gpu/gpu_carry.sh", [], "no folder"),
    ("gpu/gpu_carry.sh", ["/"], "/ is there already"),
    ("gpu/gpu_carry.sh", ["/nowhere/new", "--images", "0"], "not a number of images: 0"),
    ("gpu/gpu_carry.sh", ["/nowhere/new", "--wheels", "/nowhere"], "no wheels in /nowhere"),
    ("release/release.sh", ["--frobnicate"], "not an option: --frobnicate"),
    ("release/try_sdist.sh", [], "usage: scripts/release/try_sdist.sh FOLDER [SUITE]"),
    ("release/try_sdist.sh", ["/nowhere"], "no source archive in /nowhere"),
    ("release/try_sdist.sh", ["/nowhere", "sarge"], "not a system that is tried: sarge"),
    ("checks/check_aarch64.sh", ["--cache"], "no value after --cache"),
])
def test_wrong_arguments_are_refused_in_one_line(script, arguments, said):
    done = run(script, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def package(bale, tmp_path_factory):
    """The package, and what it has: the same as from `scripts/release/deb.sh`, of this build."""
    root = tmp_path_factory.mktemp("deb")
    done = subprocess.run(["cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", root / "made"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (root / "made").glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", made, root / "system"], check=True)
    return made, root / "system"


def test_the_debian_package_has_the_program_and_its_documents(package):
    made, system = package
    files = {str(path.relative_to(system)) for path in system.rglob("*") if not path.is_dir()}
    assert files == {"usr/bin/bale", "usr/libexec/bale/bale-worker", "usr/share/man/man1/bale.1",
                     "usr/share/bash-completion/completions/bale", "usr/share/zsh/site-functions/_bale",
                     "usr/share/fish/vendor_completions.d/bale.fish", "usr/share/doc/bale/copyright"}
    assert "Apache-2.0" in (system / "usr/share/doc/bale/copyright").read_text()


def test_the_debian_package_says_what_it_needs(package, bale):
    made, _ = package
    fields = subprocess.run(["dpkg-deb", "-f", made], capture_output=True, text=True, check=True).stdout
    version = bale.ok("--version").out.split()[1]
    assert {"Package: bale", f"Version: {version}"} <= set(fields.splitlines())
    needs = re.search(r"^Depends: (.*)$", fields, re.M)[1]
    assert all(name in needs for name in ("libc6", "libarchive13", "libcurl4", "libhdf5", "libhwy1", "libssl3", "libzstd1")), needs


def test_the_programs_of_the_debian_package_work_together(package, photos, tmp_path):
    """The worker is found next to the program, wherever both are."""
    _, system = package
    env = {**os.environ, "PATH": f"{system}/usr/bin:{os.environ['PATH']}"}
    env.pop("BALE_WORKER", None)
    subprocess.run(["bale", "pack", photos, tmp_path / "packed", "--quiet"], env=env, check=True, capture_output=True)
    done = subprocess.run(["bale", "bench", tmp_path / "packed", "--stages", "train", "--batch", "8", "--size", "32", "--epochs", "1",
                           "--json", "--quiet"], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and '"workers"' in done.stdout, done.stderr


def test_bindings_call_what_the_stable_abi_has(tmp_path):
    """The wheel for Python 3.12 and later is compiled against the limited API, which the module of this build is not."""
    sources = sorted((REPO / "python" / "bindings").rglob("*.[ch]pp"))
    names = sorted({name for path in sources for name in re.findall(r"\b(_?Py[A-Z]\w*)\(", path.read_text())})
    assert "PyBytes_FromStringAndSize" in names
    uses = "".join(f"#ifndef {name}\n(void){name};\n#endif\n" for name in names)
    limit = min(sys.hexversion >> 16, 0x030C) << 16
    source = tmp_path / "uses.c"
    source.write_text(f"#define Py_LIMITED_API {limit:#x}\n#include <Python.h>\nvoid f(void) {{\n{uses}}}\n")
    done = subprocess.run(["cc", "-fsyntax-only", "-w", f"-I{sysconfig.get_path('include')}", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
