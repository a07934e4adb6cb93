"""A stranger's CMake project finds the installed package, builds against it and runs."""
import os
import subprocess

from conftest import BUILD, FORMATS, REPO, images_by_key


def run(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_consumer_project(photos, tmp_path):
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    run("cmake", "-S", REPO / "tests" / "consumer", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", build)
    expected = images_by_key(photos)
    num_bytes = sum(len(image) for image, _ in expected.values())
    for format_name in FORMATS:
        assert run(build / "pack_folder", photos, tmp_path / format_name, format_name) == f"{len(expected)}\n"
        assert run(build / "count_bytes", tmp_path / format_name) == f"{len(expected)} 5 {num_bytes}\n"
        # Two epochs of whole batches of 16, by the installed worker, which the package knows.
        lines = run(build / "train_loop", tmp_path / format_name).splitlines()
        whole = len(expected) // 16 * 16
        assert [line.split()[0] for line in lines] == [f"{whole}", f"{whole}", "2"]
        assert all(20 < int(line.split()[1]) < 235 for line in lines[:2])
    # Without it, the error names every place.
    worker = prefix / "libexec" / "bale" / "bale-worker"
    worker.rename(tmp_path / "moved-worker")
    done = subprocess.run([build / "train_loop", tmp_path / FORMATS[0]], capture_output=True, text=True)
    assert done.returncode == 1 and f"{build}/bale-worker" in done.stderr and str(worker) in done.stderr, done
    run(build / "train_loop", tmp_path / FORMATS[0], env={**os.environ, "BALE_WORKER": str(tmp_path / "moved-worker")})
    # The installed program runs too.
    assert run(prefix / "bin" / "bale", "--version", env={**os.environ, "PATH": "/nowhere"}).startswith("bale ")
