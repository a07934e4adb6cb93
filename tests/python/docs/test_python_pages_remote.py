"""The blocks of docs/REMOTE.md and docs/PARQUET.md, and those of docs/SCALE.md that another machine or Ray has part in, run as they stand,
but for names of servers and sizes, against the servers and imitations of the tests. SCALE.md's commands for sbatch, kubectl and
parallel need a cluster or a program that the tests do not have: test_python_launch.py runs what bale does of them."""
import os
import re
import subprocess
import sys

import pytest
from conftest import PROGRAM, REPO, write_tar
from python_support import ENVIRONMENT, EXAMPLES_PYTHON, PACKAGE, SYSTEM_PYTHON, run_script
from remote_support import Hub, clean_environment, moto, serve  # noqa: F401

IMITATIONS = REPO / "tests" / "python" / "launch" / "imitations"


def blocks_of(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (REPO / "docs" / f"{page}.md").read_text(), re.S)


def changed(text, *pairs):
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, str(new))
    return text


def run_shell(block, folder, env):
    """What the commands print. The first that fails fails the test."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **env, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def work(bale, photos, moto, tmp_path):  # noqa: F811
    """A folder with imagenet/train, and the variables that reach the servers."""
    (tmp_path / "imagenet").mkdir()
    (tmp_path / "imagenet" / "train").symlink_to(photos)
    return tmp_path, {**clean_environment(tmp_path / "cache"), **moto.env}


def tar_of(images, path):
    return write_tar(path, [(f"{number}.jpg", image.read_bytes()) for number, image in enumerate(images)])


def test_remote(bale, photos, moto, serve, work):  # noqa: F811
    folder, env = work
    reading, writing, cache = blocks_of("REMOTE", "sh")[0], blocks_of("REMOTE", "sh")[1], blocks_of("REMOTE", "sh")[2]
    images = sorted(photos.rglob("*.JPEG"))[:6]
    tar_of(images, folder / "old.tar")
    assert "ok: 40 samples" in run_shell(writing, folder, env)
    (folder / "www").mkdir()
    bale.pack(photos, folder / "www" / "packed")
    tar_of(images, folder / "www" / "train-0001.tar")
    for number in range(2):
        tar_of(images[number::2], folder / "shard.tar")
        moto.put(f"old/train-00000{number}.tar", (folder / "shard.tar").read_bytes())
    hub = Hub(folder / "www")
    try:
        block = changed(reading, ("https://example.org", serve(folder / "www").url), ("000146", "000001"),
                        ("OWNER/NAME", f"{Hub.OWNER}/{Hub.NAME}"))
        out = run_shell(block, folder, {**env, **hub.env})
    finally:
        hub.close()
    assert "ok: 40 samples" in out and "6 samples" in out
    assert "s3://bucket/packed" in run_shell(cache, folder, env)
    (code,) = blocks_of("REMOTE", "python")
    code = changed(code, ("batch_size=256, workers=8", "batch_size=16, workers=1"), ("224", "32"))
    (scale,) = [block for block in blocks_of("SCALE", "python") if "node-local" in block]
    scale = changed(scale, ("packs/train", "packed"), ("256", "16"), ("224", "32"))
    shown = "print(sum(len(images) for images, labels in loader))\n"
    out = run_script(f"import bale, bale.torch as bt\nif __name__ == '__main__':\n    import os\n    os.chdir({str(folder)!r})\n" +
                     "".join(f"    {line}\n" for line in (code + shown + scale + shown).splitlines()), python=SYSTEM_PYTHON, **env)
    assert out == "40\n40\n"


def test_parquet(bale, photos, tmp_path):
    """Each `"packed"` of the page is a directory of its own here, and the saved dataset has columns of the names that the page has."""
    pytest.importorskip("datasets")  # test_python_package.py fails without it
    sources, back, mds = blocks_of("PARQUET", "python")
    numbers = iter(range(99))
    sources = re.sub(r'"packed"', lambda _: f'"packed{next(numbers)}"', sources)
    made = """
import os, sys
os.chdir(sys.argv[1])
import datasets, glob
images = sorted(glob.glob(sys.argv[2] + "/**/*.JPEG", recursive=True))[:6]
columns = {"picture": [{"bytes": open(name, "rb").read(), "path": None} for name in images], "breed": ["b", "a"] * 3, "label": [0, 1] * 3}
table = datasets.Dataset.from_dict(columns, features=datasets.Features({"picture": datasets.Image(), "breed": datasets.Value("string"), "label": datasets.ClassLabel(names=["cat", "dog"])}))
os.mkdir("data")
for split in ("train", "test"):
    table.to_parquet(f"data/{split}-00000-of-00001.parquet")
table.save_to_disk("saved")
"""
    env = clean_environment(tmp_path / "cache")
    run_script(made, tmp_path, photos, **env)
    hub = Hub(tmp_path)
    try:
        out = run_script("import os, sys\nos.chdir(sys.argv[1])\n" + changed(sources, ("OWNER/NAME", f"{Hub.OWNER}/{Hub.NAME}")) +
                         "\nprint(*(len(bale.Dataset(f'packed{i}')) for i in (0, 2, 3, 4, 5)), len(bale.Dataset('packed1/test')))"
                         "\nprint(bale.Dataset('packed5').classes)", tmp_path, **{**env, **hub.env})
    finally:
        hub.close()
    assert out.splitlines() == ["12 6 6 6 12 6", "['a', 'b']"], out
    (tmp_path / "packed").symlink_to("packed3")
    out = run_script("import os, sys\nos.chdir(sys.argv[1])\nimport bale, datasets\n" +
                     changed(back, ("datasets.load_dataset", "found = datasets.load_dataset")) + "\nprint(found['train'].num_rows, found['train'].features['label'].names)", tmp_path,
                     HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hf"))
    assert out == "6 ['cat', 'dog']\n"
    if not EXAMPLES_PYTHON.exists():
        pytest.skip("tests/python/requirements-examples.txt is not installed: no Streaming")
    code = changed(mds, ("streaming.StreamingDataset", "found = streaming.StreamingDataset"), ("256", "2"))
    out = run_script("import os, sys\nos.chdir(sys.argv[1])\nsys.path.insert(0, sys.argv[2])\n"
                     "from make_mds import import_streaming\nstreaming = import_streaming()\nimport bale\n" + code + "\nprint(len(found), sorted(found[0]))", tmp_path,
                     REPO / "tests" / "foreign", python=EXAMPLES_PYTHON)
    assert out == "6 ['__key__', 'breed', 'image', 'label']\n"


def test_ray(bale, photos, work):
    """With an imitation of Ray. test_python_ray.py runs the real one."""
    folder, env = work
    env = {**env, "PYTHONPATH": f"{PACKAGE}:{IMITATIONS}", "RAY_IMITATION_AT_MOST": "128"}
    (command,) = [block for block in blocks_of("SCALE", "sh") if "launch ray" in block]
    out = run_shell(changed(command, ("/shared/", ""), ("python -m", f"{sys.executable} -m")), folder, env)
    assert "40 samples" in out
    (code,) = [block for block in blocks_of("SCALE", "python") if "pack_on_ray" in block]
    bale.ok("plan", photos, folder / "again", "-o", folder / "again.plan", "--shard-samples", "3")
    run_script(f"import os\nos.chdir({str(folder)!r})\n" + changed(code, ("/shared/imagenet.plan", "again.plan")), **env)
    assert "40 samples" in bale.ok("verify", folder / "again").out
