"""The tag that scikit-build-core gives a wheel, and the module that CMake makes for it."""
import subprocess
import sys

import tomllib
from conftest import REPO


def configure(directory, *arguments):
    return subprocess.run(["cmake", "-S", REPO, "-B", directory, "-G", "Ninja", "-DBALE_PYTHON=ON", "-DBALE_TESTS=OFF",
                           f"-DPython_EXECUTABLE={sys.executable}", *arguments], capture_output=True, text=True)


def test_a_wheel_of_the_stable_abi_holds_no_module_of_one_python(tmp_path):
    """scikit-build-core sets SKBUILD_SABI_VERSION when it tags a wheel abi3. Python 3.11 cannot make the module for that."""
    with open(REPO / "pyproject.toml", "rb") as file:
        assert tomllib.load(file)["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    done = configure(tmp_path, "-DSKBUILD_SABI_VERSION=3.12")
    if sys.version_info >= (3, 12):
        assert done.returncode == 0, done.stderr
        assert "_bale.abi3.so" in (tmp_path / "build.ninja").read_text()
    else:
        assert done.returncode != 0 and "needs CMake 3.26 or newer" in " ".join(done.stderr.split()), done.stderr
