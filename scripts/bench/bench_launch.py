#!/usr/bin/env python3
"""Compares packing in parts (bale.launch) with one `bale pack`: CPU time of all processes, engines and their daemons included.

Each run packs FOLDER (CLASS/IMAGE) in a process tree of its own; rounds are interleaved, and what is printed is the median over the
rounds of the ratio to `bale pack` in the same round. The start is what the same takes for a folder of two images: the engine's own.
PySpark is left out if it is not installed: run it with the environment of scripts/checks/check_engines.sh, .venv-engines/bin/python. Ray is
not there, because the CPU time of its workers is lost: its daemon does not wait for them.
"""
import argparse
import ctypes
import importlib.util
import os
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import sys

from bench_common import BALE, REPO, listing, replicated

_PR_SET_CHILD_SUBREAPER = 36
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPO / "build" / "python"), "SPARK_LOCAL_IP": "127.0.0.1"}
LAUNCHERS = {
    "local": [],
    "spark": ["--master", f"local-cluster[{os.cpu_count()},1,1024]"],
}


def pack(folder, out, options):
    run([BALE, "pack", folder, out / "packed", "--quiet", *options])


def launch(engine):
    def run_parts(folder, out, options):
        run([BALE, "plan", folder, out / "packed", "-o", out / "plan", "--quiet", *options])
        run([sys.executable, "-m", "bale.launch", engine, out / "plan", "--quiet", *LAUNCHERS[engine]])
    return run_parts


def run(words):
    subprocess.run(words, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(contender, folder, out, options):
    """CPU seconds of everything that a contender starts, orphans included."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
            contender(folder, out, options)
            reap_all()
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            os.write(theirs, str(used.ru_utime + used.ru_stime).encode())
        except subprocess.CalledProcessError as error:
            print(error, file=sys.stderr)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as report:
        seconds = report.read()
    os.waitpid(child, 0)
    if not seconds:
        sys.exit(1)
    return float(seconds)


def reap_all():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=1, help="copies of each image")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launchers", default=",".join(LAUNCHERS), help="which, separated by commas")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"))
    parser.add_argument("--pack", default="--shard-size 64MiB", help="options of bale pack (--shard-size 64MiB)")
    options = parser.parse_args()
    work = options.work.resolve()
    folder = replicated(options.folder.resolve(), options.times, work)
    two = work / "two"
    for path, _ in listing(folder)[:1] + listing(folder)[-1:]:
        (two / pathlib.Path(path).parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, two / pathlib.Path(path).parent.name)

    packages = {"local": "sys", "spark": "pyspark"}
    names = [name for name in options.launchers.split(",") if importlib.util.find_spec(packages[name])]
    contenders = {"bale pack": pack} | {name: launch(name) for name in names}
    found = {name: [] for name in contenders}
    start = {name: measure(contender, two, work / "out", []) for name, contender in contenders.items()}
    for _ in range(options.rounds):
        for name, contender in contenders.items():
            found[name].append(measure(contender, folder, work / "out", shlex.split(options.pack)))
    shards = len([name for name in os.listdir(work / "out" / "packed") if name.endswith(".bidx")])
    print(f"{len(listing(folder))} images, {shards} shards, {options.rounds} rounds")
    print("| | CPU s | of it the start | x `bale pack` | min .. max | x `bale pack`, without the start |\n|---|---|---|---|---|---|")
    for name, runs in found.items():
        ratios = [cpu / base for cpu, base in zip(runs, found["bale pack"], strict=True)]
        rest = [(cpu - start[name]) / base for cpu, base in zip(runs, found["bale pack"], strict=True)]
        print(f"| {name} | {statistics.median(runs):.2f} | {start[name]:.2f} | {statistics.median(ratios):.3f} | "
              f"{min(ratios):.3f} .. {max(ratios):.3f} | {statistics.median(rest):.3f} |")
    shutil.rmtree(work / "out")


if __name__ == "__main__":
    main()
