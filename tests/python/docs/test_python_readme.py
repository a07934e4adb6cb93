"""The Python of README.md, docs/PYTHON.md and docs/TRANSFORMS.md runs as it stands, one block after the other, but for sizes."""
import re

from conftest import REPO
from python_support import SYSTEM_PYTHON, run_script


def test_the_block_of_the_readme_runs(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "imagenet-packed")
    (code,) = re.findall(r"```python\n(.*?)```", (REPO / "README.md").read_text(), re.S)
    for long, short in (("range(90)", "range(2)"), ("batch_size=256", "batch_size=16"), ("workers=8", "workers=0")):
        assert long in code
        code = code.replace(long, short)
    out = run_script(f"import os\nos.chdir({str(tmp_path)!r})\nseen = []\ntrain = lambda images, labels: seen.append(len(images))\n"
                     f"{code}\nprint(seen, state['epoch'])", python=SYSTEM_PYTHON)
    assert out == "[16, 16, 8, 16, 16, 8] 2\n"


def test_the_blocks_run(bale, photos, tmp_path):
    """Those of docs/PYTHON.md."""
    bale.pack(photos, tmp_path / "packed")
    blocks = re.findall(r"```python\n(.*?)```", (REPO / "docs" / "PYTHON.md").read_text(), re.S)
    assert len(blocks) == 5
    code = "\n".join(blocks)
    (tmp_path / "cat.jpg").write_bytes(next(photos.rglob("*.JPEG")).read_bytes())
    for long, short in (("range(90)", "range(2)"), ("batch_size=256", "batch_size=16"), ('"packed-once", 256', '"packed-once", 16, workers=2'), ("workers=8", "workers=2"),
                        ('"photos"', repr(str(photos)))):
        assert long in code
        code = code.replace(long, short)
    out = run_script(f"import os\nos.chdir({str(tmp_path)!r})\nseen = []\n"
                     "train = lambda images, labels: seen.append(images.shape)\n"
                     "use = lambda images, labels, mask: seen.append(images.shape)\n"
                     f"{code}\nprint(len(seen), state['epoch'], report['samples'])", python=SYSTEM_PYTHON)
    assert out == "12 2 40\n"


def test_the_blocks_of_transforms_run(bale, photos, tmp_path):
    """Those of docs/TRANSFORMS.md, one after the other, and a batch of each loader."""
    bale.pack(photos, tmp_path / "packed")
    blocks = re.findall(r"```python\n(.*?)```", (REPO / "docs" / "TRANSFORMS.md").read_text(), re.S)
    assert len(blocks) == 3
    code = "\n".join(block + "\nseen.append(tuple(next(iter(loader))[0].shape))" for block in blocks)
    assert "224" in code and "batch_size=256" in code
    code = code.replace("224", "32").replace("batch_size=256", "batch_size=8, workers=0")
    out = run_script(f"import os\nos.chdir({str(tmp_path)!r})\nimport torch\nseen = []\noutput = None\n"
                     f"per_image = lambda output, labels: torch.zeros(len(labels))\n{code}\nprint(seen)", python=SYSTEM_PYTHON)
    assert out == "[(8, 3, 32, 32), (8, 1, 32, 32), (8, 3, 32, 32)]\n"
