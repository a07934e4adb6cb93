"""Strange JPEGs that are packed as planes, verified and extracted: every file comes back to the byte."""
import io
import itertools
import random
import shutil
import subprocess

import numpy as np
from conftest import by_tier, tree_bytes
from PIL import Image

MUTANTS = by_tier(300, 20000)


def encoded(image, **options):
    out = io.BytesIO()
    image.save(out, "jpeg", **options)
    return out.getvalue()


def pillows():
    """Every mode, sampling, kind of scan and restarts that Pillow writes, and small sizes."""
    rng = np.random.default_rng(46)
    noise = Image.fromarray(rng.integers(0, 255, (12, 17, 3), dtype=np.uint8))
    for mode, progressive, optimize in itertools.product(("L", "RGB", "CMYK"), (False, True), (False, True)):
        for subsampling, quality in itertools.product((0, 1, 2) if mode == "RGB" else (-1,), (1, 30, 75, 100)):
            for restarts in ({}, {"restart_marker_blocks": 3}, {"restart_marker_rows": 1}):
                size = (int(rng.integers(1, 90)), int(rng.integers(1, 90)))
                yield encoded(noise.resize(size).convert(mode), progressive=progressive, optimize=optimize, quality=quality,
                              subsampling=subsampling, **restarts)
    for width, height in itertools.product((1, 2, 7, 8, 9, 15, 16, 17), (1, 8, 17)):
        yield encoded(noise.resize((width, height)), quality=90)
    yield encoded(noise, quality=90, keep_rgb=True)
    yield encoded(noise, quality=90, icc_profile=bytes(range(256)) * 300, comment=b"\xff\xd8\xff\xda", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0")


def others(tmp_path):
    """By libjpeg's programs, if they are there: arithmetic codes, scans of their own, samplings that Pillow does not write."""
    source = tmp_path / "source.jpg"
    source.write_bytes(encoded(Image.effect_noise((70, 50), 90).convert("RGB"), quality=95))
    for program, options in (("jpegtran", ["-arithmetic"]), ("jpegtran", ["-progressive", "-restart", "1"]), ("jpegtran", ["-optimize"]),
                             ("jpegtran", ["-rotate", "90"]), ("jpegtran", ["-copy", "none", "-restart", "2B"])):
        if shutil.which(program):
            yield subprocess.run([program, *options, source], capture_output=True, check=True).stdout


def mutants(originals):
    """Cut, longer, other bits, other precision, and bytes of another file."""
    draw = random.Random(46)
    for number in range(MUTANTS):
        content = bytearray(draw.choice(originals))
        kind = number % 6
        at = draw.randrange(2, len(content))
        if kind == 0:
            del content[at:]
        elif kind == 1:
            content += draw.choice((b"\0", b"\xff\xd9", b"\xff", bytes(draw.choice(originals)[:100])))
        elif kind == 2:
            content[at] ^= 1 << draw.randrange(8)
        elif kind == 3:
            content[max(content.find(b"\xff\xc0"), 0) + 4] = 12  # bits per sample
        elif kind == 4:
            del content[at:at + draw.randrange(1, 20)]
        else:
            content[at:at] = draw.choice(originals)[at:at + draw.randrange(1, 40)]
        yield bytes(content)


def test_every_file_comes_back(bale, tmp_path):
    folder = tmp_path / "strange" / "a"
    folder.mkdir(parents=True)
    originals = [*pillows(), *others(tmp_path)]
    for number, content in enumerate([*originals, *mutants(originals)]):
        (folder / f"{number:05d}.jpg").write_bytes(content)
    said = bale.pack(folder.parent, tmp_path / "packed", "--jpeg-code", "planes")
    assert "JPEGs stored as planes" in said.err and "stored unchanged" in said.err, said
    bale.ok("verify", tmp_path / "packed")
    bale.ok("extract", tmp_path / "packed", tmp_path / "restored")
    restored = {name: content for name, content in tree_bytes(tmp_path / "restored").items() if not name.endswith(".cls")}
    assert restored == tree_bytes(folder.parent)
