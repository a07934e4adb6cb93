"""Images with annotations, and what a pack of them holds."""
import json

import numpy as np
from conftest import fields_by_key
from PIL import Image

from bale import _bale

SIZES = [(40, 30), (31, 47), (64, 64), (20, 50), (33, 21)]


def make_images(folder, names, **options):
    folder.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        width, height = SIZES[i % len(SIZES)]
        pixels = np.random.default_rng(i).integers(0, 256, (height, width, 3), dtype=np.uint8)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / name, **options)
    return folder


def rows(bale, path, kind="boxes", field="boxes.json"):
    """{key: (coordinates, labels, parsed field)}: the field as the loader reads it for an image that keeps its size."""
    found = {}
    for key, fields in fields_by_key(bale, path).items():
        targets = np.frombuffer(_bale.apply_steps_to_target("[]", kind, fields[field], 100, 100),
                                [("at", "<f4", (4 if kind == "boxes" else 2,)), ("label", "<i8")])
        found[key] = (targets["at"], targets["label"], json.loads(fields[field]))
    return found


def keys(bale, path):
    return [json.loads(line)["key"] for line in bale.ok("ls", path, "--json").out.splitlines()]
