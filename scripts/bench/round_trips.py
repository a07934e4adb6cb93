#!/usr/bin/env python3
"""Converts a folder of images through every pair of layouts that keep bytes, there and back, and compares all fields.

FOLDER/CLASS/IMAGE is packed in each layout A; each pack is converted to each layout B, and that back to A. After each
step every field of every sample must be that of the folder, and the shards of the second A must be those of the first,
byte for byte. One line a pair; exit 1 where any differs.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from bench_common import BALE, layouts


def tree(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


class Tour:
    def __init__(self, bale, folder, work, samples):
        self.bale, self.folder, self.work, self.samples = bale, folder, work, samples

    def run(self, *arguments):
        subprocess.run([self.bale, *map(str, arguments), "--quiet"], check=True)

    def fields(self, spec):
        """{key.field: bytes}; the files are gone again."""
        out = self.work / "fields"
        self.run("extract", spec, out)
        found = tree(out)
        shutil.rmtree(out)
        return found

    def make(self, command, source, name, layout):
        out = self.work / name
        self.run(command, source, out, "--format", layout, "--name", "x", "--shard-samples", self.samples)
        return out

    def expected(self):
        """The folder as ImageFolder numbers it, in the names that extracting gives."""
        found = {}
        for label, name in enumerate(sorted(path.name for path in self.folder.iterdir() if path.is_dir())):
            for path in sorted((self.folder / name).rglob("*")):
                key = path.relative_to(self.folder).with_suffix("")
                suffix = path.suffix[1:].lower()
                found[f"{key}.{'jpg' if suffix == 'jpeg' else suffix}"] = path.read_bytes()
                found[f"{key}.cls"] = str(label).encode()
        return found

    def differing(self):
        """Yields (A, B, what differs, or nothing) for each pair."""
        expected = self.expected()
        names = [name for name, keeps_bytes in layouts(self.bale).items() if keeps_bytes]
        for a in names:
            first = self.make("pack", self.folder, "a", a)
            whole = self.fields(first) == expected
            for b in names:
                there = self.make("convert", first, "b", b)
                back = self.make("convert", there, "again", a)
                wrong = [] if whole else [f"{a} is not the folder"]
                if self.fields(there) != expected:
                    wrong.append(f"{b} made from {a} is not the folder")
                if self.fields(back) != expected:
                    wrong.append(f"{a} made from {b} is not the folder")
                ours, again = tree(first), tree(back)
                del ours["manifest.json"], again["manifest.json"]  # whose plan names the source
                if ours != again:
                    wrong.append(f"{a} made from {b} has other bytes")
                yield a, b, "; ".join(wrong)
                shutil.rmtree(there)
                shutil.rmtree(back)
            shutil.rmtree(first)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bale", default=BALE, help=f"the program ({BALE.name} of build/)")
    parser.add_argument("--shard-samples", type=int, default=200)
    args = parser.parse_args()
    failed = total = 0
    with tempfile.TemporaryDirectory(prefix="bale-round-trips-") as work:
        for a, b, wrong in Tour(args.bale, args.folder, pathlib.Path(work), args.shard_samples).differing():
            print(f"{a} -> {b} -> {a}: {wrong or 'equal'}", flush=True)
            failed += bool(wrong)
            total += 1
    print(f"{total - failed} of {total} pairs equal")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
