#!/usr/bin/env python3
"""The speed of bale in the regimes that people train in, next to the fastest peer of each: one table from one run.

    python3 scripts/bench/bench_regimes.py FOLDER --python PEERS/bin/python

FOLDER has images in folders by class. PEERS is a virtual environment with torch, torchvision, Pillow, lmdb and nvidia-dali, of the
version of Python that build/python was built for. Peers that are not installed are left out and named. Each measurement is a fresh
process (bench_regimes_runs.py); the contenders of a regime take turns, and a ratio is the median over the rounds of the ratio to
the fastest peer of the same round. Everything is in the page cache, but in the regime "cold".

crop and flip   RandomResizedCrop(224) and flip, of the images as they are, with seek points and as planes
evaluation      Resize(256) and CenterCrop(224)
color           crop and flip, ColorJitter(0.4, 0.4, 0.4, 0.1), RandomGrayscale(0.2)
progressive     crop and flip of the same images as progressive JPEGs (jpegtran, of Debian's libjpeg-turbo-progs), also as planes
small           RandomResizedCrop(32) and flip of images of 32 x 32 pixels (made with Pillow, which PEERS has)
single          stored bytes of one sample at a time in random order, checksums compared, one thread of Python; read_many() by two
layouts         crop and flip from tar.zst and from decoded pixels: npy and hdf5.array, which have the same images of 256 x 256
lossless        `bale pack --jpeg-lossless` next to `jpegtran -optimize`, processor time of one core; the start of jpegtran's
                processes, measured on an image of 1 x 1 pixels, and that of an ordinary `bale pack` are subtracted
packing         `bale pack` next to `cp -r`, sync included (scripts/bench/bench_pack.py)
cold            `bale read` in random order next to fio's random reads (scripts/bench/bench_cold.py); needs root and fio
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys

import bench_cold
import bench_common
import bench_formats
import bench_pack
from bench_train import run, say

RUNS = pathlib.Path(__file__).with_name("bench_regimes_runs.py")
TRAIN_PEERS = ["torchvision, tensors", "torchvision, Pillow", "DALI"]
RECIPES = {"crop and flip": "crop and flip", "evaluation": "evaluation", "color": "color", "progressive": "crop and flip",
           "small": "small"}
SHARDS = 12
PIXELS = 256


class Bench:
    """Images, packs, and a measurement per contender and round."""

    def __init__(self, args):
        self.args = args
        self.work = args.work.resolve()
        self.images = bench_common.replicated(args.folder, args.times, self.work)
        os.environ["PYTHONPATH"] = str(bench_common.REPO / "build" / "python")
        missing = json.loads(subprocess.check_output([args.python, RUNS, "--list"]))
        self.peers = [name for name in missing if not missing[name]]
        for name, modules in missing.items():
            if modules:
                print(f"left out: {name} ({', '.join(modules)} not installed in {args.python})", file=sys.stderr)

    def made(self, name, make):
        """The directory `name` in the work directory, which make(directory) fills at the first call."""
        directory = self.work / f"regimes-{self.args.times}" / name
        if not (directory / "done").exists():
            say(f"making {name}")
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
            make(directory)
            (directory / "done").touch()
        return directory / "it"

    def pack(self, name, images, *options):
        words = [bench_common.BALE, "pack", images]
        return self.made(name, lambda out: subprocess.run(
            [str(word) for word in (*words, out / "it", "--quiet", *options)], check=True))

    def each_image(self, name, change):
        """The images, each made by change(path, target)."""
        def make(directory):
            for path, _ in bench_common.listing(self.images):
                target = directory / "it" / pathlib.Path(path).relative_to(self.images)
                target.parent.mkdir(parents=True, exist_ok=True)
                change(path, target)
        return self.made(name, make)

    def progressive(self):
        return self.each_image("progressive images", lambda path, target: subprocess.run(
            ["jpegtran", "-progressive", "-copy", "all", "-outfile", target, path], check=True))

    def small(self):
        script = ("import sys, pathlib; from PIL import Image\n"
                  "for path in sys.stdin.read().splitlines():\n"
                  "    target = pathlib.Path(sys.argv[2], pathlib.Path(path).relative_to(sys.argv[1]))\n"
                  "    target.parent.mkdir(parents=True, exist_ok=True)\n"
                  "    Image.open(path).convert('RGB').resize((32, 32)).save(target, quality=90)\n")
        return self.made("small images", lambda directory: subprocess.run(
            [self.args.python, "-c", script, self.images, directory / "it"], check=True, text=True,
            input="\n".join(path for path, _ in bench_common.listing(self.images))))

    # --- regimes: each returns {contender: function that measures it once}, those of bale first

    def train(self, regime):
        folder = {"progressive": self.progressive, "small": self.small}.get(regime, lambda: self.images)()
        packs = {"bale": self.pack(f"tar of {folder.parent.name}", folder, "--shard-count", SHARDS)}
        if regime in ("crop and flip", "evaluation"):
            packs["bale, seek points"] = self.pack("tar with seek points", folder, "--shard-count", SHARDS, "--seek-points")
        if regime in ("crop and flip", "evaluation", "progressive"):
            packs["bale, planes"] = self.pack(f"planes of {folder.parent.name}", folder, "--shard-count", SHARDS, "--jpeg-code", "planes")

        def measure(name, pack):
            return lambda: run([self.args.python, RUNS, "train", RECIPES[regime], name, self.args.workers, folder, pack])
        return ({ours: measure("bale", pack) for ours, pack in packs.items()}
                | {peer: measure(peer, "-") for peer in TRAIN_PEERS if peer in self.peers})

    def single(self, _):
        packs = {name: self.pack(f"{name} of one shard", self.images, "--format", name, "--shard-count", 1)
                 for name in ("lmdb", "tar", "hdf5")}

        def measure(name, pack):
            return lambda: run([self.args.python, RUNS, "single", name, packs[pack], self.args.seconds])
        return ({f"bale {pack}": measure("bale", pack) for pack in packs}
                | {f"bale {pack}, read_many": measure("bale, read_many", pack) for pack in packs}
                | {peer: measure(peer, "lmdb") for peer in ("py-lmdb", "py-lmdb, lists") if peer in self.peers})

    def layouts(self, _):
        pixels = ["--size", PIXELS]
        options = {"tar": [], "tar.zst": [], "hdf5.array": pixels, "npy": pixels}
        packs = {name: self.pack(name, self.images, "--format", name, "--shard-count", 4, "--shuffle", 1, *more)
                 for name, more in options.items()}

        def measure(name):
            return lambda: {"images_per_s": run([bench_common.BALE, "bench", packs[name], "--stages", "train", "--workers",
                                                 self.args.workers, "--json"])["images_per_s"]}
        return {name: measure(name) for name in packs}

    def lossless(self, _):
        folders = {"original": self.images, "progressive": self.progressive()}
        few = {name: self.some_of(folder) for name, folder in folders.items()}

        def ours(files, out):
            return (self.processor_time([bench_common.BALE, "pack", files, out, "--quiet", "--jobs", "1", "--jpeg-lossless"], out)
                    - self.processor_time([bench_common.BALE, "pack", files, out, "--quiet", "--jobs", "1"], out))

        def theirs(files, out):
            names = [path for path, _ in bench_common.listing(files)]
            each = 'for file; do jpegtran -optimize -copy all -outfile "$0" "$file"; done'
            tiny = self.made("tiny", lambda directory: subprocess.run(["cjpeg", "-outfile", directory / "it"], check=True,
                                                                      input=b"P5 1 1 255\n\0"))
            return (self.processor_time(["sh", "-c", each, out, *names], out)
                    - self.processor_time(["sh", "-c", each, out, *[tiny] * len(names)], out))

        def measure(contender, files):
            count = len(bench_common.listing(files))
            return lambda: {"images_per_s": count / contender(files, self.work / "lossless")}
        return {f"{name}, {kind}": measure(contender, files) for name, contender in (("bale", ours), ("jpegtran", theirs))
                for kind, files in few.items()}

    def some_of(self, folder, count=500):
        def make(directory):
            for path, _ in bench_common.listing(folder)[:count * self.args.times:self.args.times]:
                target = directory / "it" / pathlib.Path(path).relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.hardlink_to(path)
        return self.made(f"some of {folder.parent.name}", make)

    @staticmethod
    def processor_time(words, out):
        shutil.rmtree(out, ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(word) for word in words], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        shutil.rmtree(out, ignore_errors=True)
        out.unlink(missing_ok=True)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def packing(self, _):
        count = len(bench_common.listing(self.images))

        def measure(name):
            def once():
                bench_pack.warm_up(self.images)
                seconds, _ = bench_pack.time_one(name, self.images, self.work / "out", False)
                return {"images_per_s": count / seconds}
            return once
        return {name: measure(name) for name in ("bale tar", "bale lmdb", "bale hdf5", "py-lmdb", "cp -r")
                if name != "py-lmdb" or "py-lmdb" in self.peers}

    def cold(self, _):
        packed = bench_cold.pack_all(self.images, self.work, ["tar", "lmdb", "hdf5"], self.args.times)

        def measure(name, *extra):
            def once():
                files = bench_cold.shards_of(packed[name])
                bench_cold.make_cold(files)
                return {"images_per_s": bench_cold.rate(bench_cold.bale_read(packed[name], "full", 0, extra), False)}
            return once

        def fio():
            files = bench_cold.shards_of(packed["tar"])
            bench_cold.make_cold(files)
            return {"images_per_s": bench_cold.rate(bench_cold.fio_random(files, sum(map(os.path.getsize, files))), False)}
        return ({f"bale {name}": measure(name) for name in packed}
                | {f"bale {name}, --direct": measure(name, "--direct") for name in packed} | {"fio": fio})


REGIMES = {**{name: Bench.train for name in RECIPES}, "single": Bench.single, "layouts": Bench.layouts, "lossless": Bench.lossless,
           "packing": Bench.packing, "cold": Bench.cold}
# What each contender is compared with: the fastest of these in the same round.
BASES = {**{name: TRAIN_PEERS for name in RECIPES}, "single": ["py-lmdb"], "layouts": ["tar"], "packing": ["cp -r"], "cold": ["fio"]}


def base_of(regime, name, one_round):
    """The figure that `name` is compared with, or None."""
    if regime == "lossless":
        return one_round.get(name.replace("bale", "jpegtran")) if name.startswith("bale") else None
    if name in BASES[regime]:
        return None
    others = [one_round[peer]["images_per_s"] for peer in BASES[regime] if one_round.get(peer)]
    return {"images_per_s": max(others)} if others else None


def measure(bench, regime):
    """One row per contender: the figures of each round, and the ratios."""
    contenders = REGIMES[regime](bench, regime)
    rounds = []
    for number in range(bench.args.rounds):
        names = list(contenders)
        turn = number * len(names) // bench.args.rounds
        one_round = {}
        for name in names[turn:] + names[:turn]:
            say(f"{regime}, round {number + 1}/{bench.args.rounds}: {name}")
            try:
                one_round[name] = contenders[name]()
            except (RuntimeError, subprocess.SubprocessError) as error:
                print(f"{regime}, {name}: {str(error)[:200]}", file=sys.stderr)
                one_round[name] = None
        rounds.append(one_round)
    say("")
    return [row_of(regime, name, rounds) for name in contenders]


def row_of(regime, name, rounds):
    figures = [one[name] for one in rounds if one[name]]
    ratios = [one[name]["images_per_s"] / base["images_per_s"] for one in rounds
              if one[name] and (base := base_of(regime, name, one))]
    more = {key: statistics.median(figure[key] for figure in figures) for key in ("cpu_s_per_1000", "first_batch_s", "pss_mb")
            if figures and key in figures[0]}
    return {"regime": regime, "name": name, "rounds": figures, "ratios": ratios, **more,
            "images_per_s": statistics.median(figure["images_per_s"] for figure in figures) if figures else None}


def text_of(row):
    def figure(key, digits):
        return f"{row[key]:,.{digits}f}" if row.get(key) is not None else ""
    cells = [row["regime"], row["name"], figure("images_per_s", 0) or "failed", bench_formats.cell(row["ratios"]),
             figure("cpu_s_per_1000", 2), figure("first_batch_s", 2), figure("pss_mb", 0)]
    return "| " + " | ".join(cells) + " |"


def argument_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=4, help="copies of each image (4)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4, help="of a measurement of single samples (4)")
    parser.add_argument("--only", help=f"regimes, comma-separated, of {', '.join(REGIMES)}")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--python", default=sys.executable, help="Python of the environment with the peers")
    parser.add_argument("--json", action="store_true")
    return parser


def main():
    parser = argument_parser()
    args = parser.parse_args()
    regimes = [name.strip() for name in args.only.split(",")] if args.only else list(REGIMES)
    if unknown := set(regimes) - set(REGIMES):
        parser.error(f"no such regime: {', '.join(sorted(unknown))}; there are {', '.join(REGIMES)}")
    if "cold" in regimes and (os.geteuid() != 0 or not shutil.which("fio")):
        print("left out: cold (needs root and fio)", file=sys.stderr)
        regimes.remove("cold")
    bench = Bench(args)
    rows = [row for regime in regimes for row in measure(bench, regime)]
    if args.json:
        print(json.dumps({"images": len(bench_common.listing(bench.images)), "workers": args.workers, "cores": os.cpu_count(),
                          "rows": rows}, indent=2))
        return 0
    print(f"\n{len(bench_common.listing(bench.images))} images, {args.workers} workers, {os.cpu_count()} cores, medians of "
          f"{args.rounds} rounds; MB/s in the regime \"cold\"\n")
    print("| regime | | img/s | x the fastest peer (min .. max) | CPU s / 1,000 | first batch, s | memory, MB |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(text_of(row))
    return 1 if any(row["images_per_s"] is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
