#!/usr/bin/env python3
"""What bale's promises cost: CPU time per image with one of them given up, compared with all of them kept.

    PYTHONPATH=build/python python3 scripts/bench/bench_promises.py FOLDER [--times N] [--rounds N] [--workers N]

FOLDER has one folder of images per class. It is packed as tar, `--times` copies of each image, and loaded with crop and flip,
and as stored bytes, where the promises are a larger part. Each loader is a process of its own. The loaders take turns, and a
ratio is to the one with all promises in the same round. CPU time is that of all processes in the second epoch, with a warm page
cache.

- no checksums: `bale.Reading(verify_checksums=False)`; the end of each JPEG is looked for instead.
- threads: `threads=True`; a crash of a decoder then ends the program.
- bad samples skipped: `on_bad_sample="skip"`, which keeps a list of them, instead of an error at the first.
- dataset's order: `shuffle=False`, without the permutation that (seed, epoch) determines.

That draws depend on (seed, epoch, sample) only cannot be given up, so it is not in the table.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from bench_common import BALE, replicated

VARIANTS = {
    "all promises": {},
    "no checksums": {"reading": {"verify_checksums": False}},
    "threads": {"threads": True},
    "bad samples skipped": {"on_bad_sample": "skip"},
    "dataset's order": {"shuffle": False},
}
TRANSFORMS = {"crop and flip": "train", "stored bytes": "raw"}


def cpu_seconds(pids):
    """Of this process and the workers."""
    tasks = [task for pid in ["self", *pids] for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def load(spec, transform, workers, options):
    """Prints the CPU seconds per 1,000 images of the second epoch."""
    import bale

    made = bale.transforms.train(224) if transform == "train" else bale.transforms.raw()
    with bale.Loader(spec, transform=made, workers=workers, seed=1, **{**options, "reading": bale.Reading(**options.get("reading", {}))}) as loader:
        sum(len(batch) for batch in loader)
        begin = cpu_seconds(loader.worker_pids)
        images = sum(len(batch) for batch in loader)
        print((cpu_seconds(loader.worker_pids) - begin) / images * 1000)


def measure(spec, transform, workers, options):
    command = [sys.executable, __file__, "--load", json.dumps([str(spec), transform, workers, options])]
    return float(subprocess.check_output(command, text=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--load", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load:
        return load(*json.loads(arguments.load))
    with tempfile.TemporaryDirectory(prefix="bale-promises-") as work:
        source = replicated(arguments.folder, arguments.times, pathlib.Path(work))
        packed = pathlib.Path(work) / "packed"
        subprocess.run([BALE, "pack", source, packed, "--quiet"], check=True)
        for title, transform in TRANSFORMS.items():
            rounds = [{name: measure(packed, transform, arguments.workers, options) for name, options in VARIANTS.items()}
                      for _ in range(arguments.rounds)]
            print(f"\n{title}, CPU seconds per 1,000 images, medians of {arguments.rounds} rounds\n")
            print("| | CPU s / 1,000 | x all promises (min .. max) |\n|---|---|---|")
            for name in VARIANTS:
                ratios = [one[name] / one["all promises"] for one in rounds]
                print(f"| {name} | {statistics.median(one[name] for one in rounds):.3f} | "
                      f"{statistics.median(ratios):.2f} ({min(ratios):.2f} .. {max(ratios):.2f}) |", flush=True)


if __name__ == "__main__":
    main()
