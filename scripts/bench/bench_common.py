"""What the benchmark scripts share: the files they measure with, the layouts there are, the state of the page cache."""
import os
import pathlib
import shutil
import subprocess

REPO = pathlib.Path(__file__).resolve().parents[2]
BALE = REPO / "build" / "bin" / "bale"


def listing(folder):
    """[(path, label)] in ImageFolder's order."""
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    return [(os.path.join(folder, name, file), label) for label, name in enumerate(classes)
            for file in sorted(os.listdir(os.path.join(folder, name)))]


def content(path):
    with open(path, "rb") as file:
        return file.read()


def replicate(folder, times, target):
    """`times` copies of each image, spread over the class folders as FOLDER has them."""
    for path, _ in listing(folder):
        relative = pathlib.Path(path).relative_to(folder)
        data = content(path)
        (target / relative.parent).mkdir(parents=True, exist_ok=True)
        for number in range(times):
            (target / relative.parent / f"{relative.stem}_{number:03d}{relative.suffix}").write_bytes(data)


def replicated(folder, times, work):
    """The folder of `times` copies of FOLDER's images under the directory `work`, made at the first call."""
    source = work / f"source-{times}"
    if not (source / "done").exists():
        shutil.rmtree(source, ignore_errors=True)
        replicate(folder, times, source / "images")
        (source / "done").touch()
    return source / "images"


def layouts(bale=BALE):
    """{"tar.plain": True, ...}: every layout that the program can write, and whether it gives back what it was given."""
    written, _, _ = subprocess.check_output([bale, "formats"], text=True).partition("\n\n")
    lines = written.splitlines()[1:]
    return {".".join(line.split()[:2]): "decoded pixels" not in line for line in lines}


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")
