"""The part of gpu_acceptance.py that runs test_gpu, bale's C++ tests over the CUDA driver of this machine."""
import os
import re
import shutil
import subprocess

from bale._cli import program_path
from bale._loader.device import nvjpeg_path

RESULT = re.compile(r"^(begins|ok|failed|skipped): (.*)$")
NO_DEVICE = 3  # exit code of test_gpu
# Of compute-sanitizer: what it says of each kernel takes long, so only tests with kernels and with copies that overlap.
SANITIZED = ["Kernels on the device*", "Large batches*", "The device mirrors and mixes*", "Memory is not reused*"]


def results_of(lines):
    """{test: "ok", "failed", "skipped: WHY" or "did not end"} of what test_gpu prints. A test of which a part was skipped is
    "ok; skipped: WHY"."""
    results, skips = {}, {}
    for line in lines:
        found = RESULT.match(line)
        if not found:
            continue
        kind, name = found.groups()
        if kind == "begins":
            results[name] = "did not end"
        elif kind == "skipped":
            # The name may have ": " in it, so it is looked for.
            test = next(test for test in results if name.startswith(test + ": "))
            skips.setdefault(test, []).append(name[len(test) + 2:])
        else:
            results[name] = "; ".join([kind, *(f"skipped: {why}" for why in skips.get(name, ()))])
    return results


def run(program, seconds, tests=(), before=()):
    """The report of those tests, or of all; `before`: the words of a program that runs test_gpu."""
    environment = {**os.environ, "BALE_WORKER": program_path("bale-worker"), "BALE_NVJPEG": nvjpeg_path()}
    words = [*before, os.path.abspath(program)] + ([",".join(tests)] if tests else [])
    try:
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=seconds)
        code, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        code, text = None, (late.stdout or b"").decode(errors="replace")
    except OSError as error:
        return {"result": f"not run: {error}", "tests": {}}
    report = {"tests": results_of(text.splitlines()), "exit_code": code}
    report["result"] = "ok" if code == 0 else reason(report, text, seconds)
    if code != 0:
        report["output"] = text[-20000:]
    return report


def reason(report, text, seconds):
    code = report["exit_code"]
    if code is None:
        return f"did not end within {seconds:.0f} s"
    if code == NO_DEVICE:
        return next((line for line in text.splitlines() if line.startswith("test_gpu: ")), "no device")
    failed = [name for name, result in report["tests"].items() if not result.startswith("ok")]
    return f"exit code {code}; " + (f"not passed: {'; '.join(failed)}" if failed else text.strip()[-300:])


def driver_tests(program, seconds):
    if not program.exists():
        return {"result": f"not run: {program} is not there", "tests": {}}
    return run(program, seconds)


def sanitized(program, seconds):
    """The same of a part of them under compute-sanitizer; None if that is not installed."""
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer or not program.exists():
        return None
    return run(program, seconds, SANITIZED, [sanitizer, "--error-exitcode", "9"])


def page(report, under_sanitizer):
    """Both as Markdown."""
    lines = ["## C++ tests over this driver", "", f"test_gpu: {one_line(report['result'])}", ""]
    if under_sanitizer is not None:
        lines += [f"A part of them under compute-sanitizer: {one_line(under_sanitizer['result'])}", ""]
    if report["tests"]:
        lines += ["| test | result |", "|---|---|"]
        lines += [f"| {name} | {one_line(result)} |" for name, result in report["tests"].items()] + [""]
    return lines


def one_line(text):
    return text.replace("|", "/").replace("\n", " ")
