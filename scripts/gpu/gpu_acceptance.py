#!/usr/bin/env python3
"""Is bale right and fast on this machine's GPU? One page of Markdown and one JSON file, in at most 8 minutes.

Run it on a machine with an NVIDIA GPU, in the Python that has PyTorch and bale. FOLDER is what scripts/gpu/gpu_carry.sh prepared:
packed/ (a packed dataset), images/ (the same as CLASS/IMAGE files) and test_gpu (C++ tests). Nothing is fetched.

1. driver: test_gpu, the C++ tests over this machine's driver, and a part of them under compute-sanitizer if it is installed.
2. right: batches on the device are those of the host, bit for bit, for every dtype, layout and size; kept, resumed, mixed, from
   other streams; a captured graph is refused. How far nvJPEG's pixels are from the workers' is measured, if it is there.
   compute-sanitizer runs over a part of it if it is installed.
3. copies: the loader's copies next to a plain copy from page-locked memory, and the share of them that no step waited for.
4. training: ResNet-50 in bf16, channels_last, next to the same steps on one resident batch, decode="device",
   DataLoader + ImageFolder and DALI (device="mixed").

Exit code: 0 if everything that was checked is right, 1 if not. Speeds below the aims are reported and change no exit code.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import gpu_acceptance_checks as checks
import gpu_acceptance_driver as driver
import gpu_acceptance_training as training

AIMS = {"copies": 0.9, "resident": 0.98, "utilization": 0.95}
WORKERS = (1, 4, 8, 16)
DRIVER_TESTS_S, SANITIZED_TESTS_S = 120, 60


def environment():
    facts = {"bale": checks.bale.__version__, "cores": len(os.sched_getaffinity(0)), "python": sys.version.split()[0]}
    if shutil.which("nvidia-smi"):
        asked = "name,driver_version,pcie.link.gen.current,pcie.link.width.current,memory.total"
        done = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], capture_output=True, text=True)
        facts["gpu"] = done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else done.stderr.strip()
    if training.torch is not None:
        facts["torch"] = training.torch.__version__
    return facts


def copies(spec, workers, step_ms, is_fake):
    """What `bale bench --device cuda` says of each number of workers."""
    rows = []
    for number in workers:
        words = ["--device", "cuda", "--dtype", "float16", "--workers", str(number), "--stages", "train", "--json", "--quiet"]
        words += ["--batch", "16", "--size", "32"] if is_fake else ["--step-ms", str(step_ms)]
        done = subprocess.run([checks.program(), "bench", str(spec), *words], capture_output=True, text=True, timeout=240)
        if done.returncode != 0:
            rows.append({"workers": number, "error": done.stderr.strip().splitlines()[-1]})
            continue
        rows.append({"workers": number, **json.loads(done.stdout)})
    return rows


def sanitized(spec, seconds):
    """compute-sanitizer over one epoch on the device; None if it is not installed."""
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        return None
    words = [sanitizer, "--error-exitcode", "9", sys.executable, checks.__file__, str(spec)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"error": f"did not end within {seconds:.0f} s"}
    return {"exit_code": done.returncode, "summary": (done.stdout.strip().splitlines() or [""])[-1]}


def page(report):
    """The report as Markdown."""
    lines = ["# bale on a GPU", ""] + [f"- {name}: {value}" for name, value in report["environment"].items()] + [""]
    lines += driver.page(report["driver_tests"], report["sanitized_driver_tests"])
    lines += ["## Right", "", "| check | result |", "|---|---|"]
    lines += [f"| {name} | {result} |" for name, result in report["right"].items()]
    if report["sanitizer"] is not None:
        lines += [f"| compute-sanitizer | {report['sanitizer']} |"]
    lines += ["", "## Images decoded by the device, next to those of the workers", ""]
    lines += [f"- {name.replace('_', ' ')}: {value}" for name, value in report["decoding"].items() if value is not None]
    lines += ["", "## Copies", "", "| workers | GB/s | plain copy, GB/s | ratio | hidden |", "|---|---|---|---|---|"]
    for row in report["copies"]:
        if "error" in row:
            lines.append(f"| {row['workers']} | {row['error']} | | | |")
            continue
        device = row["device"]
        ratio = device["copy_gb_per_s"] / device["plain_copy_gb_per_s"]
        lines.append(f"| {row['workers']} | {device['copy_gb_per_s']:.1f} | {device['plain_copy_gb_per_s']:.1f} | {ratio:.2f} "
                     f"| {device['hidden_share']:.0%} |")
    lines += ["", f"Aim: {AIMS['copies']} of a plain copy."]
    if report["training"]:
        resident = next(row["images_per_s"] for row in report["training"] if row["loader"] == "resident batch")
        lines += ["", "## ResNet-50, bf16, channels_last", "", "| loader | workers | img/s | of the resident batch | GPU busy |",
                  "|---|---|---|---|---|"]
        for row in report["training"]:
            busy = f"{row['utilization']:.0%}" if row.get("utilization") is not None else "-"
            lines.append(f"| {row['loader']} | {row['workers'] or '-'} | {row['images_per_s']:,.0f} "
                         f"| {row['images_per_s'] / resident:.3f} | {busy} |")
        lines += ["", f"Aims: {AIMS['resident']} of the resident batch, GPU busy {AIMS['utilization']:.0%} of the time. The decoding of a batch "
                  "takes CPU time: with few cores the loader cannot keep up, and the table shows with how many it does."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(), help="directory of acceptance.md and acceptance.json (.)")
    parser.add_argument("--minutes", type=float, default=8, help="time limit (8)")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--tests", type=pathlib.Path, help="test_gpu (FOLDER/test_gpu)")
    parser.add_argument("--fake", action="store_true", help="the driver is bale's fake one (LD_LIBRARY_PATH): no PyTorch, no speeds")
    args = parser.parse_args()
    begin = time.monotonic()
    left = lambda: args.minutes * 60 - (time.monotonic() - begin)  # noqa: E731

    spec = args.folder / "packed"
    test_gpu = args.tests or args.folder / "test_gpu"
    report = {"environment": environment(), "sanitizer": None, "training": []}
    report["driver_tests"] = driver.driver_tests(test_gpu, DRIVER_TESTS_S)
    report["sanitized_driver_tests"] = driver.sanitized(test_gpu, SANITIZED_TESTS_S)
    report["right"] = checks.run(spec, args.fake)
    try:
        report["decoding"] = checks.decoding(str(spec), args.fake)
    except Exception as error:  # noqa: BLE001 - the page says what is wrong
        report["decoding"] = {"error": f"{type(error).__name__}: {error}".replace("\n", " ")}
    if args.fake:
        report["copies"] = copies(spec, (1,), 0, True)
    else:
        step_ms, resident = training.resident_step(args.batch)
        report["copies"] = copies(spec, WORKERS, step_ms, False)
        report["training"] = [resident, *training.loaders(spec, args.folder / "images", args.batch, WORKERS, left)]
        if left() > 60:
            report["sanitizer"] = sanitized(spec, left() - 30)
    report["seconds"] = round(time.monotonic() - begin, 1)

    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "acceptance.json").write_text(json.dumps(report, indent=1) + "\n")
    text = page(report)
    (args.out / "acceptance.md").write_text(text)
    print(text)
    is_right = all(result == "ok" or result.startswith("not run") for result in report["right"].values())
    is_right = is_right and all("error" not in row for row in [report["decoding"], *report["copies"]])
    is_right = is_right and (report["sanitizer"] is None or report["sanitizer"].get("exit_code") == 0)
    is_right = is_right and report["driver_tests"]["result"] == "ok"
    is_right = is_right and (report["sanitized_driver_tests"] is None or report["sanitized_driver_tests"]["result"] == "ok")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
