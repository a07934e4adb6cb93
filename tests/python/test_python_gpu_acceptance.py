"""scripts/gpu_acceptance.py over the fake driver: all that needs no GPU and no PyTorch."""
import json
import subprocess
import sys

from conftest import REPO
from fake_cuda_support import ENVIRONMENT
from python_support import ENVIRONMENT as PYTHON, run_script


def accept(folder, out):
    words = [sys.executable, REPO / "scripts" / "gpu_acceptance.py", folder, "--fake", "--out", out]
    return subprocess.run(words, env={**PYTHON, **ENVIRONMENT}, capture_output=True, text=True, timeout=300)


def test_everything_is_right_over_the_fake_driver(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed")
    done = accept(tmp_path, tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "out" / "acceptance.json").read_text())
    ran = [name for name, result in report["right"].items() if result == "ok"]
    assert len(ran) == len(report["right"]) - 3 >= 17
    assert report["copies"][0]["device"]["name"] == "Fake GPU"
    decoding = report["decoding"]
    assert decoding["share_decoded_by_the_device"] > 0.5 and decoding["largest_difference"] == 0
    page = (tmp_path / "out" / "acceptance.md").read_text()
    assert all(f"| {name} | ok |" in page for name in ran)


def test_wrong_pixels_are_noticed(bale, photos, tmp_path):
    """One bit of the bytes that come from the device is another: the check of that dtype says so, the others do not."""
    bale.pack(photos, tmp_path / "packed")
    out = run_script(f"""
import sys
sys.path.insert(0, {str(REPO / "scripts")!r})
import gpu_acceptance_checks as checks
class WrongDevice(checks.FakeDevice):
    def array(self, exported):
        array = super().array(exported)
        return array ^ 1 if array.dtype == "uint8" else array
checks.CHECKS = {{name: check for name, check in checks.CHECKS.items() if name in ("uint8, nhwc, 64", "float16, nhwc, 64")}}
checks.FakeDevice = WrongDevice
for name, result in checks.run(sys.argv[1], True).items():
    print(f"{{name}}: {{result}}")
""", tmp_path / "packed", **ENVIRONMENT)
    assert "uint8, nhwc, 64: AssertionError: pixels of batch 0\n" in out
    assert "float16, nhwc, 64: ok\n" in out
