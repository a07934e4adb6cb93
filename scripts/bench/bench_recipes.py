#!/usr/bin/env python3
"""Times training recipes: bale next to DataLoader with torchvision's v2 transforms, same recipe, same tar, side by side.

Each recipe makes the same float32 batches (N x C x H x W) three times: by bale's workers, which are given torchvision's
own objects; by a DataLoader that decodes by Pillow and transforms PIL images; by a DataLoader that decodes by torchvision
and transforms tensors. All have the same number of workers and the same batch, and read the same tar: see
bench_recipes_loaders.py. One process per recipe keeps the three alive with their workers and lets them take turns; one
turn is an epoch or more, from its beginning to its last batch. The first turns of each are not counted. A ratio is the median over
the rounds of the ratio within a round.

DALI on the CPU takes part, if PYTHON has it, in the recipes that its library has: bench_recipes_dali.py. FFCV has none of these
policies. "image + caption" has a caption next to each image, made of its name, and other loaders, webdataset among them:
bench_recipes_fields.py. "image + mask" has a mask of 21 classes next to each image, of blocks that are drawn by chance, and
torchvision's reference for segmentation: bench_recipes_masks.py.

    python3 scripts/bench/bench_recipes.py IMAGES --python PYTHON

PYTHON has torch and torchvision, and the version of Python that build/python was built for. The Python that runs this script needs
Pillow for "image + mask".
"""
import argparse
import importlib.util
import io
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys

import bench_common
from bench_train import say

LOADERS = pathlib.Path(__file__).with_name("bench_recipes_loaders.py")
FIELD_LOADERS = LOADERS.with_name("bench_recipes_fields.py")
MASK_LOADERS = LOADERS.with_name("bench_recipes_masks.py")
SHARDS = 4
TIMEOUT_S = 300


def tar_of(images, work):
    """The directory with the tar shards of the images, made at the first call."""
    pack = work / "tar"
    if not (work / "tar.done").exists():
        shutil.rmtree(pack, ignore_errors=True)
        subprocess.run([bench_common.BALE, "pack", images, pack, "--format", "tar", "--shard-count", str(SHARDS), "--quiet"],
                       check=True)
        (work / "tar.done").touch()
    return pack


def paired_tar_of(images, work, name, extension, content):
    """The same with a file next to each image, which is named .jpg: content(image, its class's number) is what it has."""
    paired = work / name
    if not (work / f"{name}.done").exists():
        shutil.rmtree(paired, ignore_errors=True)
        for path, label in bench_common.listing(images):
            image = paired / pathlib.Path(path).relative_to(images).with_suffix(".jpg")
            image.parent.mkdir(parents=True, exist_ok=True)
            image.hardlink_to(path)
            image.with_suffix(f".{extension}").write_bytes(content(image, label))
        shutil.rmtree(work / f"{name}.tar", ignore_errors=True)
        subprocess.run([bench_common.BALE, "pack", paired, work / f"{name}.tar", "--format", "tar", "--pair", f"jpg,{extension}",
                        "--shard-count", str(SHARDS), "--quiet"], check=True)
        (work / f"{name}.done").touch()
    return work / f"{name}.tar"


def captioned_tar_of(images, work):
    return paired_tar_of(images, work, "captioned", "txt", lambda image, label: (
        f"a photo, number {image.stem}, of class {label}, which is {image.parent.name}\n".encode()))


def mask_of(path, _label):
    """A PNG with a palette, as those of Pascal VOC: 8 x 6 blocks of 21 classes."""
    from PIL import Image
    with Image.open(path) as image:
        width, height = image.size
    chance = random.Random(path.stem)
    blocks = Image.new("P", (8, 6))
    blocks.putdata([chance.randrange(21) for _ in range(48)])
    blocks.putpalette([value for i in range(256) for value in (i, 255 - i, i * 7 % 256)])
    file = io.BytesIO()
    blocks.resize((width, height), Image.NEAREST).save(file, "PNG")
    return file.getvalue()


def masked_tar_of(images, work):
    return paired_tar_of(images, work, "masked", "mask.png", mask_of)


def measure(args, loaders, recipe, pack):
    """{contender: images per second of each round} of one recipe."""
    command = [args.python, loaders, recipe, pack, "--workers", args.workers, "--batch", args.batch, "--rounds", args.rounds,
               "--seconds", args.seconds]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
                               "PYTHONPATH": os.pathsep.join(filter(None, [str(bench_common.REPO / "build" / "python"),
                                                                           os.environ.get("PYTHONPATH")]))})
    if done.returncode != 0:
        sys.exit(f"{recipe}: {done.stderr}")
    return json.loads(done.stdout)


def ratio(ours, theirs):
    ratios = [own / other for own, other in zip(ours, theirs)]
    return {"median": round(statistics.median(ratios), 2), "min": round(min(ratios), 2), "max": round(max(ratios), 2)}


def row_of(recipe, rounds):
    """`rounds`: {contender: images per second of each round}, bale first."""
    ours, *peers = rounds
    fastest = [max(rates) for rates in zip(*(rounds[name] for name in peers))]
    return {"recipe": recipe, "images_per_s": {name: statistics.median(rates) for name, rates in rounds.items()},
            "ratios": {**{name: ratio(rounds[ours], rounds[name]) for name in peers}, "fastest": ratio(rounds[ours], fastest)},
            "rounds": rounds}


def print_table(result):
    names = list(dict.fromkeys(name for row in result["rows"] for name in row["images_per_s"]))
    print(f"\nimages per second, {result['workers']} workers, batches of {result['batch']}, {result['cores']} cores, "
          f"medians of {result['rounds']} rounds; x as fast as (min .. max)\n")
    print("| recipe | " + " | ".join(names) + " | " + " | ".join(f"x {name}" for name in names[1:]) + " |")
    print("|---" * (2 * len(names)) + "|")
    for row in result["rows"]:
        rates = [f"{row['images_per_s'][name]:,.0f}" if name in row["images_per_s"] else "-" for name in names]
        ratios = ["{median:.2f} ({min:.2f} .. {max:.2f})".format(**row["ratios"][name]) if name in row["ratios"] else "-"
                  for name in names[1:]]
        print(f"| {row['recipe']} | " + " | ".join([*rates, *ratios]) + " |")


def argument_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="images in folders by class")
    parser.add_argument("--times", type=int, default=2, help="copies of each image (2)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of one turn, about (4)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--recipes", help="comma-separated (all)")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--python", default=sys.executable, help="Python with torch and torchvision")
    parser.add_argument("--quick", action="store_true", help="one round of short turns, to see that it runs")
    parser.add_argument("--json", action="store_true")
    return parser


def main():
    parser = argument_parser()
    args = parser.parse_args()
    args.work = args.work.resolve() / f"recipes-{args.times}"
    if args.quick:
        args.rounds, args.seconds = 1, 0.5
    loaders = {recipe: script for script in (LOADERS, FIELD_LOADERS, MASK_LOADERS)
               for recipe in json.loads(subprocess.check_output([args.python, script, "--list"]))}
    recipes = list(loaders)
    if args.recipes:
        unknown = set(args.recipes.split(",")) - set(recipes)
        if unknown:
            parser.error(f"no such recipe: {', '.join(sorted(unknown))}; there are {', '.join(recipes)}")
        recipes = args.recipes.split(",")
    if any(loaders[recipe] == MASK_LOADERS for recipe in recipes) and importlib.util.find_spec("PIL") is None:
        parser.error(f'"image + mask" makes its masks with Pillow, which {sys.executable} does not have')
    images = bench_common.replicated(args.folder, args.times, args.work)

    rows = []
    for recipe in recipes:
        say(recipe)
        make_tar = {FIELD_LOADERS: captioned_tar_of, MASK_LOADERS: masked_tar_of}.get(loaders[recipe], tar_of)
        pack = make_tar(images, args.work)
        rows.append(row_of(recipe, measure(args, loaders[recipe], recipe, pack)))
    say("")
    result = {"workers": args.workers, "batch": args.batch, "rounds": args.rounds, "cores": os.cpu_count(), "rows": rows}
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
