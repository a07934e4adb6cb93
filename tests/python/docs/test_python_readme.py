"""The Python of README.md, docs/DATALOADER.md and docs/TRANSFORMS.md runs as it stands, one block after the other, but for sizes."""
import re
import shlex
import shutil

from conftest import REPO
from torch_support import torch  # noqa: F401 - a fixture


def test_the_block_of_the_readme_runs(bale, torch, photos, tmp_path):
    bale.pack(photos, tmp_path / "imagenet-packed")
    (code,) = re.findall(r"```python\n(.*?)```", (REPO / "README.md").read_text(), re.S)
    for long, short in (("range(90)", "range(2)"), ("batch_size=256", "batch_size=16"), ("workers=8", "workers=0")):
        assert long in code
        code = code.replace(long, short)
    out = torch(f"import os\nos.chdir({str(tmp_path)!r})\nseen = []\ntrain = lambda images, labels: seen.append(len(images))\n"
                     f"{code}\nprint(seen, state['epoch'])")
    assert out == "[16, 16, 8, 16, 16, 8] 2\n"


def test_the_blocks_run(bale, torch, photos, tmp_path):
    """Those of docs/DATALOADER.md, on packs of its own commands."""
    page = (REPO / "docs" / "DATALOADER.md").read_text()
    (tmp_path / "imagenet").mkdir()
    for split in ("train", "val"):
        shutil.copytree(photos, tmp_path / "imagenet" / split)
    fish = tmp_path / "imagenet" / "train" / "n01440764" / "n01440764_10026.JPEG"
    fish.parent.mkdir()
    shutil.copy(next(photos.rglob("*.JPEG")), fish)
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.S)
    for line in commands.splitlines():
        bale.ok(*shlex.split(line, comments=True)[1:], cwd=tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == 7
    code = "\n".join(blocks)
    for long, short in (("range(90)", "range(2)"), ("batch_size=256", "batch_size=16"), ("workers=8", "workers=2"), ('"photos"', repr(str(photos))),
                        ("(0, 2, 64), (2, 3, 96), (3, 4, 128)", "(0, 2, 16), (2, 3, 24), (3, 4, 32)"), ("224", "32")):
        assert long in code
        code = code.replace(long, short)
    out = torch(f"import os\nos.chdir({str(tmp_path)!r})\nimport torch\nshapes = []\n"
                     "step = lambda images, labels: shapes.append(images.shape)\n"
                     "use = lambda images, labels, mask: shapes.append(images.shape)\n"
                     "device, model = torch.device('cpu'), torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())\n"
                     f"{code}\nprint(len(shapes), seen, num_classes, state['epoch'], report['samples'], image.size)")
    assert out.splitlines()[1:] == ["9 40 6 4 40 (64, 64)"]


def test_the_blocks_of_transforms_run(bale, torch, photos, tmp_path):
    """Those of docs/TRANSFORMS.md, one after the other, and a batch of each loader."""
    bale.pack(photos, tmp_path / "packed")
    blocks = re.findall(r"```python\n(.*?)```", (REPO / "docs" / "TRANSFORMS.md").read_text(), re.S)
    assert len(blocks) == 3
    code = "\n".join(block + "\nseen.append(tuple(next(iter(loader))[0].shape))" for block in blocks)
    assert "224" in code and "batch_size=256" in code
    code = code.replace("224", "32").replace("batch_size=256", "batch_size=8, workers=0")
    out = torch(f"import os\nos.chdir({str(tmp_path)!r})\nimport torch\nseen = []\noutput = None\n"
                     f"per_image = lambda output, labels: torch.zeros(len(labels))\n{code}\nprint(seen)")
    assert out == "[(8, 3, 32, 32), (8, 1, 32, 32), (8, 3, 32, 32)]\n"
