"""The Python of README.md runs as it stands, one block after the other, but for sizes."""
import re

from conftest import REPO
from python_support import SYSTEM_PYTHON, run_script


def test_the_blocks_run(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed")
    blocks = re.findall(r"```python\n(.*?)```", (REPO / "README.md").read_text(), re.S)
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
