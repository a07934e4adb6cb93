"""The shell lines of README.md, docs/COMMANDS.md and docs/MIGRATION.md run as they stand, on small folders of the names that they use."""
import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, REPO


@pytest.fixture(scope="module")
def home(bale, photos, tmp_path_factory):
    """A directory with all that the lines name."""
    root = tmp_path_factory.mktemp("readme")
    (root / "build").symlink_to(BUILD)
    pictures = sorted(photos.rglob("*.JPEG"))
    shutil.copytree(photos, root / "imagenet" / "train")
    fish = root / "imagenet" / "train" / "n01440764" / "n01440764_10026.JPEG"
    fish.parent.mkdir()
    shutil.copy(pictures[0], fish)
    shutil.copytree(photos, root / "photos")
    first = next((root / "photos").rglob("*.JPEG"))
    first.rename(first.with_suffix(".jpg"))

    def put(name, source=pictures[1]):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / name)
    put("imagenet/week48/n01440764/week48.JPEG")
    (root / "corrections.csv").write_text("key,label\nn01440764/week48,0\n")
    put("scenes/a.jpg")
    put("scenes/a.mask.png")
    (root / "VOC2012/Annotations").mkdir(parents=True)
    for name in ("2007_000032", "2007_000033"):
        put(f"VOC2012/JPEGImages/{name}.jpg")
        (root / f"VOC2012/Annotations/{name}.xml").write_text(f"<annotation><filename>{name}.jpg</filename></annotation>")
    put("VOC2012/SegmentationClass/2007_000032.png")
    put("ADEChallengeData2016/images/training/ADE_train_00000001.jpg")
    put("ADEChallengeData2016/annotations/training/ADE_train_00000001.png")
    put("cityscapes/leftImg8bit/train/aachen/aachen_000000_000019_leftImg8bit.png")
    put("cityscapes/gtFine/train/aachen/aachen_000000_000019_gtFine_labelIds.png")
    coco = {"images": [{"id": 1, "file_name": "000000000001.jpg"}], "categories": [{"id": 1, "name": "fish"}]}
    put("train2017/000000000001.jpg")
    (root / "annotations").mkdir()
    for name, values in (("instances", {"bbox": [1, 2, 3, 4], "category_id": 1, "area": 12, "iscrowd": 0}), ("captions", {"caption": "a fish"})):
        annotations = [{"id": 1, "image_id": 1, **values}]
        (root / f"annotations/{name}_train2017.json").write_text(json.dumps({**coco, "annotations": annotations}))
    put("data/images/train/1.jpg")
    (root / "data/labels/train").mkdir(parents=True)
    (root / "data/labels/train/1.txt").write_text("0 0.5 0.5 0.25 0.25\n")
    (root / "data/data.yaml").write_text("path: .\ntrain: images/train\nnames:\n  0: fish\n")
    bale.pack(photos, root / "theirs", "--name", "their", "--shard-count", "2")
    for shard in (root / "theirs").glob("their-*.tar"):
        shard.rename(root / f"their-{shard.stem[-6:]}.tar")
    return root


def shell_blocks():
    """Those of the README that pack, and then those of the pages."""
    readme = (REPO / "README.md").read_text()
    assert readme.index("scripts/quickstart.sh") < readme.index('export PATH="$PWD/build/bin') < readme.index("\nbale pack imagenet")
    part = readme[readme.index("## Pack"):readme.index("## Train in PyTorch")]
    return re.findall(r"```sh\n(.*?)```", part + "".join((REPO / "docs" / f"{page}.md").read_text() for page in ("COMMANDS", "MIGRATION")), re.S)


def test_the_lines_run(home):
    script = "\n".join(shell_blocks())
    for long, short in (("000146", "000001"), ("train=0.95,val=0.05", "train=0.8,val=0.2"),
                        ("--step-ms 95", "--step-ms 95 --seconds 0.05 --batch 8 --size 32"),
                        ("bale bench packed ", "bale bench packed --batch 8 --size 32 --epochs 1 "),
                        ("bale tune imagenet-packed ", "bale tune imagenet-packed --batch 8 --size 32 --seconds-per-setting 0.02 || [ $? = 5 ] "),
                        ("bale tune packed ", "bale tune packed --batch 8 --size 32 --seconds-per-setting 0.02 || [ $? = 5 ] ")):
        assert long in script
        script = script.replace(long, short)
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=home, env=environment, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    # ImageNet's .JPEG are among what find gives.
    listed = subprocess.run([home / "build/bin/bale", "ls", home / "packed-list"], capture_output=True, text=True, check=True)
    suffixes = {".jpg", ".jpeg"}
    assert len(listed.stdout.splitlines()) == sum(path.suffix.lower() in suffixes for path in home.glob("photos/*/*"))
    assert len(subprocess.run([home / "build/bin/bale", "ls", home / "voc"], capture_output=True, text=True,
                              check=True).stdout.splitlines()) == 1
    assert (home / "fish.jpg").read_bytes() == (home / "imagenet/train/n01440764/n01440764_10026.JPEG").read_bytes()


def test_find_takes_every_spelling():
    lines = [line for block in shell_blocks() for line in block.splitlines() if line.startswith("find ")]
    assert lines and all("-iname" in line and "jpeg" in line for line in lines)
