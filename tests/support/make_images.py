#!/usr/bin/env python3
"""Makes a folder of photo-like JPEGs, CLASS/IMAGE.JPEG, the way ImageNet lays them out.

The same arguments give the same pictures. Needs numpy and Pillow (Debian: python3-numpy python3-pil).
Also imported by the tests: make_tree(), make_image().
"""
import argparse
import colorsys
import io
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

# In the order of the color wheel: a class has a hue of its own.
CLASS_NAMES = ["brick", "amber", "moss", "meadow", "forest", "lagoon", "ocean", "dusk", "orchid", "coral"]
TYPICAL_SIZE = (500, 375)


def class_name(index, num_classes):
    """A word for each of the first ten classes; all are numbered once there are more."""
    return CLASS_NAMES[index] if num_classes <= len(CLASS_NAMES) else f"class_{index:04d}"


def _color(rng, hue, spread=0.08):
    rgb = colorsys.hsv_to_rgb((hue + rng.normal(0, spread)) % 1.0, rng.uniform(0.25, 0.85), rng.uniform(0.3, 1.0))
    return np.array(rgb) * 255


def _gradient(rng, hue, width, height):
    """Four corner colors, blended: sky and ground."""
    x = np.linspace(0, 1, width)[None, :, None]
    y = np.linspace(0, 1, height)[:, None, None]
    a, b, c, d = (_color(rng, hue) for _ in range(4))
    return (a * (1 - x) + b * x) * (1 - y) + (c * (1 - x) + d * x) * y


def _noise(rng, width, height, detail):
    """Noise at every scale from a few blobs to single pixels, weaker as it gets finer, as photographs have it."""
    total = np.zeros((height, width))
    cells = 3
    while cells < max(width, height):
        grid = rng.normal(0, 1, (max(2, cells * height // width), cells)).astype(np.float32)
        layer = Image.fromarray(grid, "F").resize((width, height), Image.BICUBIC)
        total += np.asarray(layer) * 34 * (2.5 / cells) ** (1.05 - detail)
        cells *= 2
    return total + rng.normal(0, 1 + 5 * detail, (height, width))


def _with_shapes(rng, image, hue):
    """A few soft-edged things in front of the background."""
    width, height = image.size
    for _ in range(rng.integers(2, 7)):
        mask = Image.new("L", image.size, 0)
        cx, cy = rng.uniform(0, width), rng.uniform(0, height)
        size = rng.uniform(0.08, 0.35) * min(width, height)
        draw = ImageDraw.Draw(mask)
        if rng.random() < 0.5:
            flat = rng.uniform(0.4, 1.6)
            draw.ellipse([cx - size, cy - size * flat, cx + size, cy + size * flat], fill=255)
        else:
            angles = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(3, 8)))
            draw.polygon([(cx + size * np.cos(a), cy + size * np.sin(a)) for a in angles], fill=255)
        mask = mask.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 3)))
        color = Image.new("RGB", image.size, tuple(int(c) for c in _color(rng, hue + 0.5, 0.2)))
        image = Image.composite(Image.blend(image, color, rng.uniform(0.5, 0.9)), image, mask)
    return image


def make_image(seed, hue=0.3, size=TYPICAL_SIZE):
    """One RGB picture, a pure function of its arguments. `seed` is an int or a sequence of ints."""
    rng = np.random.default_rng(seed)
    width, height = size
    pixels = _gradient(rng, hue, width, height)
    pixels += _noise(rng, width, height, rng.uniform(0.1, 0.75))[:, :, None] * rng.uniform(0.8, 1.2, 3)
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8), "RGB")
    return _with_shapes(rng, image, hue)


def encode(image, image_format="JPEG", quality=92):
    out = io.BytesIO()
    image.save(out, image_format, **({"quality": quality} if image_format == "JPEG" else {}))
    return out.getvalue()


def _varied_size(rng, typical):
    """Mostly about `typical`, now and then upright or smaller, as in ImageNet."""
    width, height = typical
    scale = rng.choice([1.0, 1.0, 1.0, 0.66, 0.8])
    width, height = int(width * scale * rng.uniform(0.94, 1.06)), int(height * scale * rng.uniform(0.94, 1.06))
    return (height, width) if rng.random() < 0.25 else (width, height)


def _make_file(job):
    path, seed, hue, typical, kind = job
    rng = np.random.default_rng([*seed, 1])
    image = make_image([*seed, 0], hue, _varied_size(rng, typical))
    if kind == "png":
        data = encode(image, "PNG")
    else:
        data = encode(image.convert(kind), quality=int(rng.integers(88, 97)))
    with open(path, "wb") as file:
        file.write(data)
    return len(data)


def _kinds(total, odd):
    """ImageNet is not all RGB JPEGs: about one in 50 is gray, a few are CMYK, one is a PNG named .JPEG."""
    kinds = ["RGB"] * total
    if odd:
        kinds[3::50] = ["L"] * len(kinds[3::50])
        kinds[7::200] = ["CMYK"] * len(kinds[7::200])
        if total > 11:
            kinds[11] = "png"
    return kinds


def make_tree(root, classes=10, per_class=50, seed=0, size=TYPICAL_SIZE, odd=False, progress=None):
    """Writes root/CLASS/CLASS_N.JPEG; returns the number of bytes. `progress(done, total)` is called along the way."""
    kinds = _kinds(classes * per_class, odd)
    jobs = []
    for c in range(classes):
        name = class_name(c, classes)
        os.makedirs(os.path.join(root, name), exist_ok=True)
        for i in range(per_class):
            path = os.path.join(root, name, f"{name}_{i:04d}.JPEG")
            jobs.append((path, (seed, c, i), c / classes, size, kinds[c * per_class + i]))
    num_bytes = 0
    with ProcessPoolExecutor() as pool:
        for done, written in enumerate(pool.map(_make_file, jobs, chunksize=8), 1):
            num_bytes += written
            if progress:
                progress(done, len(jobs))
    return num_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--per-class", type=int, default=50)
    parser.add_argument("--size", default="500x375", help="typical WIDTHxHEIGHT (500x375)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--odd", action="store_true", help="some gray, some CMYK, one PNG named .JPEG")
    args = parser.parse_args()
    width, height = (int(n) for n in args.size.split("x"))

    def show(done, total):
        if sys.stdout.isatty():
            print(f"\r  {done}/{total}", end="", flush=True)

    num_bytes = make_tree(args.folder, args.classes, args.per_class, args.seed, (width, height), args.odd, show)
    total = args.classes * args.per_class
    start = "\r" if sys.stdout.isatty() else ""
    print(f"{start}made {total} images, {num_bytes / total / 1000:.0f} KB each on average, in {args.folder}")


if __name__ == "__main__":
    main()
