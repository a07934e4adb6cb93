"""Images with their masks: in one folder under names such as X.mask.png, or in a tree of their own as VOC, ADE20K and
Cityscapes have them."""
import hashlib
import json
import os
import random
import shlex

import pytest
from conftest import LAYOUTS, REPO, fields_by_key, shim, tree_bytes
from image_support import png
from PIL import Image


def make_image(path, kind):
    path.parent.mkdir(parents=True, exist_ok=True)
    random.seed(str(path))
    pixels = random.randbytes(12 * 12 * 3) if kind == "jpg" else random.randbytes(12 * 12)
    Image.frombytes("RGB" if kind == "jpg" else "L", (12, 12), pixels).save(path, "JPEG" if kind == "jpg" else "PNG")
    return path


def beside(root):
    """Five images, each with X.mask.png next to it; one has a further PNG, and one name has dots."""
    for name in ("a", "b", "c", "d.e", "f"):
        make_image(root / "x" / f"{name}.jpg", "jpg")
        make_image(root / "x" / f"{name}.mask.png", "png")
    make_image(root / "x" / "a.png", "png")
    return root


@pytest.mark.parametrize("format_name,layout", LAYOUTS)
def test_a_mask_next_to_each_image(bale, tmp_path, format_name, layout):
    source = beside(tmp_path / "in")
    result = bale.pack(source, tmp_path / "p", "--pair", "jpg,mask.png", "--format", format_name, "--layout", layout)
    assert "x/a.png" in result.err  # what is in no sample is named
    got = fields_by_key(bale, tmp_path / "p")
    assert set(got) == {"x/a", "x/b", "x/c", "x/d%2Ee", "x/f"}
    for key, fields in got.items():
        stem = source / key.replace("%2E", ".")
        assert fields["jpg"] == stem.with_name(stem.name + ".jpg").read_bytes()
        assert fields["mask.png"] == stem.with_name(stem.name + ".mask.png").read_bytes()
    bale.ok("verify", tmp_path / "p")


def test_the_longest_extension_wins(bale, tmp_path):
    source = beside(tmp_path / "in")
    bale.pack(source, tmp_path / "p", "--pair", "jpg,png,mask.png", "--on-error", "skip", "--include", "*/a.*")
    fields = fields_by_key(bale, tmp_path / "p")["x/a"]
    assert fields["png"] == (source / "x/a.png").read_bytes()
    assert fields["mask.png"] == (source / "x/a.mask.png").read_bytes()


def test_two_extensions_with_dots(bale, tmp_path):
    """With the options that TROUBLESHOOTING.md has for `the image's extension`."""
    page = (REPO / "docs/TROUBLESHOOTING.md").read_text()
    options = shlex.split(page.partition("`X.depth.png` write\n")[2].split("`")[1])
    for name in ("a.rgb.png", "a.depth.png"):
        make_image(tmp_path / "in" / name, "png")
    bale.ok("pack", tmp_path / "in", tmp_path / "out", "--flat", *options)
    assert {key: set(fields) for key, fields in fields_by_key(bale, tmp_path / "out").items()} == {"a%2Ergb": {"png", "depth.png"}}


def test_images_that_are_not_part_are_counted(bale, tmp_path):
    """`.png` images among pairs of jpg and mask.png."""
    source = beside(tmp_path / "in")
    make_image(source / "x" / "g.png", "png")
    make_image(source / "x" / "g.mask.png", "png")
    (source / "x" / "notes.txt").touch()
    result = bale.pack(source, tmp_path / "p", "--pair", "jpg,mask.png", "--json")
    assert json.loads(result.out)["notices"]["reasons"] == {
        "an image with an extension that `pair` does not name": 2, "no extension that `pair` names": 1, "no jpg file next to it": 1}
    assert bale("pack", source, tmp_path / "q", "--pair", "jpg,mask.png", "--strict").code == 1


def test_a_missing_mask_follows_the_policy(bale, tmp_path):
    source = beside(tmp_path / "in")
    (source / "x" / "b.mask.png").unlink()
    result = bale("pack", source, tmp_path / "p", "--pair", "jpg,mask.png")
    assert result.code == 1 and "x/b.jpg: no mask.png file next to it" in result.error_line()
    result = bale("pack", source, tmp_path / "q", "--pair", "jpg,mask.png", "--on-error", "skip")
    assert result.code == 4 and "1 sample skipped" in result.err
    (line,) = (tmp_path / "q" / "skipped.jsonl").read_text().splitlines()
    assert "no mask.png file next to it" in line and "b.jpg" in line
    assert set(fields_by_key(bale, tmp_path / "q")) == {"x/a", "x/c", "x/d%2Ee", "x/f"}


# Trees as they are published: (image, mask) by sample, the folder to pack, its options, and the keys.
def voc(root):
    names = [f"2007_0000{i}" for i in range(10, 15)]
    return ({name: (f"JPEGImages/{name}.jpg", f"SegmentationClass/{name}.png") for name in names}, "JPEGImages",
            ["--pair", "jpg,mask.png", "--pair-path", "mask.png=../SegmentationClass/{stem}.png"])


def ade20k(root):
    names = [f"{part}/ADE_{part[:5]}_0000000{i}" for part in ("training", "validation") for i in range(3)]
    return ({name: (f"images/{name}.jpg", f"annotations/{name}.png") for name in names}, "images",
            ["--pair", "jpg,png", "--pair-path", "png=../annotations/{key}.png"])


def cityscapes(root):
    names = [f"{city}/{city}_000000_00001{i}" for city in ("aachen", "bochum") for i in range(3)]
    return ({f"{name}_leftImg8bit": (f"leftImg8bit/train/{name}_leftImg8bit.png",
                                     f"gtFine/train/{name}_gtFine_labelIds.png") for name in names},
            "leftImg8bit/train",
            ["--pair", "png,mask.png",
             "--pair-path", "mask.png=../../gtFine/train/{dir}/{stem%_leftImg8bit}_gtFine_labelIds.png"])


TREES = {"voc": voc, "ade20k": ade20k, "cityscapes": cityscapes}


@pytest.fixture(params=TREES)
def tree(request, tmp_path):
    root = tmp_path / "in"
    samples, folder, options = TREES[request.param](root)
    for image, mask in samples.values():
        make_image(root / image, "jpg" if image.endswith("jpg") else "png")
        make_image(root / mask, "png")
    return root, samples, folder, options


def check(bale, pack, root, samples):
    got = fields_by_key(bale, pack)
    assert set(got) == set(samples)
    for key, (image, mask) in samples.items():
        fields = {name: content for name, content in got[key].items() if name != "cls"}
        assert sorted(fields.values()) == sorted([(root / image).read_bytes(), (root / mask).read_bytes()])


def test_masks_in_a_tree_of_their_own(bale, tree, tmp_path):
    root, samples, folder, options = tree
    result = bale.pack(root / folder, tmp_path / "p", "--flat", *options)
    assert "ignored" not in result.err
    check(bale, tmp_path / "p", root, samples)
    # A path that begins with / is absolute; a list of files follows the same pattern.
    absolute = [option.replace("=..", f"={root / folder}/..") if "=.." in option else option for option in options]
    assert bale("pack", root / folder, tmp_path / "r", "--flat", *absolute).code == 2  # ".." in the middle of a path
    names = "".join(f"{image}\n" for image, _ in samples.values()).replace(f"{folder}/", "")
    bale.ok("pack", tmp_path / "l", "--files-from", "-", "--root", root / folder, "--flat", *options,
            stdin=names.encode())
    check(bale, tmp_path / "l", root, samples)


def test_pairs_from_python(bale, tree, tmp_path):
    import subprocess

    from python_support import ENVIRONMENT, command
    root, samples, folder, options = tree
    values = dict(zip((name.lstrip("-").replace("-", "_") for name in options[::2]), options[1::2]))
    script = "import bale, json, sys; bale.pack(sys.argv[1], sys.argv[2], flat=True, **json.loads(sys.argv[3]))"
    subprocess.run(command(script, root / folder, tmp_path / "p", json.dumps(values)), check=True, env=ENVIRONMENT)
    check(bale, tmp_path / "p", root, samples)


def test_a_mask_that_is_missing_elsewhere_is_named(bale, tree, tmp_path):
    root, samples, folder, options = tree
    gone = list(samples)[1::2]
    for key in gone:
        (root / samples[key][1]).unlink()
    result = bale("pack", root / folder, tmp_path / "p", "--flat", *options)
    assert result.code == 1
    assert f"no {'png' if 'jpg,png' in options else 'mask.png'} file at {root}" in result.error_line()
    result = bale("pack", root / folder, tmp_path / "q", "--flat", *options, "--on-error", "skip")
    assert result.code == 4 and f"{len(gone)} samples skipped" in result.err
    reported = (tmp_path / "q" / "skipped.jsonl").read_text()
    for key in gone:
        assert os.path.basename(samples[key][0]) in reported and os.path.basename(samples[key][1]) in reported
    check(bale, tmp_path / "q", root, {key: paths for key, paths in samples.items() if key not in gone})


def test_masks_are_part_of_what_a_resumed_run_compares(bale, tree, tmp_path):
    root, samples, folder, options = tree
    pack = ["pack", root / folder, tmp_path / "p", "--flat", "--shard-samples", "2", *options]
    bale.ok(*pack)
    digest = {name: hashlib.sha256(content).digest() for name, content in tree_bytes(tmp_path / "p").items()}
    next((tmp_path / "p").glob("*000001.tar")).unlink()
    bale.ok(*pack, "--resume", "--jobs", "1")
    assert digest == {name: hashlib.sha256(content).digest() for name, content in tree_bytes(tmp_path / "p").items()}
    next((tmp_path / "p").glob("*000001.tar")).unlink()
    (root / samples[list(samples)[0]][1]).write_bytes(png(Image.new("L", (9, 9))))
    assert bale(*pack, "--resume").code == 1
    assert not list((tmp_path / "p").glob("*000001.tar"))  # nothing of the changed source is mixed in


def test_masks_of_another_tree_are_another_source(bale, tmp_path):
    """Files of one size and time under other names do not pass for those that a run was begun with."""
    root = tmp_path / "in"
    for name in "abcd":
        make_image(root / "images" / f"{name}.jpg", "jpg")
        for tree in ("one", "two"):
            mask = root / tree / f"{name}.png"
            make_image(mask, "png")
            mask.write_bytes(mask.read_bytes().ljust(400, tree[0].encode()))
            os.utime(mask, (1, 1))
    pack = ["pack", root / "images", tmp_path / "p", "--flat", "--pair", "jpg,mask.png", "--shard-samples", "2",
            "--jobs", "1"]
    broken_off = bale(*pack, "--pair-path", "mask.png=../one/{stem}.png", env=shim(UNREADABLE="images/d.jpg"))
    assert broken_off.code == 1 and list((tmp_path / "p").glob("*000000.tar"))
    result = bale(*pack, "--pair-path", "mask.png=../two/{stem}.png", "--resume")
    assert result.code == 1 and "unfinished pack of other files or options" in result.error_line(), result
    assert "1 shard" in bale.ok(*pack, "--pair-path", "mask.png=../one/{stem}.png", "--resume").out


@pytest.mark.parametrize("options", [["--resize-short", "8"], ["--resize-max", "8"], ["--orient"],
                                     ["--format", "hdf5", "--layout", "array", "--size", "8"]], ids=" ".join)
def test_an_image_is_not_resized_without_its_mask(bale, tmp_path, options):
    source = beside(tmp_path / "in")
    (source / "x" / "a.png").unlink()
    result = bale("pack", source, tmp_path / "p", "--pair", "jpg,mask.png", *options)
    assert result.code == 2 and "would misalign its mask.png" in result.error_line(), result
    bale.pack(source, tmp_path / "q", *options)  # each file for itself
    (source / "x" / "a.json").write_text("{}")
    bale.pack(source, tmp_path / "r", "--pair", "jpg,json", "--include", "*/a.*", *options)


@pytest.mark.parametrize("options, message", [
    (["--pair", "jpg,mask.png", "--pair-path", "mask.png=../m/{steam}.png"], "is none of {dir}, {stem} and {key}"),
    (["--pair", "jpg,mask.png", "--pair-path", "mask.png=../m/all.png"], "has neither {stem} nor {key}"),
    (["--pair", "jpg,mask.png", "--pair-path", "mask.png=m/../{stem}.png"], "goes up with"),
    (["--pair", "jpg,mask.png", "--pair-path", "mask.png=m/{stem"], "has no closing brace"),
    (["--pair", "jpg,mask.png", "--pair-path", "m/{stem}.png"], "is not EXT=PATTERN"),
    (["--pair", "jpg,mask.png", "--pair-path", "png=m/{stem}.png"], "is none of the files that --pair names"),
    (["--pair", "jpg,mask.png", "--pair-path", "jpg=m/{stem}.jpg"], "is none of the files that --pair names"),
    (["--pair", "jpg,mask.png", *["--pair-path", "mask.png=m/{stem}.png"] * 2], "is named twice"),
    (["--pair-path", "mask.png=m/{stem}.png"], "--pair"),
    (["--pair", "rgb.png,depth.png"], "the image's extension \"rgb.png\" has a dot"),
    (["--pair", "jpg,.png."], "is not an extension"),
    (["--pair", "jpg,a..png"], "is not an extension"),
])
def test_what_makes_no_sense_is_refused(bale, photos, tmp_path, options, message):
    result = bale("pack", photos, tmp_path / "p", *options)
    assert result.code == 2 and message in result.error_line(), result
    assert not (tmp_path / "p").exists()


def test_the_destination_is_not_among_the_masks(bale, tree):
    root, samples, folder, options = tree
    mask = next(iter(samples.values()))[1]
    result = bale("pack", root / folder, (root / mask).parent / "packed", "--flat", *options)
    assert result.code == 2 and "lies in the source" in result.error_line()
