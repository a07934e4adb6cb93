#!/usr/bin/env python3
"""Measures the Python package next to what people use today: warm cache, side by side, each run a fresh process.

loaders  bale.torch.Loader on packs of every format, next to torch's DataLoader over ImageFolder, py-lmdb and h5py, each
         with Pillow's and with torchvision's decoder: batches of 256, decode, RandomResizedCrop(224), flip, uint8
layer    what Python costs: `bale bench` (C++ alone) next to bale.Loader (numpy) and bale.torch.Loader that do the same
map      bale.torch.Dataset in torch's DataLoader next to a py-lmdb dataset, with fork and with spawn: `stored` gives the
         bytes, `decoded` Pillow's images through torchvision's transforms; and memory after each epoch

A ratio is the median over the rounds of the ratio within a round. Memory is the PSS of all processes, anonymous and
shared. The others read bale's packs and run, as bale.torch does, in the environment of --python; bale is the one in
build/python.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import bench_common
import bench_train

RUNS = pathlib.Path(__file__).with_name("bench_python_runs.py")
PACKAGE = bench_common.REPO / "build" / "python"
FORMATS = bench_train.BALE_FORMATS
PEERS = ["imagefolder", "torchvision", "py-lmdb", "py-lmdb-torchvision", "h5py", "h5py-torchvision"]


def row(name, workers, **more):
    return {"name": name, "workers": workers, "rounds": [], "error": "", **more}


def middle(row, key="images_per_s"):
    """None where the row has no round."""
    values = [one[key] for one in row["rounds"] if one is not None]
    return statistics.median(values) if values else None


def cell(ratio):
    return f"{ratio['median']:.3g} ({ratio['min']:.3g} .. {ratio['max']:.3g})" if ratio else "-"


def table(head, lines):
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")


class Bench:
    def __init__(self, args, images):
        self.args, self.images = args, images
        self.packs = bench_train.Bench(args, images)
        for name in FORMATS:
            self.packs.pack_bale(name)

    def run(self, *arguments):
        return bench_train.run([self.args.python, RUNS, *arguments])

    def rounds(self, rows, measure):
        bench_train.measure_rounds(rows, self.args.rounds, measure)
        return rows

    # --- loaders

    def loaders(self):
        listed = json.loads(subprocess.check_output([self.args.python, bench_train.PEERS, "--list"]))
        peers = [name for name in PEERS if not listed[name]["missing"]]
        for name in set(PEERS) - set(peers):
            print(f"left out: {name} ({', '.join(listed[name]['missing'])} not installed)", file=sys.stderr)
        ours = [f"bale {name}" for name in FORMATS]
        rows = self.rounds([row(name, self.args.workers) for name in [*ours, *peers]], lambda row: self.run(
            "loader", row["name"], row["workers"], self.images, self.packs.packs))
        for one in rows:
            one["median"] = bench_train.medians(one)
        compared = {**{name: [name] for name in peers}, "the fastest of them": peers}
        return {"rows": rows, "ratios": {label: {own: bench_train.ratio(rows, own, theirs) for own in ours}
                                         for label, theirs in compared.items()}}

    # --- layer

    def layer(self):
        pack = self.packs.packs / "lmdb"

        def measure(row):
            if row["name"] == "bale bench":
                return self.packs.run_bale("lmdb", row["workers"])
            return self.run("layer", row["name"], pack, row["workers"])

        rows = self.rounds([row(name, self.args.workers) for name in ("bale bench", "numpy", "torch")], measure)
        return {"rows": rows, "ratios": {name: bench_train.ratio(rows, name, ["bale bench"])
                                         for name in ("numpy", "torch")}}

    @staticmethod
    def print_layer(result):
        table(["", "img/s", "CPU s / 1,000", "x `bale bench` (min .. max)"],
              [[one["name"], f"{middle(one):,.0f}", f"{middle(one, 'cpu_s_per_1000'):.3f}",
                cell(result["ratios"].get(one["name"]))] for one in result["rows"] if middle(one)])

    # --- map style

    def map(self):
        sets = [(method, kind) for kind in ("stored", "decoded") for method in ("fork", "spawn")]
        names = ["py-lmdb", *(f"bale {name}" for name in FORMATS)]
        rows = self.rounds(
            [row(name, self.args.map_workers, method=method, kind=kind) for method, kind in sets for name in names],
            lambda row: self.run("map", row["name"], row["method"], row["kind"], row["workers"], self.args.epochs,
                                 self.packs.packs))
        for one in rows:
            same = [other for other in rows if (other["method"], other["kind"]) == (one["method"], one["kind"])]
            one["ratio"] = bench_train.ratio(same, one["name"], ["py-lmdb"])
        return {"rows": rows}

    @staticmethod
    def print_map(result):
        lines = []
        for one in result["rows"]:
            last = next((each for each in reversed(one["rounds"]) if each is not None), None)
            if last is None:
                continue
            memory = last["memory_mb"]
            second = memory[min(1, len(memory) - 1)]
            lines.append([one["name"], one["kind"], one["method"], f"{middle(one):,.0f}", cell(one["ratio"]),
                          f"{second:.0f}", f"{memory[-1]:.0f}"])
        table(["", "", "", "img/s", "x py-lmdb (min .. max)", "memory after 2 epochs, MB", "after the last"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=10, help="copies of each image (10)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2, help="of the loaders (2)")
    parser.add_argument("--map-workers", type=int, default=8, help="of the map-style datasets (8)")
    parser.add_argument("--epochs", type=int, default=10, help="of the map-style datasets (10)")
    parser.add_argument("--parts", default="loaders,layer,map", help="comma-separated (loaders,layer,map)")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--python", default=sys.executable, help="Python of the environment with torch and the peers")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.work = args.work.resolve()
    os.environ["PYTHONPATH"] = str(PACKAGE)

    images = bench_common.replicated(args.folder, args.times, args.work)
    bench = Bench(args, images)
    files = bench_common.listing(images)
    for path, _ in files:
        bench_common.content(path)
    facts = {"images": len(files), "bytes": sum(os.path.getsize(path) for path, _ in files), "cores": os.cpu_count(),
             "rounds": args.rounds}
    result = {part: {**facts, **getattr(bench, part)()} for part in args.parts.split(",")}
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        printers = {"loaders": bench_train.print_tables, "layer": Bench.print_layer, "map": Bench.print_map}
        for part, found in result.items():
            printers[part](found)
    return 1 if any(one["error"] for found in result.values() for one in found["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
