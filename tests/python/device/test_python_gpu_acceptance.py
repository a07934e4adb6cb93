"""scripts/gpu/gpu_acceptance.py over the fake driver: all that needs no GPU and no PyTorch."""
import json
import subprocess
import sys

from conftest import BUILD, REPO
from fake_cuda_support import ENVIRONMENT
from python_support import ENVIRONMENT as PYTHON
from python_support import run_script


def accept(folder, out, tests=BUILD / "tests" / "test_gpu"):
    words = [sys.executable, REPO / "scripts" / "gpu" / "gpu_acceptance.py", folder, "--fake", "--out", out, "--tests", tests]
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
    tests = report["driver_tests"]
    assert tests["result"] == "ok" and tests["exit_code"] == 0 and len(tests["tests"]) > 20
    assert set(tests["tests"].values()) == {"ok"}  # nothing is skipped: this driver has it all
    page = (tmp_path / "out" / "acceptance.md").read_text()
    assert all(f"| {name} | ok |" in page for name in [*ran, *tests["tests"]])
    assert "test_gpu: ok" in page


def driver(script, *arguments, **environment):
    """The output of a script that has gpu_acceptance_driver as `driver`."""
    head = f"import pathlib, sys\nsys.path.insert(0, {str(REPO / 'scripts/gpu')!r})\nimport gpu_acceptance_driver as driver\n"
    return run_script(head + script, *arguments, **environment)


def test_what_keeps_the_driver_tests_from_running_is_said(tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library")
    show = "report = driver.driver_tests(pathlib.Path(sys.argv[1]), 60)\nprint(report['result'], report['tests'])"
    out = driver(show, BUILD / "tests" / "test_gpu", LD_LIBRARY_PATH=str(tmp_path))
    assert out.startswith("test_gpu: no CUDA driver: ") and out.endswith(" {}\n") and out.count("\n") == 1
    assert driver(show, tmp_path / "nothing") == f"not run: {tmp_path}/nothing is not there {{}}\n"
    (tmp_path / "text").write_text("no program")
    assert driver(show, tmp_path / "text").startswith("not run: ")


def test_results_of_driver_tests_are_read(tmp_path):
    """A failure, a crash, a skip and an end that does not come: each is reported by the name of its test."""
    program = tmp_path / "test_gpu"
    program.write_text("""#!/bin/sh
echo "device: none"
echo "begins: one: a, b"
echo "skipped: one: a, b: no nvJPEG: not found"
echo "ok: one: a, b"
echo "begins: two"
echo "failed: two"
echo "begins: three"
case $1 in crash) kill -SEGV $$ ;; sleep) exec sleep 60 ;; esac
echo "ok: three"
exit 1
""")
    program.chmod(0o755)
    show = """
import os
os.chdir(os.path.dirname(sys.argv[1]))
report = driver.run("test_gpu", float(sys.argv[3]), [sys.argv[2]])
print(report["result"], report["exit_code"], report["tests"], sep="\\n")
print(*driver.page(report, None), sep="\\n")
"""
    expected = {"one: a, b": "ok; skipped: no nvJPEG: not found", "two": "failed", "three": "ok"}
    result, code, tests, *page = driver(show, program, "all", "60").splitlines()
    assert (result, code, tests) == ("exit code 1; not passed: two", "1", str(expected))
    assert "| one: a, b | ok; skipped: no nvJPEG: not found |" in page
    expected["three"] = "did not end"
    result, code, tests, *_ = driver(show, program, "crash", "60").splitlines()
    assert (result, code, tests) == ("exit code -11; not passed: two; three", "-11", str(expected))
    result, code, tests, *_ = driver(show, program, "sleep", "1").splitlines()
    assert (result, code, tests) == ("did not end within 1 s", "None", str(expected))


def test_wrong_pixels_are_noticed(bale, photos, tmp_path):
    """One bit of the bytes that come from the device is another: the check of that dtype says so, the others do not."""
    bale.pack(photos, tmp_path / "packed")
    out = run_script(f"""
import sys
sys.path.insert(0, {str(REPO / "scripts" / "gpu")!r})
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
