"""The package as it is installed, what building it needs, and its life next to h5py's and lmdb's own wheels."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest
import tomllib
from conftest import BUILD, REPO
from python_support import ENVIRONMENT, run_script

import bale as bl


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What a wheel has, unpacked."""
    root = tmp_path_factory.mktemp("site")
    subprocess.run(["cmake", "--install", BUILD, "--component", "python", "--prefix", root], check=True,
                   capture_output=True)
    return root


def test_everything_is_installed(site):
    package = REPO / "python" / "bale"
    sources = {str(path.relative_to(package)) for path in package.rglob("*.py")}
    found = {str(path.relative_to(site / "bale")) for path in (site / "bale").rglob("*") if path.is_file()}
    (extension,) = [name for name in found if re.fullmatch(r"_bale\.[\w.-]*so", name)]
    assert sources and found == sources | {extension, "_bale.pyi", "py.typed", "bin/bale", "bin/bale-worker"}
    assert [path.name for path in site.iterdir()] == ["bale"]
    stub = (site / "bale" / "_bale.pyi").read_text()
    assert "class Loader" in stub and "class Batch" in stub
    compile(stub, "_bale.pyi", "exec")


STABLE_ABI = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")


def test_what_tests_compare_with_is_installed():
    """Without these, the tests that need them are skipped."""
    assert all(importlib.util.find_spec(name) for name in ("datasets", "pyarrow")), "install tests/python/requirements.txt"


def test_the_module_is_named_for_the_pythons_that_can_import_it(site):
    """From Python 3.12 on it uses the stable ABI, so that one wheel serves all later versions."""
    suffix = ".abi3.so" if STABLE_ABI else sysconfig.get_config_var("EXT_SUFFIX")
    assert [path.name for path in (site / "bale").glob("_bale*.so")] == ["_bale" + suffix]


def pythons():
    """The one that runs the tests, and every other on this machine that the module is named for: on PATH or of pyenv."""
    minors = range(12, 30) if STABLE_ABI else [sys.version_info.minor]
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    found = [sys.executable]
    for minor in minors:
        found += [path for path in [shutil.which(f"python3.{minor}")] if path and "shims" not in path]
        found += versions.glob(f"3.{minor}.*/bin/python3.{minor}")
    return sorted({os.path.realpath(path) for path in found})


@pytest.mark.parametrize("python", pythons())
def test_every_python_here_imports_the_module(bale, site, photos, tmp_path, python):
    bale.pack(photos, tmp_path / "pack")
    out = run_script("""
        import sys, bale
        print(bale.Dataset(sys.argv[1]).label(0))
    """, tmp_path / "pack", python=python, PYTHONPATH=str(site))
    assert out == "0\n"


def test_the_module_exports_nothing_but_its_start(site):
    """So libraries that are linked into it are not taken for those of other packages, nor theirs for ours."""
    (module,) = (site / "bale").glob("_bale*.so")
    listed = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", module], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["PyInit__bale"]


def test_the_installed_package_works(bale, site, photos, tmp_path):
    """From another place than it was built in, with the worker that came along, and without torch or numpy."""
    out = run_script("""
        import os, sys
        import bale
        print(os.path.dirname(bale.__file__) == os.path.join(sys.argv[1], "bale"))
        print(sorted({"numpy", "torch", "json", "inspect", "subprocess", "multiprocessing"} & set(sys.modules)))
        print(bale.pack(sys.argv[2], sys.argv[3])["samples"])
        with bale.Loader(sys.argv[3], 16, workers=1, transform=bale.transforms.val(32)) as loader:
            print(sum(len(batch) for batch in loader), loader.counters["workers_replaced"])
            worker = os.readlink(f"/proc/{loader.worker_pids[0]}/exe")
            print(worker == os.path.join(sys.argv[1], "bale", "bin", "bale-worker"))
    """, site, photos, tmp_path / "packed", PYTHONPATH=str(site))
    assert out.split("\n") == ["True", "[]", "40", "40 0", "True", ""]


def test_the_command(bale, site):
    """The seek point becomes the program, of the package's own version."""
    with open(REPO / "pyproject.toml", "rb") as file:
        module, function = tomllib.load(file)["project"]["scripts"]["bale"].split(":")
    done = subprocess.run([sys.executable, "-c", f"import {module}; {module}.{function}()", "inspect", "/nowhere"],
                          capture_output=True, text=True, env={**ENVIRONMENT, "PYTHONPATH": str(site)})
    assert bale.ok("--version").out == f"bale {bl.__version__}\n"
    expected = bale("inspect", "/nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (expected.code, expected.out, expected.err)


# --- what building needs

def configure(directory, *arguments, **env):
    done = subprocess.run(["cmake", "-S", REPO, "-B", directory, "-G", "Ninja", "-DBALE_PYTHON=ON", "-DBALE_TESTS=ON",
                           f"-DPython_EXECUTABLE={sys.executable}", *arguments], capture_output=True, text=True,
                          env={**os.environ, **env})
    lines = [line for line in done.stderr.splitlines() if "bale needs" in line]
    assert done.returncode != 0 and len(lines) == 1, done.stdout + done.stderr
    return set(re.fullmatch(r" *bale needs: apt-get install ([\w.+ -]+)", lines[0]).group(1).split()), done.stdout


def test_all_missing_packages_are_named_at_once(tmp_path):
    hidden = {"fmt": "libfmt-dev", "CLI11": "libcli11-dev", "PNG": "libpng-dev"}
    found, said = configure(tmp_path, *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in hidden),
                            PKG_CONFIG_LIBDIR="/nowhere", PKG_CONFIG_PATH="")
    assert found == {*hidden.values(), "liblmdb-dev", "libhdf5-dev", "libarchive-dev", "libprotobuf-dev", "libzstd-dev",
                     "libjpeg-dev", "libxxhash-dev", "libisal-dev", "libhwy-dev", "libpugixml-dev",
                     "libyaml-cpp-dev", "libwebp-dev", "libtiff-dev"}
    # What bale can be built without.
    assert "AVIF images: not decoded (apt-get install libavif-dev)" in said
    assert "JPEG XL images: not decoded (apt-get install libjxl-dev)" in said


def test_a_bare_machine_is_shown_what_the_scripts_install(tmp_path):
    """Without a compiler nothing can be looked for, so everything is named; then it must be the list of packages.sh."""
    listed = subprocess.run(["bash", "-c", ". scripts/packages.sh; echo ${BALE_BUILD_PACKAGES[*]}"], cwd=REPO,
                            capture_output=True, text=True, check=True).stdout.split()
    assert configure(tmp_path, CXX="/nowhere")[0] == {*listed, "catch2", "python3-dev"} - {"cmake", "ninja-build"}


# --- next to other libraries of the same formats

BESIDE = """
import multiprocessing, os, sys

order, method, root = sys.argv[1:]
if order == "bale first":
    import bale
import h5py, lmdb
import bale

paths = {name: sorted(os.path.join(root, name, file) for file in os.listdir(os.path.join(root, name))
                      if file.endswith(suffix)) for name, suffix in (("hdf5", ".h5"), ("lmdb", ".lmdb"))}
datasets = {name: bale.Dataset(os.path.join(root, name)) for name in paths}


def by_bale(name):
    return [(dataset.read_image(i), dataset.label(i)) for dataset in [datasets[name]] for i in range(len(dataset))]


def by_h5py():
    for path in paths["hdf5"]:
        with h5py.File(path) as file:
            data, offsets = file["fields/jpg/data"], file["fields/jpg/offsets"][:]
            for i, label in enumerate(file["labels"]):
                yield data[offsets[i]:offsets[i + 1]].tobytes(), label


def by_lmdb():
    for path in paths["lmdb"]:
        with lmdb.open(path, subdir=False, readonly=True, lock=False) as env, env.begin() as transaction:
            for i in range(int(transaction.get(b"__len__"))):
                yield transaction.get(b"%08d" % i), int(transaction.get(b"%08d.cls" % i))


def check():
    '''All read the same, in turns, and the others may write.'''
    for _ in range(2):
        assert by_bale("hdf5") == list(by_h5py()) == by_bale("lmdb") == list(by_lmdb())
    with h5py.File(f"{root}/own-{os.getpid()}.h5", "w") as file:
        file["x"] = [1, 2, 3]
    with lmdb.open(f"{root}/own-{os.getpid()}.lmdb") as env, env.begin(write=True) as transaction:
        transaction.put(b"x", b"y")
    assert by_bale("hdf5") == by_bale("lmdb")


def in_child(connection):
    check()
    connection.send("read")


if __name__ == "__main__":
    check()
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=in_child, args=(theirs,))
    child.start()
    theirs.close()
    assert ours.poll(60) and ours.recv() == "read"
    child.join()
    assert child.exitcode == 0
    check()
    with bale.Loader(os.path.join(root, "hdf5"), 8, workers=1, transform=bale.transforms.val(32)) as loader:
        print(sum(len(batch) for batch in loader))
"""


@pytest.fixture(scope="module")
def both_packs(bale, tiny, tmp_path_factory):
    root = tmp_path_factory.mktemp("packs")
    for name in ("hdf5", "lmdb"):
        bale.pack(tiny, root / name, "--format", name, "--shard-samples", "4")
    return root


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("order", ["bale first", "others first"])
def test_next_to_the_wheels_of_others(both_packs, tmp_path, order, method):
    """h5py and lmdb bring libraries of their own for the same formats, of other versions."""
    script = tmp_path / "beside.py"
    script.write_text(BESIDE)
    done = subprocess.run([sys.executable, script, order, method, both_packs], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "6\n", "")
