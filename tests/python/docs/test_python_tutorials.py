"""The tutorials run as they stand, but for sizes: blocks in their order, those with a title are saved under it."""
import os
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import BUILD, REPO, ledger
from PIL import Image
from python_support import torchrun

TUTORIALS = REPO / "docs" / "tutorials"
PYTHON = os.environ.get("BALE_TEST_EXAMPLES_PYTHON") or REPO / ".venv-examples" / "bin" / "python"
BLOCK = re.compile(r'```(sh|python)(?: title="([^"]+)")?\n(.*?)```', re.S)
SMALLER = {
    "imagenet": [("224", "32"), ("256", "8"), ("workers=8", "workers=1"), ("range(train.epoch, 90)", "range(train.epoch, 2)"),
                 ("resnet50", "resnet18"), ("step % 1000 == 999", "step % 2 == 1"),
                 ("bale tune packs/train", "bale tune packs/train --batch 8 --size 32 --seconds-per-setting 0.02 || [ $? = 5 ]"),
                 ("--step-ms 95", "--step-ms 95 --seconds 0.05 --batch 8 --size 32")],
    "several-gpus": [("224", "32"), ("128", "4"), ("workers=8", "workers=1"), ("range(loader.epoch, 90)", "range(loader.epoch, 1)"),
                     ("resnet50", "resnet18"), ("--nproc_per_node 8 ", "")],
}
PRINTED = {"imagenet": "epoch 1: ", "photos": "torch.Size([16, 3, 64, 64]) torch.uint8", "captions": "torch.Size([8, 3, 64, 64]) ",
           "segmentation": "torch.Size([4, 3, 48, 48]) torch.Size([4, 48, 48])", "several-gpus": "steps on 2 ranks, ",
           "years": "the run continues with 8 images"}


@pytest.fixture
def home(bale, photos, tmp_path):
    """A directory with the data that the tutorials name."""
    shutil.copytree(photos, tmp_path / "imagenet" / "train")
    shutil.copytree(photos, tmp_path / "imagenet" / "val")
    next((tmp_path / "imagenet" / "val").rglob("*.JPEG")).unlink()  # the same content would be the same source of a mixture
    shutil.copytree(photos, tmp_path / "photos")
    first = next((tmp_path / "photos").rglob("*.JPEG"))
    first.with_name("broken.jpg").write_bytes(first.read_bytes()[:40])
    Image.open(first).save(first.with_name("screenshot.png"))
    for kind in ("bmp", "webp", "tiff", "gif"):  # larger than the tutorial resizes to, and small
        Image.open(first).resize((300, 280)).save(first.with_name(f"large_{kind}.{kind}"))
        Image.open(first).save(first.with_name(f"small_{kind}.{kind}"))
    torn = bytearray(first.with_name("screenshot.png").read_bytes())  # whole, as far as its beginning and its end say
    torn[len(torn) // 2:len(torn) // 2 + 50] = bytes(50)
    first.with_name("torn.png").write_bytes(torn)
    for picture in sorted(photos.rglob("*.JPEG"))[::9]:  # other images under other names
        place = tmp_path / "week48" / picture.parent.name
        place.mkdir(parents=True, exist_ok=True)
        Image.open(picture).rotate(180).save(place / f"week48_{picture.name}")
    (tmp_path / "pairs").mkdir()
    (tmp_path / "scenes").mkdir()
    for i, picture in enumerate(sorted(photos.rglob("*.JPEG"))[:8]):
        shutil.copy(picture, tmp_path / "pairs" / f"{i}.jpg")
        (tmp_path / "pairs" / f"{i}.txt").write_text(f"picture {i}")
        shutil.copy(picture, tmp_path / "scenes" / f"{i}.jpg")
        Image.new("L", Image.open(picture).size, i).save(tmp_path / "scenes" / f"{i}.mask.png")
    return tmp_path


def test_all_are_listed():
    assert sorted(path.stem for path in TUTORIALS.glob("*.md")) == sorted(PRINTED)
    site = (REPO / "scripts" / "release" / "site" / "mkdocs.yml").read_text()
    assert all(f"docs/tutorials/{name}.md" in site for name in PRINTED)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_the_blocks_run(home, photos, bale, name):
    if name == "several-gpus":
        bale.pack(photos, home / "packs" / "train")
        bale.pack(photos, home / "packs" / "val")
    script = ["set -euo pipefail"]
    for language, title, code in BLOCK.findall((TUTORIALS / f"{name}.md").read_text()):
        for long, short in SMALLER.get(name, []):
            code = code.replace(long, short)
        if title:
            (home / title).write_text(code)
        elif language == "python":
            script.append(f"python - <<'END_OF_BLOCK'\n{code}END_OF_BLOCK")
        else:
            script.append(code)
    text = (TUTORIALS / f"{name}.md").read_text()
    assert all(long in text for long, _ in SMALLER.get(name, []))
    programs = home / "programs"
    programs.mkdir()
    (programs / "bale").symlink_to(BUILD / "bin" / "bale")
    (programs / "python").write_text(f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    launcher = shlex.join([str(PYTHON), *torchrun(2, home / "log")])
    (programs / "torchrun").write_text(f'#!/bin/sh\nexec {launcher} "$@"\n')
    for program in ("python", "torchrun"):
        (programs / program).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin", "PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=home, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    assert PRINTED[name] in done.stdout, done.stdout + done.stderr
    if name == "several-gpus":
        assert "Warning" not in done.stderr, done.stderr
    if name == "photos":  # nothing good is left out
        for pack, bad in (("photos", {"broken.jpg", "torn.png"}), ("small", {"broken.jpg"})):
            assert {os.path.basename(line["origin"]) for line in ledger(home / "packs" / pack)} == bad
