"""A build without remote files (-DBALE_REMOTE=OFF) links: no_remote.cpp has what the rest of bale calls of the sources
that such a build leaves out."""
import re
import subprocess

from conftest import BUILD, REPO

STORAGE = REPO / "formats" / "storage"


def sources(pattern):
    return re.search(pattern, (STORAGE / "CMakeLists.txt").read_text(), re.DOTALL)[1].split()


def folders(files):
    return {file.rpartition("/")[0] for file in files}


def objects(files, all_folders):
    """Names of the object files of those of `files` that are in one of these folders, also of builds that join sources."""
    kept = [file for file in files if file.rpartition("/")[0] in all_folders]
    return ({file.rpartition("/")[2] + ".o" for file in kept} |
            {f"unity_in_{folder.replace('/', '_')}_0_cxx.cxx.o" for folder in folders(kept)})


def symbols(file, *options):
    """Pairs of an object file and a symbol."""
    lines = subprocess.run(["nm", "-A", *options, file], capture_output=True, text=True, check=True).stdout.splitlines()
    return {(line.split(":")[-2], line.split()[-1]) for line in lines}


def test_what_is_called_without_remote_files_is_there(tmp_path):
    remote, local = sources(r"set\(sources\n(.*?)\)\nendif"), sources(r"SOURCES (.*?) \$\{sources\}")
    left_out = objects(remote, folders(remote) - folders(local))
    unclear = objects(remote + local, folders(remote) & folders(local))  # joined with sources that stay
    storage = BUILD / "formats" / "storage" / "libbale_storage.a"
    theirs = {symbol for name, symbol in symbols(storage, "--defined-only", "--extern-only") if name in left_out}
    called = {symbol for library in BUILD.rglob("libbale_*.a") for name, symbol in symbols(library, "--undefined-only")
              if library != storage or name not in left_out | unclear} & theirs
    subprocess.run(["c++", "-std=c++20", "-c", STORAGE / "no_remote.cpp", "-o", tmp_path / "no_remote.o",
                    f"-I{BUILD}/include", f"-I{REPO}/formats/include", f"-I{BUILD}/generated"], check=True)
    there = {symbol for _, symbol in symbols(tmp_path / "no_remote.o", "--defined-only")}
    assert len(called) >= 2 and called <= there, called - there
