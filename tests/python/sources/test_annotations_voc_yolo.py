"""`bale pack FOLDER DST --annotations PATH`: Pascal VOC and YOLO, against their own readers and formulas."""
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from annotation_support import keys, make_images, rows
from conftest import fields_by_key
from PIL import Image

import bale as bl

# --- Pascal VOC

def voc_xml(name, objects, size):
    root = ElementTree.Element("annotation")
    ElementTree.SubElement(root, "filename").text = name
    shape = ElementTree.SubElement(root, "size")
    for side, value in zip(("width", "height", "depth"), (*size, 3)):
        ElementTree.SubElement(shape, side).text = str(value)
    for label, box, difficult in objects:
        node = ElementTree.SubElement(root, "object")
        ElementTree.SubElement(node, "name").text = label
        ElementTree.SubElement(node, "pose").text = "Left"
        ElementTree.SubElement(node, "truncated").text = "1"
        ElementTree.SubElement(node, "difficult").text = difficult
        place = ElementTree.SubElement(node, "bndbox")
        for side, value in zip(("xmax", "xmin", "ymin", "ymax"), (box[2], box[0], box[1], box[3])):
            ElementTree.SubElement(place, side).text = str(value)
        part = ElementTree.SubElement(node, "part")
        ElementTree.SubElement(part, "name").text = "head"
    return ElementTree.tostring(root)


def voc(tmp_path):
    """VOCdevkit/VOC2012 as torchvision unpacks it."""
    root = tmp_path / "VOCdevkit" / "VOC2012"
    names = ["2007_000027", "2007_000032", "2008_1"]
    make_images(root / "JPEGImages", [f"{name}.jpg" for name in names])
    (root / "Annotations").mkdir()
    (root / "SegmentationClass").mkdir()
    objects = {names[0]: [("dog", (1, 2, 30, 29), "0"), ("person", (3.5, 4, 10, 11.25), "1")],
               names[1]: [("aeroplane", (5, 6, 7, 8), "0")], names[2]: []}
    for name in names:
        size = Image.open(root / "JPEGImages" / f"{name}.jpg").size
        (root / "Annotations" / f"{name}.xml").write_bytes(voc_xml(f"{name}.jpg", objects[name], size))
        mask = Image.fromarray(np.random.default_rng(1).integers(0, 21, size[::-1], dtype=np.uint8), "P")
        mask.putpalette([i % 256 for i in range(768)])
        mask.save(root / "SegmentationClass" / f"{name}.png")
    for kind in ("Main", "Segmentation"):
        (root / "ImageSets" / kind).mkdir(parents=True)
        (root / "ImageSets" / kind / "train.txt").write_text(f"{names[1]}\n{names[0]}\n")
    (root / "ImageSets" / "Main" / "dog_train.txt").write_text(f"{names[1]} -1\n{names[0]}  1\n")
    return root, names, objects


def test_voc(bale, tmp_path):
    root, names, objects = voc(tmp_path)
    done = bale.ok("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations", "--pair", "jpg,mask.png",
                   "--pair-path", "mask.png=../SegmentationClass/{stem}.png")
    assert "Annotations: elements of objects that no field has: part (3)\n" in done.err
    classes = bl.Dataset(tmp_path / "p").classes
    assert list(classes) == ["aeroplane", "dog", "person"]
    got = rows(bale, tmp_path / "p")
    assert set(got) == set(names)
    for name in names:
        boxes, labels, stored = got[name]
        assert boxes.tolist() == [list(box) for _, box, _ in objects[name]]
        assert [classes[label] for label in labels] == [label for label, _, _ in objects[name]] == stored["names"]
        assert stored["difficult"] == [int(d) for _, _, d in objects[name]] and stored["occluded"] == [None] * len(boxes)
    for name in names:
        assert fields_by_key(bale, tmp_path / "p")[name]["mask.png"] == (root / "SegmentationClass" / f"{name}.png").read_bytes()


def test_the_lists_of_voc(bale, tmp_path):
    root, names, _ = voc(tmp_path)
    bale.ok("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "ImageSets/Main/train.txt")
    assert keys(bale, tmp_path / "p") == [names[1], names[0]]
    assert "aeroplane" in bl.Dataset(tmp_path / "p").classes and "person" in bl.Dataset(tmp_path / "p").classes
    suffixed = root / "ImageSets/Main/suffixed.txt"
    suffixed.write_text("".join(f"{name}.jpg\n" for name in (names[1], names[0])))
    bale.ok("pack", root / "JPEGImages", tmp_path / "s", "--annotations", suffixed, "--name", "p")
    assert fields_by_key(bale, tmp_path / "s") == fields_by_key(bale, tmp_path / "p")
    suffixed.write_text("gone.jpg\n")
    result = bale("pack", root / "JPEGImages", tmp_path / "q", "--annotations", suffixed)
    assert result.code == 1 and "JPEGImages/gone.jpg: no such file" in result.error_line()
    result = bale("pack", root / "JPEGImages", tmp_path / "q", "--annotations", root / "ImageSets/Main/dog_train.txt")
    assert result.code == 2 and "line 1: more than the name" in result.error_line()


def test_damaged_and_lonely_xml(bale, tmp_path):
    root, names, _ = voc(tmp_path)
    xml = root / "Annotations" / f"{names[0]}.xml"
    xml.write_bytes(xml.read_bytes()[:-30])
    result = bale("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations")
    assert result.code == 1 and f"{names[0]}.xml: not XML" in result.error_line() and "offset" in result.error_line()
    xml.rename(root / "Annotations" / "other.xml")
    result = bale("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations")
    assert result.code == 1 and "other.xml: annotations of an image that is not in" in result.error_line()
    result = bale("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations", "--on-error", "skip")
    assert result.code == 4 and "1 images have no XML file" in result.err
    assert json.loads(fields_by_key(bale, tmp_path / "p")[names[0]]["boxes.json"])["boxes"] == []


def test_words_for_numbers_in_xml(bale, tmp_path):
    """What nobody filled in is unknown; what is not a number is named with its file."""
    root, names, _ = voc(tmp_path)
    xml = root / "Annotations" / f"{names[0]}.xml"
    text = xml.read_text().replace("<truncated>1<", "<truncated>Unspecified<").replace("<difficult>0<", "<difficult> unspecified <")
    xml.write_text(text)
    bale.ok("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations")
    stored = json.loads(fields_by_key(bale, tmp_path / "p")[names[0]]["boxes.json"])
    assert stored["truncated"] == [None, None] and stored["difficult"] == [None, 1]
    xml.write_text(text.replace(" unspecified ", "perhaps"))
    result = bale("pack", root / "JPEGImages", tmp_path / "q", "--annotations", root / "Annotations")
    assert result.code == 1 and f"{names[0]}.xml: <difficult>: \"perhaps\" is not a number" in result.error_line() and "offset" in result.error_line()


def test_text_in_pieces_and_objects_that_would_be_lost(bale, tmp_path):
    """Names as ElementTree reads them; what it refuses is refused."""
    root, names, _ = voc(tmp_path)
    xml = root / "Annotations" / f"{names[0]}.xml"
    text = xml.read_text()
    xml.write_text(text.replace(">dog<", ">d<!-- &x; -->o<![CDATA[g & <cat> &x;]]> &amp;&#33;<"))
    bale.ok("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations")
    assert json.loads(fields_by_key(bale, tmp_path / "p")[names[0]]["boxes.json"])["names"] == ["dog & <cat> &x; &!", "person"]
    for changed, says in ((text + text, "a second <annotation> after the first"),
                          (text.replace(">dog<", "> <"), "an <object> whose <name> is empty"),
                          (text.replace(">dog<", ">caf&eacute;<"), "the entity &eacute; is not one of XML"),
                          (f'<!DOCTYPE annotation [<!ENTITY x "&#33;">]>{text.replace(">dog<", ">&x;<")}', "the entity &x; is not one of XML"),
                          (text.replace("</name>", "</name><name>cat</name>", 1), "a second <name> in an <object>"),
                          (text.replace("</bndbox>", "</bndbox><bndbox/>", 1), "a second <bndbox> in an <object>"),
                          (text.replace("<difficult>", "<difficult>0</difficult><difficult>", 1), "a second <difficult> in an <object>")):
        xml.write_text(changed)
        result = bale("pack", root / "JPEGImages", tmp_path / "q", "--annotations", root / "Annotations")
        assert result.code == 1 and f"{names[0]}.xml: {says}" in result.error_line() and "offset" in result.error_line()


@pytest.mark.parametrize(("encoding", "named", "packs"), [
    ("utf-8", "UTF-8", True), ("iso-8859-1", "ISO-8859-1", True), ("utf-16", "UTF-16", True), ("ascii", "GB2312", True),
    ("utf-8", "GB2312", False), ("cp1251", "windows-1251", False), ("latin-1", "UTF-8", False)])
def test_encodings_of_xml(bale, tmp_path, encoding, named, packs):
    """What another encoding has in common with ASCII is read, the rest is refused, whether or not it could be UTF-8."""
    root, names, _ = voc(tmp_path)
    xml = root / "Annotations" / f"{names[0]}.xml"
    word = {"ascii": "hot dog", "cp1251": "В°"}.get(encoding, "chöw")
    text = f'<?xml version="1.0" encoding="{named}"?>' + xml.read_text().replace(">dog<", f">{word}<")
    xml.write_bytes(text.encode(encoding))
    result = bale("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations")
    if packs:
        assert json.loads(fields_by_key(bale, tmp_path / "p")[names[0]]["boxes.json"])["names"][0] == word
    else:
        says = "" if named == "UTF-8" else f", and its first line says {named}"
        assert result.code == 1 and f"is not UTF-8{says} (key " in result.error_line(), result
        assert f"{names[0]}.xml: <name>: " in result.error_line() and "write the file in UTF-8" in result.error_line()


def test_xml_in_folders_of_classes(bale, tmp_path):
    """ILSVRC: the XML files lie as the images do, two of one name in different classes."""
    root, names, objects = voc(tmp_path)
    for folder, suffix in (("JPEGImages", "jpg"), ("Annotations", "xml")):
        for i, name in enumerate(names):
            (root / folder / f"n{i}").mkdir()
            (root / folder / f"{name}.{suffix}").rename(root / folder / f"n{i}" / f"x.{suffix}")
    bale.ok("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations")
    stored = {key: json.loads(fields["boxes.json"])["boxes"] for key, fields in fields_by_key(bale, tmp_path / "p").items()}
    assert stored == {f"n{i}/x": [list(box) for _, box, _ in objects[name]] for i, name in enumerate(names)}
    (root / "JPEGImages/n1/x.jpg").unlink()
    result = bale("pack", root / "JPEGImages", tmp_path / "q", "--annotations", root / "Annotations")
    assert result.code == 1 and "n1/x.xml: annotations of an image that is not in" in result.error_line()


# --- YOLO

YAMLS = ["names: [cat, 'big dog', \"x\"]\n", "# a\nnc: 3\nnames:\n- cat\n- big dog  # b\n- x\ntrain: images\n",
         "path: ..\nnames:\n  0: cat\n  1: 'big dog'\n  2: x\nnc: 3", "names: {0: cat, 1: big dog,\n  2: x}\n",
         "names:\n  [\n   'cat', 'big dog',\n   'x'  # c\n  ]\n"]


def yolo(tmp_path, yaml=YAMLS[0]):
    root = tmp_path / "data"
    images = make_images(root / "images" / "train", ["a.jpg", "b.png", "none.jpg", "empty.jpg"])
    labels = root / "labels" / "train"
    labels.mkdir(parents=True)
    lines = {"a": [(1, .5, .25, .2, .125), (0, .123456, .654321, .1, .3)], "b": [(2, .5, .5, 1, 1)], "empty": []}
    for name, boxes in lines.items():
        (labels / f"{name}.txt").write_text("".join(" ".join(map(str, box)) + "\n" for box in boxes))
    (root / "data.yaml").write_text(yaml)
    return root, images, labels, lines


@pytest.mark.parametrize("yaml", YAMLS)
def test_yolo(bale, tmp_path, yaml):
    root, images, labels, lines = yolo(tmp_path, yaml)
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert "1 images have no file of labels" in result.err
    assert list(bl.Dataset(tmp_path / "p").classes) == ["cat", "big dog", "x"]
    got = rows(bale, tmp_path / "p")
    assert set(got) == {"a", "b", "none", "empty"}
    for key, (boxes, numbers, stored) in got.items():
        width, height = Image.open(next(images.glob(f"{key}.*"))).size
        wanted = [[(x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height]
                  for _, x, y, w, h in lines.get(key, [])]
        assert np.array_equal(boxes, np.array(wanted, np.float32).reshape(-1, 4))
        assert list(numbers) == [line[0] for line in lines.get(key, [])]
        assert stored["yolo"] == [list(line[1:]) for line in lines.get(key, [])]


def test_yolo_labels_by_their_directory(bale, tmp_path):
    root, images, labels, lines = yolo(tmp_path)
    (labels / "classes.txt").write_text("cat\r\nbig dog\r\n\r\nx\r\n")
    bale.ok("pack", images, tmp_path / "p", "--annotations", labels)
    assert list(bl.Dataset(tmp_path / "p").classes) == ["cat", "big dog", "x"]
    bale.ok("pack", root / "images", tmp_path / "q", "--annotations", root / "labels", "--annotations-format", "yolo")
    assert set(rows(bale, tmp_path / "q")) == {f"train/{name}" for name in ("a", "b", "none", "empty")}
    (labels / "a.txt").write_text("0 0.1 0.2 0.5 0.2 0.5 0.9\n")
    bale.ok("pack", images, tmp_path / "r", "--annotations", root / "data.yaml", "--annotations-format", "yolo-polygons")
    width, height = Image.open(images / "a.jpg").size
    assert rows(bale, tmp_path / "r")["a"][0].tolist() == np.array([[.1 * width, .2 * height, .5 * width, .9 * height]], np.float32).tolist()


MORE_YAMLS = ["names : [cat, 'big dog', x]\nnc : 3\n", '{"nc": 3, "names": ["cat", "big dog", "x"]}', '{"names": {"0": "cat", "2": "x", "1": "big dog"}}',
              '"names": ["cat", "big dog", "x"]\n', "'names' : {0: cat, 1: big dog, 2: x}\n", "names: &names\n  0: &c cat\n  1: big dog\n  2: x\nnc: 3\n",
              "all: &n [cat, big dog, x]\nnames: *n\nnc: 3\n", "all: &n\n  - cat\n  - big dog\n  - x\nval: b\nnames: *n # those\nnc: 3\n",
              'names: ["c\\x61t", "big\\u0020dog", "\\x78"]\n', "%YAML 1.2\n---\nnames: &all [cat, big dog, x]\ntrain: a\n"]


@pytest.mark.parametrize("yaml", MORE_YAMLS)
def test_forms_of_yaml(bale, tmp_path, yaml):
    root, images, _, _ = yolo(tmp_path, yaml)
    bale.ok("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert list(bl.Dataset(tmp_path / "p").classes) == ["cat", "big dog", "x"]


@pytest.mark.parametrize("below,folder,data", [("images", "train", "../data.yaml"), ("images/train", ".", "../../data.yaml"),
                                               ("", "images/train", "data.yaml"), ("images/train", "../train", "../../data.yaml")])
def test_a_folder_named_relative_to_the_working_directory(bale, tmp_path, below, folder, data):
    root, images, _, lines = yolo(tmp_path)
    result = bale.ok("pack", folder, tmp_path / "p", "--annotations", data, cwd=root / below)
    assert "1 images have no file of labels" in result.err
    assert {key: len(found[1]) for key, found in rows(bale, tmp_path / "p").items()} == {"a": 2, "b": 1, "empty": 0, "none": 0}


@pytest.mark.parametrize("numbers", [2, 3])
@pytest.mark.parametrize("given", ["data.yaml", "labels/train", "classes.txt", "json"])
def test_poses(bale, tmp_path, numbers, given):
    """kpt_shape tells keypoints from polygons, also for the directory of the labels below it."""
    root, images, labels, _ = yolo(tmp_path)
    shape = f'"kpt_shape": [2, {numbers}]' if given == "json" else f"kpt_shape: [2, {numbers}]  # x, y\n"
    names = "[cat, big dog, x]"
    (root / "data.yaml").write_text('{"names": ["cat", "big dog", "x"], %s}' % shape if given == "json" else f"names: {names}\n{shape}")
    points = [(.25, .5, 1), (0, 0, 0)]
    for name in ("a", "b"):
        line = [1, .5, .5, .5, .25] + [value for point in points for value in point[:numbers]]
        (labels / f"{name}.txt").write_text(" ".join(map(str, line)) + "\n")
    (root / "classes.txt").write_text("cat\nbig dog\nx\n")
    place = "data.yaml" if given == "json" else given
    bale.ok("pack", images, tmp_path / "p", "--annotations", root / place)
    assert list(bl.Dataset(tmp_path / "p").classes) == ["cat", "big dog", "x"]
    width, height = Image.open(images / "a.jpg").size
    corners, numbers_of, stored = rows(bale, tmp_path / "p", field="keypoints.json")["a"]
    assert corners.tolist() == np.array([[.25 * width, .375 * height, .75 * width, .625 * height]], np.float32).tolist() and list(numbers_of) == [1]
    at, visible, _ = rows(bale, tmp_path / "p", "keypoints", "keypoints.json")["a"]
    assert at.tolist() == np.array([[.25 * width, .5 * height], [0, 0]], np.float32).tolist()
    assert list(visible) == ([1, 0] if numbers == 3 else [2, 0]) and stored[0]["category_id"] == 1
    (labels / "b.txt").write_text("1 .5 .5 .5 .25\n")
    result = bale("pack", images, tmp_path / "q", "--annotations", root / place)
    assert result.code == 1 and "b.txt" in result.error_line() and "kpt_shape" in result.error_line()


# What all lines of a dataset can be, by a.txt and b.txt: their points after class and box.
BOX, TWO, THREE = "1 .5 .5 .5 .25", "1 .5 .5 .5 .25 .25 .5 0 0", "1 .5 .5 .5 .25 .25 .5 1 .5 .5 0"
ONE_LENGTH = [([TWO], [TWO], "polygons or boxes with 2 keypoints of 2 numbers"),
              ([THREE], [], "polygons or boxes with 2 keypoints of 3 numbers"),  # no visibility is 2
              (["0 .9 .1 .2 .2 .3 .3"], ["0 .1 .2 .5 .2 .5 .9"] * 3, "polygons or boxes with 1 keypoints of 2 numbers")]


@pytest.mark.parametrize("given", ["data.yaml", "labels/train", "classes.txt"])
@pytest.mark.parametrize("a, b, says", ONE_LENGTH)
def test_lines_without_kpt_shape_that_may_be_two_things(bale, tmp_path, given, a, b, says):
    root, images, labels, _ = yolo(tmp_path)
    (root / "classes.txt").write_text("cat\nbig dog\nx\n")
    (labels / "a.txt").write_text("\n".join(a))
    (labels / "b.txt").write_text("\n".join(b))
    command = ("pack", images, tmp_path / "p", "--annotations", root / given)
    result = bale(*command)
    assert result.code == 2 and says in result.error_line() and "labels/train" in result.error_line()
    assert "--annotations-format yolo-polygons or yolo-pose, or a data.yaml with kpt_shape" in result.error_line()
    bale.ok(*command, "--annotations-format", "yolo-polygons")
    stored = rows(bale, tmp_path / "p")["a"][2]
    assert stored["yolo"] == [[float(word) for word in line.split()[1:]] for line in a]
    result = bale.ok(*command, "--overwrite", "--annotations-format", "yolo-pose")
    assert "the lines are " + says.split(" or ")[1] in result.err
    count, numbers = (int(word) for word in says.split() if word.isdigit())
    (stored,) = json.loads(fields_by_key(bale, tmp_path / "p")["a"]["keypoints.json"])
    assert len(stored["keypoints"]) == 3 * count and stored["keypoints"][2] == (1 if numbers == 3 else 2)


@pytest.mark.parametrize("a, b, numbers", [(THREE[:-1] + "2", "", 3), (THREE + " .1 .1 0", THREE + " .2 .2 1.0", 3),
                                           ("0 .5 .5 .1 .1 .5 .5 2.000000", "1 .5 .5 .1 .1 .5 .5 0", 3)])
def test_lines_that_are_poses_without_kpt_shape(bale, tmp_path, a, b, numbers):
    root, images, labels, _ = yolo(tmp_path)
    (labels / "a.txt").write_text(a)
    (labels / "b.txt").write_text(b)
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    count = (len(a.split()) - 5) // numbers
    assert f"no kpt_shape: the lines are boxes with {count} keypoints of {numbers} numbers" in result.err
    (stored,) = json.loads(fields_by_key(bale, tmp_path / "p")["a"]["keypoints.json"])
    assert stored["keypoints"][2::3] == [float(word) for word in a.split()[7::3]]


@pytest.mark.parametrize("a, b", [(TWO, BOX + "\n" + TWO + " .1 .1"), (BOX, TWO + "\n" + TWO + " .1 .1"), (TWO, TWO + " .1 .1"),
                                  (TWO + " 1 1\n" + TWO, "")])
def test_lines_of_several_lengths_are_boxes_and_polygons(bale, tmp_path, a, b):
    root, images, labels, _ = yolo(tmp_path)
    (labels / "a.txt").write_text(a)
    (labels / "b.txt").write_text(b)
    bale.ok("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert [len(numbers) + 1 for numbers in rows(bale, tmp_path / "p")["a"][2]["yolo"]] == [len(line.split()) for line in a.splitlines()]
    result = bale("pack", images, tmp_path / "q", "--annotations", root / "data.yaml", "--annotations-format", "yolo-pose")
    assert result.code == 2 and "not all lines are boxes with the same number of keypoints" in result.error_line()


@pytest.mark.parametrize("a, b", [(TWO, BOX), (BOX, TWO), (BOX + "\n" + THREE, ""), (THREE, BOX)])
def test_boxes_among_lines_that_may_be_two_things(bale, tmp_path, a, b):
    """Polygons among boxes, or poses of which some lost their points."""
    root, images, labels, _ = yolo(tmp_path)
    (labels / "a.txt").write_text(a)
    (labels / "b.txt").write_text(b)
    command = ("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    result = bale(*command)
    assert result.code == 2 and "all lines but those of boxes have" in result.error_line(), result
    assert "--annotations-format yolo-polygons or yolo-pose, or a data.yaml with kpt_shape" in result.error_line()
    result = bale(*command, "--annotations-format", "yolo-pose")
    assert result.code == 1 and "5 numbers, not the" in result.error_line() and ".txt" in result.error_line()
    bale.ok(*command, "--annotations-format", "yolo-polygons")
    assert [len(numbers) + 1 for numbers in rows(bale, tmp_path / "p")["a"][2]["yolo"]] == [len(line.split()) for line in a.splitlines()]


def test_boxes_among_poses_are_named(bale, tmp_path):
    """A visibility of 2 says that the others are poses."""
    root, images, labels, _ = yolo(tmp_path)
    (labels / "a.txt").write_text(BOX)
    (labels / "b.txt").write_text(THREE[:-1] + "2")
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert result.code == 1 and "a.txt" in result.error_line() and "5 numbers, not the 11 of a box with 2 keypoints" in result.error_line()


@pytest.mark.parametrize("line, says", [("0 0.5 0.5 0.1", "line 2: 4 numbers"), ("0 12 30 5 5", "not between 0 and 1"),
                                        ("7 0.5 0.5 0.1 0.1", "class 7"), ("0.5 0.5 0.5 0.1 0.1", "not a whole number"),
                                        ("a 0.5 0.5 0.1 0.1", "\"a\" is not a number"), ("0 nan 0.5 0.1 0.1", "not a number"),
                                        ("0 0,5 0.5 0.1 0.1", "\"0,5\" is not a number; write decimals with a point"),
                                        ("0 1e999 0.5 0.1 0.1", "not a number")])
def test_bad_labels_of_yolo(bale, tmp_path, line, says):
    root, images, labels, _ = yolo(tmp_path)
    (labels / "b.txt").write_text(f"0 0.5 0.5 0.5 0.5\n{line}\n")
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert result.code == 1 and says in result.error_line() and "b.txt" in result.error_line()
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml", "--on-error", "skip")
    assert result.code == 4 and set(fields_by_key(bale, tmp_path / "p")) == {"a", "none", "empty"}


def test_labels_without_an_image_and_turned_images(bale, tmp_path):
    root, images, labels, _ = yolo(tmp_path)
    bale.ok("pack", images, tmp_path / "lower", "--annotations", root / "data.yaml")
    (labels / "a.txt").rename(labels / "a.TXT")
    bale.ok("pack", images, tmp_path / "upper", "--annotations", root / "data.yaml")
    assert fields_by_key(bale, tmp_path / "upper") == fields_by_key(bale, tmp_path / "lower")
    for name in ("orphan.txt", "orphan.TXT"):
        (labels / name).write_text("0 0.5 0.5 0.5 0.5\n")
        result = bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
        assert result.code == 1 and f"{name}: labels of an image that does not exist" in result.error_line()
        assert bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml", "--on-error", "skip", "--overwrite").code == 4
        (labels / name).unlink()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (20, 10)).save(images / "a.jpg", exif=exif)
    result = bale("pack", images, tmp_path / "q", "--annotations", root / "data.yaml")
    assert result.code == 1 and "EXIF orientation" in result.error_line()


@pytest.mark.parametrize("yaml, says", [("nc: 3\n", "no `names`"), ("nc: 2\nnames: [a, b, c]\n", "nc is 2"), ("names: *x\n", "line 1"),
                                        ("\nnames: [a, b\n", "line 3"), ("names:\n  a: b\n", "line 2"), ("names: [[a]]", "line 1")])
def test_yaml_that_is_not_read(bale, tmp_path, yaml, says):
    root, images, _, _ = yolo(tmp_path, yaml)
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert result.code in (1, 2) and says in result.error_line() and "data.yaml" in result.error_line()


@pytest.mark.parametrize("form", ["./images/train/{}", "images/train/{}", "{root}/images/train/{}", "../images/train/{}"])
@pytest.mark.parametrize("given", ["data.yaml", "labels.csv"])
def test_the_images_of_a_list(bale, tmp_path, form, given):
    """YOLO's train.txt, relative to itself or to where one stands: its images in its order, and no orphans."""
    root, images, _, lines = yolo(tmp_path)
    (root / "labels.csv").write_text("filename,class,xmin,ymin,xmax,ymax\n" + "".join(
        f"{name},{label},1,2,3,4\n" for name, label in (("a.jpg", "cat"), ("a.jpg", "x"), ("b.png", "cat"), ("gone.jpg", "big dog"))))
    names = ["b.png", "none.jpg", "a.jpg"]
    (root / "sub").mkdir()
    list_path = root / ("sub" if form.startswith("..") else "") / "train.txt"
    list_path.write_text("\n".join(form.format(name, root=root) for name in names) + "\n")
    if form.startswith(".."):
        result = bale("pack", list_path, tmp_path / "p", "--annotations", root / given)
        assert result.code != 0 and "train.txt" in result.error_line() or ".." in result.error_line()
        return
    for cwd, path in ((tmp_path, list_path), (root, "train.txt")):
        out = tmp_path / f"p{cwd.name}"
        result = bale.ok("pack", path, out, "--annotations", root / given, cwd=cwd)
        stem = str(root)[1:] + "/images/train" if form.startswith("{root}") else "images/train"
        assert keys(bale, out) == [f"{stem}/{name[:-4]}" for name in names]
        assert {key.split("/")[-1]: len(found[1]) for key, found in rows(bale, out).items()} == {"a": 2, "b": 1, "none": 0}
        assert list(bl.Dataset(out).classes)[:2] == (["cat", "big dog"] if given == "data.yaml" else ["big dog", "cat"])
        assert "1 images have no file" in result.err or "1 of 3 images have no rows" in result.err
    coco = tmp_path / "coco.json"
    coco.write_text('{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": []}')
    result = bale("pack", list_path, tmp_path / "q", "--annotations", coco)
    assert result.code == 2 and "name the images" in result.error_line()


# --- all

def test_a_loader_delivers_boxes_and_masks(bale, tmp_path):
    root, names, objects = voc(tmp_path)
    for folder, mode in (("JPEGImages", "RGB"), ("SegmentationClass", "L")):
        for path in (root / folder).iterdir():
            Image.open(path).convert(mode).resize((40, 30)).save(path)
    bale.ok("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations", "--pair", "jpg,mask.png",
            "--pair-path", "mask.png=../SegmentationClass/{stem}.png")
    fields = {"mask": bl.Field("mask.png", kind="mask"), "boxes": bl.Field("boxes.json", kind="boxes"), "meta": bl.Field("boxes.json")}
    batch = next(iter(bl.Loader(tmp_path / "p", 3, shuffle=False, workers=0, transform=bl.transforms.Compose([bl.transforms.CenterCrop((30, 40))]),
                                fields=fields)))
    for i, name in enumerate(names):
        assert np.array_equal(batch.fields["mask"][i], np.asarray(Image.open(root / "SegmentationClass" / f"{name}.png")))
        assert batch.fields["boxes"][i].tolist() == [list(box) for _, box, _ in objects[name]]
        assert batch.fields["meta"][i]["labels"] == batch.fields.labels("boxes")[i].tolist()


def test_options_that_contradict_each_other(bale, tmp_path):
    root, images, labels, _ = yolo(tmp_path)
    yaml = root / "data.yaml"
    for options, says in ((["--flat"], "--flat"), (["--source", "tar"], "folder of images"),
                          (["--class-folders"], "--class-folders"), (["--annotations-format", "coco"], "data.yaml"),
                          (["--annotations-format", "x"], "choose one of"), (["--resize-short", "8"], "boxes.json")):
        result = bale("pack", images, tmp_path / "p", "--annotations", yaml, *options)
        assert result.code in (1, 2) and says in result.error_line(), (options, result)
    result = bale("pack", images, tmp_path / "p", "--annotations", yaml, "--annotations", labels)
    assert result.code == 2 and "one of its --annotations" in result.error_line() and "--pair" not in result.err
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "nothing.json")
    assert result.code == 1 and "no such annotations" in result.error_line()
