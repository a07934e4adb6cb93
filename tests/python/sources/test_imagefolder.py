"""Class numbers and sample order are torchvision.datasets.ImageFolder's, on tidy folders and on odd ones."""
import json
import os
import subprocess

import pytest
from conftest import class_names, images_by_key, make_images, read_tar

# Debian's PyTorch needs Debian's numpy, so torchvision is asked in a process of its own. Names go through
# JSON as Latin-1, so that any byte comes back.
ASK = """
import json, os, sys
from torchvision.datasets import ImageFolder
root = os.fsdecode(sys.argv[1].encode("latin-1"))
folder = ImageFolder(root)
text = lambda name: os.fsencode(name).decode("latin-1")
json.dump({"classes": [text(c) for c in folder.classes],
           "samples": [[text(os.path.relpath(p, root)), y] for p, y in folder.samples]}, sys.stdout)
"""


def torchvision_says(root):
    done = subprocess.run(["/usr/bin/python3", "-c", ASK, os.fsencode(root).decode("latin-1")], check=True,
                          capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    answer = json.loads(done.stdout)
    return ([c.encode("latin-1") for c in answer["classes"]],
            [(path.encode("latin-1"), label) for path, label in answer["samples"]])


def bale_says(bale, root, tmp_path):
    bale.pack(root, tmp_path / "packed", "--format", "tar")
    members = read_tar(tmp_path / "packed")  # [(key, {field: bytes})] in order
    return class_names(tmp_path / "packed"), [(fields, int(fields["cls"])) for _, fields in members]


def assert_same(bale, root, tmp_path):
    classes, samples = torchvision_says(root)
    our_classes, ours = bale_says(bale, root, tmp_path)
    assert our_classes == classes
    assert len(ours) == len(samples)
    for (path, label), (fields, our_label) in zip(samples, ours):
        with open(os.path.join(os.fsencode(root), path), "rb") as file:
            content = file.read()
        image = next(value for name, value in fields.items() if name != "cls")
        assert (image, our_label) == (content, label), path


def test_tidy_folder(bale, photos, tmp_path):
    assert_same(bale, photos, tmp_path)


@pytest.fixture
def odd(tmp_path):
    """Every oddity at once; each file has content of its own, so that order shows."""
    root = tmp_path / "odd"
    image = make_images.encode(make_images.make_image(1, size=(16, 12)))
    count = iter(range(10**6))

    def add(path):
        full = os.path.join(os.fsencode(root), path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(image + b"%d" % next(count))

    for path in [b"b/2.jpg", b"b/10.jpg", b"b/1.JPG", b"b/sub/dir/deep.jpeg", b"b/sub.jpg", b"b/sub-x/y.jpg",
                 b"B/upper.png", b"a b/space name.jpg", b"a/.hidden.jpg", b"a/x.bmp", b"a/y.ppm", b"a/z.pgm",
                 b"a/w.tif", b"a/v.tiff", b"a/u.webp", b"a/notes.txt", b"a/noext", b"a/x.jpg.bak",
                 b".hidden-class/i.jpg", "ä/ü.jpg".encode(), b"z\xff/\xe9.jpg", b"z\xff/\xc3\xa9.jpg",
                 b"a/a.b.jpg", b"a/100%.jpg", "a/\U0001F600.jpg".encode(), "a/\uffee.jpg".encode(),
                 "\U0001F600/1.jpg".encode(), "\uffee/1.jpg".encode()]:
        add(path)
    add(b"../elsewhere/linked.jpg")
    os.symlink("../../elsewhere/linked.jpg", root / "a" / "link.jpg")
    os.symlink("../../elsewhere", root / "b" / "linked-dir")
    os.symlink("../elsewhere", root / "linked-class")
    (root / "stray.jpg").write_bytes(image)  # next to the class folders: no class, no sample
    return root


def test_odd_folder(bale, odd, tmp_path):
    assert_same(bale, odd, tmp_path)


def test_class_names_sort_as_strings(bale, tmp_path):
    root = tmp_path / "synsets"
    for name in ["n02123045", "n01440764", "n1", "n10", "n2"]:
        make_images.make_tree(root / name / "x", classes=1, per_class=2, size=(16, 12))
    assert_same(bale, root, tmp_path)


def test_empty_class_is_an_error_unless_allowed(bale, photos, tmp_path):
    """ImageFolder raises for a class without images; so do we, and --allow-empty keeps its number."""
    import shutil
    root = tmp_path / "in"
    shutil.copytree(photos, root)
    (root / "aaa-empty").mkdir()
    with pytest.raises(subprocess.CalledProcessError):
        torchvision_says(root)
    result = bale("pack", root, tmp_path / "out")
    assert result.code in (1, 2) and "aaa-empty" in result.error_line()
    bale.pack(root, tmp_path / "out", "--allow-empty")
    labels = {int(fields["cls"]) for _, fields in read_tar(tmp_path / "out")}
    assert labels == {1, 2, 3, 4, 5}
    assert len(images_by_key(photos)) == len(read_tar(tmp_path / "out"))


@pytest.mark.parametrize("names, warning", [
    (["train", "val"], "the only classes are train and val, which are usual names of splits"),
    (["Training"], "the only classes are Training, which are usual names of splits"),
    ([".ipynb_checkpoints", "cat"], "the hidden folder .ipynb_checkpoints is a class"),
    (["$RECYCLE.BIN", "cat"], "the hidden folder $RECYCLE.BIN is a class"),
    (["images"], "the only class is images, so every label is the same; give"),
    (["train", "truck"], None)])
def test_folders_that_are_hardly_classes_are_named(bale, photos, tmp_path, names, warning):
    """They are packed, with the numbers of ImageFolder, and a line says so; --json has it, too."""
    for name, path in zip(names, sorted(photos.rglob("*.JPEG")), strict=False):
        (tmp_path / "folder" / name).mkdir(parents=True)
        (tmp_path / "folder" / name / "a.jpg").write_bytes(path.read_bytes())
    done = bale.ok("pack", tmp_path / "folder", tmp_path / "packed", "--json")
    lines = [line for line in done.err.splitlines() if line.startswith(f"{tmp_path / 'folder'}: ")]
    reported = json.loads(done.out)["notices"]["warnings"]
    assert len(lines) == len(reported) == (warning is not None), done
    if warning:
        assert warning in lines[0] and warning in reported[0]["what"]
    assert class_names(tmp_path / "packed") == [name.encode() for name in names]


def test_images_in_hidden_folders_of_classes_are_counted(bale, photos, tmp_path):
    image = next(photos.rglob("*.JPEG")).read_bytes()
    for name in ("cat/a.jpg", "cat/.ipynb_checkpoints/a-checkpoint.jpg", "dog/x/@eaDir/b.jpg/SMALL.jpg", "dog/b.jpg"):
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(image)
    said = "2 images in hidden or system folders are packed, such as those in "
    assert said + str(tmp_path / "folder" / "cat" / ".ipynb_checkpoints") in bale.ok("pack", tmp_path / "folder", tmp_path / "out").err
    assert said in bale.ok("pack", tmp_path / "folder", tmp_path / "flat", "--flat").err
    done = bale.ok("pack", tmp_path / "folder", tmp_path / "some", "--exclude", "*/.ipynb_checkpoints", "--exclude", "*/@eaDir/*")
    assert "system folders" not in done.err


def test_folders_without_images_name_their_files(bale, photos, tmp_path):
    """A folder above shards, idx files and the like is typed by mistake."""
    for name in ("lost+found", "raw"):
        (tmp_path / "MNIST" / name).mkdir(parents=True)
    (tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(b"x")
    error = bale("pack", tmp_path / "MNIST", tmp_path / "out").error_line()
    assert f"pack {tmp_path / 'MNIST' / 'raw'} if files such as train-images-idx3-ubyte are the dataset; else remove" in error
    assert "leave them out with --exclude" in error
