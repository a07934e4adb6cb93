"""The packer's memory grows by a few hundred bytes a file, so that millions of them are no trouble."""
import os
import shutil
import subprocess

from conftest import PROGRAM, by_tier

BYTES_A_FILE = 400
FILES_A_CLASS = 1000
LINKS = 50_000  # to one file; ext4 allows 65,000


def fill(folder, photo, begin, end):
    """Files `begin` to `end`: hard links, as only their number matters."""
    for n in range(begin, end):
        if n == begin or n % LINKS == 0:
            shutil.copy(photo, folder.parent / f"{n}.jpg")
            linked = folder.parent / f"{n}.jpg"
        directory = folder / f"n{n // FILES_A_CLASS:08}"
        if n == begin or n % FILES_A_CLASS == 0:
            directory.mkdir(parents=True, exist_ok=True)
        os.link(linked, directory / f"{directory.name}_{n:08}.JPEG")


def peak_bytes(folder, out):
    run = subprocess.Popen([PROGRAM, "pack", folder, out, "--shard-samples", "1000", "--jobs", "2", "--quiet"])
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode == 0
    return usage.ru_maxrss * 1024


def test_memory_grows_slowly(tiny, tmp_path):
    few, many = by_tier((5_000, 30_000), (100_000, 1_000_000))
    folder, photo = tmp_path / "images", next(tiny.rglob("*.JPEG"))
    fill(folder, photo, 0, few)
    before = peak_bytes(folder, tmp_path / "few")
    fill(folder, photo, few, many)
    after = peak_bytes(folder, tmp_path / "many")
    print(f"{before / 1e6:.1f} MB for {few:,} files, {after / 1e6:.1f} MB for {many:,}")
    assert after - before < (many - few) * BYTES_A_FILE
