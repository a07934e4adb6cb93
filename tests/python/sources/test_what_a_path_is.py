"""What a path given to a command is: a folder of images, a packed dataset, several, a list. The same for every command."""
import ctypes
import json
import os
import re
import shutil
import struct

import pytest
from conftest import LAYOUTS, format_options, make_images

COMMANDS_ON_IMAGES = [("report", "--json", "--no-near"), ("dedup", "--json")]
COMMANDS_ON_PACKS = [("verify",), ("stats",), ("inspect",), ("ls",), ("index",)]


def made(folder, classes=2, per_class=3):
    make_images.make_tree(folder, classes=classes, per_class=per_class, size=(24, 18))
    return folder


@pytest.fixture
def with_old_pack(bale, tmp_path):
    """A folder of two classes, six images, and a pack of another folder in it."""
    folder = made(tmp_path / "photos")
    bale.pack(made(tmp_path / "others", classes=1, per_class=4), folder / "old", "--sidecars", "wds2idx")
    return folder


def images_of(result):
    return json.loads(result.out)["images"]


@pytest.mark.parametrize("command", COMMANDS_ON_IMAGES, ids=lambda command: command[0])
@pytest.mark.parametrize("shape", ["classes", "flat", "deep"])
def test_a_folder_of_images_with_a_pack_in_it(bale, tmp_path, with_old_pack, command, shape):
    options = []
    if shape == "flat":
        folder = tmp_path / "flat"
        folder.mkdir()
        for number, image in enumerate(sorted(with_old_pack.glob("*/*.JPEG"))):
            shutil.copyfile(image, folder / f"{number}.jpg")
        shutil.move(with_old_pack / "old", folder / "old")
        with_old_pack, options = folder, ["--flat"]
    elif shape == "deep":
        shutil.move(with_old_pack / "old", next(path for path in with_old_pack.iterdir() if path.name != "old") / "old")
    result = bale.ok(*command[:1], with_old_pack, *command[1:], *options)
    assert images_of(result) == 6, result
    assert "old" in result.err and "a packed dataset" in result.err


@pytest.mark.parametrize("command", COMMANDS_ON_PACKS, ids=lambda command: command[0])
def test_what_takes_packs_says_that_it_is_a_folder(bale, with_old_pack, command):
    result = bale(*command, with_old_pack)
    assert result.code == 1 and "a folder of images" in result.error_line()
    assert str(with_old_pack / "old") in result.error_line()
    bale.ok(*command, with_old_pack / "old")


def test_pack_takes_the_images(bale, with_old_pack, tmp_path):
    result = bale.ok("pack", with_old_pack, tmp_path / "out")
    assert "a packed dataset" in result.err and str(with_old_pack / "old") in result.err
    found = json.loads(bale.ok("inspect", "--json", tmp_path / "out").out)
    assert found["samples"] == 6 and len(found["classes"]) == 2
    shutil.rmtree(with_old_pack / "old")
    bale.pack(with_old_pack, tmp_path / "clean")
    assert bale.ok("diff", tmp_path / "clean", tmp_path / "out").out.startswith("the same 6 samples")


def test_diff_takes_the_images(bale, with_old_pack, tmp_path):
    bale.ok("pack", with_old_pack, tmp_path / "out")
    result = bale.ok("diff", tmp_path / "out", with_old_pack)
    assert "the same 6 samples" in result.out and "a packed dataset" in result.err


def test_a_manifest_of_another_program_is_none(bale, tmp_path):
    folder = made(tmp_path / "photos")
    (next(folder.iterdir()) / "manifest.json").write_text('{"name": "app", "icons": []}')
    assert images_of(bale.ok("report", folder, "--json", "--no-near")) == 6
    bale.ok("pack", folder, tmp_path / "out")
    assert json.loads(bale.ok("inspect", "--json", tmp_path / "out").out)["samples"] == 6


@pytest.mark.parametrize("flat", [False, True])
def test_an_unfinished_pack_is_not_a_class(bale, tmp_path, flat):
    folder = made(tmp_path / "photos", classes=1)
    images = sorted(folder.glob("*/*.JPEG"))
    (folder / "half" / ".bale-partial").mkdir(parents=True)
    for image in images:
        shutil.copyfile(image, folder / "half" / image.name)
    result = bale.ok("pack", folder, tmp_path / "out", *(["--flat"] if flat else []))
    assert "a packed dataset, not images" in result.err
    assert len(bale.ok("ls", tmp_path / "out").out.splitlines()) == 3


def test_a_directory_of_one_dataset_holds_one(bale, tmp_path):
    bale.pack(made(tmp_path / "in"), tmp_path / "packs" / "only")
    result = bale("pack", tmp_path / "packs", tmp_path / "out")
    assert result.code != 0 and "several" not in result.error_line() and str(tmp_path / "packs" / "only") in result.error_line()
    for command in (("verify",), ("stats",), ("inspect",), ("report", "--no-near")):
        bale.ok(*command, tmp_path / "packs")


@pytest.mark.parametrize("command", [("verify",), ("stats",), ("inspect",), ("report", "--no-near")], ids=lambda command: command[0])
def test_images_next_to_packs_are_named(bale, tmp_path, command):
    """Two packs and one folder of images: a directory of datasets, and what is not looked at is said."""
    bale.pack(made(tmp_path / "in"), tmp_path / "data", "--split", "train=0.5,val=0.5")
    made(tmp_path / "data" / "raw", classes=1)
    result = bale.ok(*command, tmp_path / "data")
    assert "not looked at next to them: raw" in result.err
    shutil.copy(next((tmp_path / "in").rglob("*.JPEG")), tmp_path / "data" / "sheet.jpg")
    assert "not looked at next to them: raw, sheet.jpg" in bale.ok(*command, tmp_path / "data").err
    (tmp_path / "data" / "sheet.jpg").unlink()
    shutil.rmtree(tmp_path / "data" / "raw")
    assert bale.ok(*command, tmp_path / "data").err == ""


# Globs.

def help_glob(bale):
    """The glob that the help offers."""
    glob = re.search(r"a glob \('([^']+)'\)", " ".join(bale.ok("verify", "--help").out.split()))[1]
    return glob


@pytest.mark.parametrize("layout", [f"{name}.{layout}" for name, layout in LAYOUTS])
def test_the_glob_of_the_help_names_the_shards(bale, tmp_path, layout):
    folder = made(tmp_path / "in")
    extra = ["--sidecars", "wds2idx,wids,timm,energon"] if layout == "tar.plain" else []
    bale.pack(folder, tmp_path / "dir", *format_options(layout), "--shard-samples", "2", "--seek-points", *extra)
    glob = help_glob(bale)
    for command in (["ls"], ["verify"], ["stats"], ["inspect"], ["read"]):
        whole, matched = (bale.ok(*command, spec, cwd=tmp_path) for spec in ("dir", glob))
        if command == ["ls"]:
            assert whole.out == matched.out and whole.out
    assert bale.ok("diff", "dir", glob, cwd=tmp_path).code == 0


def test_a_glob_of_a_dataset_with_skipped_images(bale, tmp_path):
    folder = made(tmp_path / "in")
    (next(folder.iterdir()) / "bad.jpg").touch()  # no image: --resize-max cannot read it
    assert bale("pack", folder, tmp_path / "dir", "--on-error", "quarantine", "--resize-max", "20").code == 4
    assert {"quarantine", "skipped.jsonl"} <= {path.name for path in (tmp_path / "dir").iterdir()}
    assert len(bale.ok("ls", f"{tmp_path}/dir/*").out.splitlines()) == 6


def test_a_glob_of_nothing_but_side_files(bale, tmp_path):
    bale.pack(made(tmp_path / "in"), tmp_path / "dir")
    result = bale("ls", f"{tmp_path}/dir/*.bidx")
    assert result.code == 1 and "only files next to shards" in result.error_line()
    assert "no file matches" in bale("ls", f"{tmp_path}/dir/*.zip").error_line()


def test_a_file_that_is_not_a_shard_is_still_an_error(bale, tmp_path):
    bale.pack(made(tmp_path / "in"), tmp_path / "dir")
    (tmp_path / "dir" / "notes.txt").write_text("mine")
    result = bale("ls", f"{tmp_path}/dir/*")
    assert result.code == 1 and "notes.txt" in result.error_line()


# Lists.

@pytest.fixture
def listed(tmp_path):
    """(folder, paths of its images from tmp_path on)"""
    folder = made(tmp_path / "in")
    return folder, [str(path.relative_to(tmp_path)) for path in sorted(folder.rglob("*.*"))]


def write_list(tmp_path, paths, form):
    path = tmp_path / {"txt": "all.txt", "plain": "all"}.get(form, "names.list")
    if form == "nul":
        path.write_bytes(b"".join(name.encode() + b"\0" for name in paths))
    elif form == "crlf":
        path.write_bytes("".join(name + "\r\n" for name in paths).encode())
    elif form == "absolute":
        path.write_text("".join(f"{tmp_path / name}\n" for name in paths))
    else:
        path.write_text("".join(name + "\n" for name in paths))
    return path


@pytest.mark.parametrize("form", ["txt", "plain", "nul", "absolute", "crlf"])
def test_lists_are_taken_by_every_command(bale, tmp_path, listed, form):
    folder, paths = listed
    file = write_list(tmp_path, paths, form)
    assert images_of(bale.ok("report", file, "--json", "--no-near", cwd=tmp_path)) == 6
    assert images_of(bale.ok("dedup", file, "--json", cwd=tmp_path)) == 6
    null = ["-0"] if form == "nul" else []
    bale.ok("pack", "--files-from", file, *null, tmp_path / "packed", cwd=tmp_path)
    assert bale.ok("diff", file, tmp_path / "packed", cwd=tmp_path).out.startswith("the same 6 samples")
    assert bale.ok("diff", tmp_path / "packed", file, cwd=tmp_path).out.startswith("the same 6 samples")
    bale.ok("pack", file, tmp_path / "again", cwd=tmp_path)
    assert bale.ok("diff", tmp_path / "again", tmp_path / "packed").out.startswith("the same 6 samples")


def test_a_list_with_a_root(bale, tmp_path, listed):
    folder, paths = listed
    file = write_list(tmp_path, [path.removeprefix("in/") for path in paths], "plain")
    for command in (("report", "--no-near"), ("dedup",)):
        assert images_of(bale.ok(command[0], file, *command[1:], "--json", "--root", folder)) == 6
    bale.pack(folder, tmp_path / "packed")
    assert bale.ok("diff", file, tmp_path / "packed", "--root", folder).out.startswith("the same 6 samples")


def test_a_text_that_is_not_a_list(bale, tmp_path):
    (tmp_path / "notes.md").write_text("nothing here\n")
    result = bale("report", tmp_path / "notes.md")
    assert result.code == 1 and "no format recognizes this file" in result.error_line()


# Options of sources.

def test_a_table_that_was_packed_can_be_compared(bale, tmp_path, listed):
    folder, paths = listed
    rows = "".join(f"{path.removeprefix('in/')},{number % 2}\n" for number, path in enumerate(paths))
    (tmp_path / "t.csv").write_text("picture,kind\n" + rows)
    options = ["--path-column", "picture", "--label-column", "kind", "--root", folder]
    bale.pack(tmp_path / "t.csv", tmp_path / "packed", *options)
    assert bale.ok("diff", tmp_path / "t.csv", tmp_path / "packed", *options).out.startswith("the same 6 samples")
    assert images_of(bale.ok("report", tmp_path / "t.csv", *options, "--json", "--no-near")) == 6
    assert images_of(bale.ok("dedup", tmp_path / "t.csv", *options, "--json")) == 6
    for command in ("diff", "report", "dedup"):
        result = bale(command, tmp_path / "t.csv", *([tmp_path / "packed"] if command == "diff" else []))
        assert result.code != 0 and "--path-column" in result.error_line() and "`" not in result.error_line()


def test_a_folder_with_an_empty_class_can_be_compared(bale, tmp_path):
    folder = made(tmp_path / "in")
    (folder / "zebra").mkdir()
    bale.pack(folder, tmp_path / "packed", "--allow-empty")
    result = bale("diff", folder, tmp_path / "packed")
    assert result.code != 0 and "--allow-empty" in result.error_line()
    assert bale.ok("diff", folder, tmp_path / "packed", "--allow-empty").out.startswith("the same")
    assert images_of(bale.ok("report", folder, "--json", "--no-near", "--allow-empty")) == 6


def test_pairs_and_annotations_are_of_the_folder_alone(bale, tmp_path):
    folder = made(tmp_path / "in", classes=1)
    for image in sorted(folder.rglob("*.*")):
        image.with_suffix(".txt").write_text(f"about {image.stem}")
        image.rename(image.with_suffix(".jpg"))
    pair = ["--pair", "jpg,txt"]
    bale.pack(folder, tmp_path / "packed", *pair)
    assert bale.ok("diff", folder, tmp_path / "packed", *pair).out.startswith("the same 3 samples")
    assert bale("diff", folder, tmp_path / "packed").code == 3


def test_annotations_can_be_compared(bale, tmp_path):
    folder = made(tmp_path / "in", classes=1)
    images = [{"id": number, "file_name": str(path.relative_to(folder)), "width": 24, "height": 18}
              for number, path in enumerate(sorted(folder.rglob("*.*")))]
    boxes = [{"id": 1, "image_id": 0, "category_id": 3, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0}]
    (tmp_path / "coco.json").write_text(json.dumps({"images": images, "annotations": boxes,
                                                    "categories": [{"id": 3, "name": "cat"}]}))
    options = ["--annotations", tmp_path / "coco.json"]
    bale.pack(folder, tmp_path / "packed", *options)
    assert bale.ok("diff", folder, tmp_path / "packed", *options).out.startswith("the same 3 samples")
    assert bale.ok("diff", tmp_path / "packed", folder, *options).out.startswith("the same 3 samples")


SHARED = {"--include", "--exclude", "--class-folders", "--class-map", "--pair", "--pair-path", "--annotations", "--annotations-format",
          "--flat", "--allow-empty", "--list-jobs", "--root", "--path-column", "--label-column"}


@pytest.mark.parametrize("command", ["pack", "plan", "report", "dedup", "diff"])
def test_every_command_that_takes_a_source_has_its_options(bale, command):
    assert SHARED <= set(re.findall(r"--[a-z][a-z-]+", bale.ok(command, "--help").out))


# Multisets.

@pytest.mark.parametrize("swap", [False, True])
def test_two_files_of_one_key_are_a_multiset(bale, tmp_path, swap):
    folder = made(tmp_path / "a", classes=1, per_class=2)
    image = sorted(folder.rglob("*.*"))[0]
    twin = image.with_suffix(".jpg")
    twin.write_bytes(image.read_bytes() + b"another")
    shutil.copytree(folder, tmp_path / "b")
    other = tmp_path / "b" / twin.relative_to(folder)
    sides = (tmp_path / "b", folder) if swap else (folder, tmp_path / "b")
    assert bale.ok("diff", *sides).out == "the same 3 samples\n"
    assert bale.ok("diff", folder, folder).out == "the same 3 samples\n"
    for change in ("bytes", "gone"):
        other.write_bytes(other.read_bytes() + b"x") if change == "bytes" else other.unlink()
        result = bale("diff", *sides)
        assert result.code == 3 and not result.out.startswith("the same"), (change, result)
        assert bale("diff", "-q", *sides).code == 3 and bale("diff", "--json", *sides).code == 3


def test_a_pack_that_is_named_twice(bale, tmp_path):
    bale.pack(made(tmp_path / "in"), tmp_path / "p")
    twice = f"{tmp_path / 'p'}::{tmp_path / 'p'}"
    assert bale.ok("diff", twice, twice).out == "the same 12 samples\n"
    assert bale("diff", twice, tmp_path / "p").code == 3


@pytest.mark.parametrize("command", [("report", "in", "-o"), ("dedup", "in", "-o"), ("plan", "in", "out", "-o"),
                                     ("bench", "packed", "--html"), ("doctor", "packed", "--html"), ("merge", "packed", "-o")],
                         ids=lambda command: command[0])
def test_an_empty_name_of_an_output_is_refused(bale, tmp_path, command):
    """A shell variable that is not set: not a run without a result."""
    bale.pack(made(tmp_path / "in"), tmp_path / "packed")
    result = bale(*command, "", cwd=tmp_path)
    assert result.code == 2 and "the value is empty" in result.error_line()


class Listings:
    """Counts how many times a directory is opened, which is what lists it (inotify)."""

    def __init__(self, directory):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watch = self._libc.inotify_init1(os.O_NONBLOCK)
        assert self._libc.inotify_add_watch(self._watch, os.fsencode(directory), 0x20) >= 0  # IN_OPEN

    def count(self):
        events, count = os.read(self._watch, 1 << 20), 0
        while events:
            length = struct.unpack_from("iIII", events)[3]
            count += length == 0  # of the directory itself, not of an entry
            events = events[16 + length:]
        os.close(self._watch)
        return count


@pytest.mark.parametrize("command", [("pack",), ("plan", "--output", "x.plan")], ids=lambda command: command[0])
@pytest.mark.parametrize("shape", ["classes", "flat"])
def test_a_folder_is_listed_once(bale, tmp_path, monkeypatch, command, shape):
    monkeypatch.chdir(tmp_path)
    folder = made(tmp_path / "photos", classes=1)
    watched = folder if shape == "classes" else next(folder.iterdir())
    listings = Listings(watched)
    bale.ok(command[0], watched, tmp_path / "out", *command[1:], *(["--flat"] if shape == "flat" else []))
    assert listings.count() == 1


@pytest.mark.parametrize("name, words", [("x.JPG", "give its folder, or a list of images"), ("x.json", "one object per line: NAME.jsonl")])
def test_other_files_get_advice(bale, tmp_path, name, words):
    (tmp_path / name).write_bytes(b'[{"file_name": "a.jpg"}]')
    assert words in bale("pack", tmp_path / name, tmp_path / "out").error_line()
