"""A stranger's CMake project finds the installed package, builds against it and runs."""
import ctypes
import os
import shutil
import subprocess

from conftest import BUILD, FORMATS, REPO, images_by_key

import bale


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
    assert run(build / "wrapped", tmp_path / FORMATS[0]) == "8\n"  # a library hides bale from the program
    assert (prefix / "share" / "doc" / "bale" / "LICENSE").is_file()
    check_plugin(build / "libplugin.so", prefix, tmp_path, num_images=len(expected))
    # Without CMake: one archive, and what it links.
    flags = run("pkg-config", "--cflags", "--libs", "bale", env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")})
    run("c++", "-std=c++20", REPO / "tests" / "consumer" / "count_bytes.cpp", "-o", tmp_path / "count_bytes", *flags.split())
    assert run(tmp_path / "count_bytes", tmp_path / FORMATS[0]) == f"{len(expected)} 5 {num_bytes}\n"
    # Without it, the error names every place.
    worker = prefix / "libexec" / "bale" / "bale-worker"
    worker.rename(tmp_path / "moved-worker")
    done = subprocess.run([build / "train_loop", tmp_path / FORMATS[0]], capture_output=True, text=True)
    assert done.returncode == 1 and f"{build}/bale-worker" in done.stderr and str(worker) in done.stderr, done
    run(build / "train_loop", tmp_path / FORMATS[0], env={**os.environ, "BALE_WORKER": str(tmp_path / "moved-worker")})
    # The installed program runs too.
    assert run(prefix / "bin" / "bale", "--version", env={**os.environ, "PATH": "/nowhere"}).startswith("bale ")


def check_plugin(plugin, prefix, folder, num_images):
    """It exports nothing of bale, so that each of several in a process, here with that of Python, has a bale of its own."""
    exported = run("nm", "--dynamic", "--defined-only", "--demangle", plugin).splitlines()
    assert [line.split()[-1] for line in exported if "bale" in line or "plugin" in line] == ["plugin_rows", "plugin_version"]
    # ThreadSanitizer of GCC 12 and Clang 14 does not know pthread_mutex_clocklock(), and reports false races.
    imported = run("nm", "--dynamic", "--undefined-only", plugin)
    assert "pthread_mutex_timedlock" in imported and "pthread_mutex_clocklock" not in imported
    # A unit that names a recipe does not compile the variant of all transforms, which was 283 KB.
    assert plugin.with_name("CMakeFiles").joinpath("plugin.dir", "plugin.cpp.o").stat().st_size < 60_000
    # One of another version, from an archive that says so.
    other = shutil.copytree(prefix, folder / "other")
    archive = other / "lib" / "libbale.a"
    archive.write_bytes(archive.read_bytes().replace(bale.__version__.encode(), b"9.8.7"))
    flags = run("pkg-config", "--libs", "bale", env={**os.environ, "PKG_CONFIG_PATH": str(other / "lib" / "pkgconfig")})
    run("c++", "-shared", plugin.with_name("CMakeFiles") / "plugin.dir" / "plugin.cpp.o", "-o", folder / "other.so", *flags.split())
    shutil.copy(plugin, folder / "same.so")
    places = set()
    for name, version in (("same.so", bale.__version__), ("other.so", "9.8.7"), (plugin, bale.__version__)):
        loaded = ctypes.CDLL(folder / name, ctypes.RTLD_GLOBAL)
        for function in (loaded.plugin_rows, loaded.plugin_version):
            function.restype = ctypes.c_void_p
        places.add(loaded.plugin_version())
        assert ctypes.string_at(loaded.plugin_version()).decode() == version
        assert int(ctypes.string_at(loaded.plugin_rows(os.fsencode(folder / FORMATS[0])))) >= num_images
        assert ctypes.string_at(loaded.plugin_rows(os.fsencode(folder / "none"))) == b"not_found"
    assert len(places) == 3


def test_two_versions_of_the_shared_library_do_not_mix(tmp_path):
    """A library in the place of bale's, whose symbols have their version by bale's rule, in a process where all see the symbols of all."""
    (tmp_path / "library.cpp").write_text("namespace bale { int version() { return VERSION; } }")
    (tmp_path / "plugin.cpp").write_text('namespace bale { int version(); }\nextern "C" int plugin_version() { return bale::version(); }')
    for version in ("3", "4"):
        rule = (REPO / "scripts" / "cmake" / "bale.map.in").read_text()
        (tmp_path / "map").write_text(rule.replace("@PROJECT_VERSION_MAJOR@", "0").replace("@PROJECT_VERSION_MINOR@", version))
        library = tmp_path / f"libbale.so.0.{version}"
        run("c++", "-shared", "-fPIC", f"-DVERSION={version}", "library.cpp", "-o", library, f"-Wl,-soname,{library.name}",
            "-Wl,--version-script,map", cwd=tmp_path)
        run("c++", "-shared", "-fPIC", "plugin.cpp", library, f"-Wl,-rpath,{tmp_path}", "-o", f"plugin{version}.so", cwd=tmp_path)
        assert ctypes.CDLL(tmp_path / f"plugin{version}.so", ctypes.RTLD_GLOBAL).plugin_version() == int(version)


def configured(folder, lines, *options):
    """What CMake says of a project of these lines."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text("\n".join(["cmake_minimum_required(VERSION 3.22)", "project(parent LANGUAGES CXX)", *lines]))
    done = subprocess.run(["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *options], capture_output=True, text=True)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_what_is_not_there_is_named(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    code, said = configured(tmp_path / "a", ["find_package(bale CONFIG REQUIRED COMPONENTS loader nonsense)"], f"-DCMAKE_PREFIX_PATH={prefix}")
    assert code != 0 and 'no component "nonsense"' in said
    code, said = configured(tmp_path / "b", ["find_package(bale CONFIG REQUIRED)"], f"-Dbale_DIR={BUILD}")
    assert code != 0 and "is where bale is built: run `cmake --install`" in said
    code, said = configured(tmp_path / "shared", ["find_package(bale CONFIG REQUIRED COMPONENTS reader shared)"], f"-DCMAKE_PREFIX_PATH={prefix}")
    assert code != 0 and "the shared library of bale is not installed" in said
    code, said = configured(tmp_path / "formats", [f"add_subdirectory({REPO} ours)"], "-DBALE_FORMATS=tar;rar")
    assert code != 0 and 'BALE_FORMATS: there is no format "rar", only tar lmdb' in said
    code, said = configured(tmp_path / "c", ["find_package(bale CONFIG COMPONENTS loader)", "message(found=${bale_loader_FOUND})"], f"-DCMAKE_PREFIX_PATH={prefix}")
    assert code == 0 and "found=TRUE" in said


def test_a_part_of_another_project(tmp_path):
    """add_subdirectory(), as FetchContent does it: the parent keeps its settings, its folder and its install rules."""
    lines = [f"add_subdirectory({REPO} ours EXCLUDE_FROM_ALL)", "file(WRITE x.cpp \"int main() {}\")", "add_executable(x x.cpp)",
             "target_link_libraries(x PRIVATE bale::loader)", "get_target_property(sources bale_loader INTERFACE_SOURCES)", "message(sources=${sources})"]
    code, said = configured(tmp_path / "parent", lines)
    build = tmp_path / "parent" / "build"
    assert code == 0 and f"sources={build}/ours/worker_location.cpp" in said, said
    assert not {"include", "generated", "bin", "baleConfig.cmake"} & {path.name for path in build.iterdir()}
    assert "CMAKE_BUILD_TYPE:STRING=Release" not in (build / "CMakeCache.txt").read_text()
    assert f"{build}/ours/bin" in (build / "ours" / "worker_location.cpp").read_text()
    assert not [path for path in build.rglob("cmake_install.cmake") if "file(INSTALL" in path.read_text()]
