"""`bale pack FOLDER DST --annotations PATH`: COCO, Pascal VOC, YOLO and Open Images, against their own readers and formulas."""
import csv
import io
import json
import os
import random
import xml.etree.ElementTree as ElementTree

import bale as bl
import numpy as np
import pytest
from bale import _bale
from conftest import fields_by_key
from PIL import Image

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


# --- COCO

def coco(tmp_path, name="instances.json"):
    """Images out of order, one without annotations, one in a subfolder; polygons, a crowd, categories with gaps."""
    names = ["c.jpg", "a.jpg", "sub/b.jpg", "d.png", "empty.jpg"]
    images = make_images(tmp_path / "images", names)
    draw = random.Random(1)
    ids = [50, 3, 7, 1000000007, 4]
    listed = [{"id": i, "file_name": n, "width": Image.open(images / n).width, "height": Image.open(images / n).height}
              for i, n in zip(ids, names)]
    annotations = []
    for number in range(40):
        image = draw.choice(listed[:4])
        x, y = round(draw.uniform(0, 10), 2), draw.uniform(0, 10)
        crowd = number % 7 == 0
        annotations.append({"id": 900 - number, "image_id": image["id"], "bbox": [x, y, round(draw.uniform(1, 9), 3), 7],
                            "category_id": draw.choice([1, 3, 90]), "iscrowd": int(crowd), "area": 1.5 * number,
                            "segmentation": {"counts": [3, 4, 5], "size": [30, 40]} if crowd else [[x, y, x + 1, y, x, y + 2]],
                            "note": "ü \" \\ } ] {[" * (number % 3)})
    categories = [{"id": 90, "name": "toothbrush"}, {"id": 1, "name": "person"}, {"id": 3, "name": "car"}]
    path = tmp_path / name
    path.write_text(json.dumps({"info": {"x": [1, {"y": "]"}]}, "licenses": [], "annotations": annotations, "images": listed,
                                "categories": categories}, indent=1, ensure_ascii=False))
    return images, path


def test_coco_is_what_pycocotools_reads(bale, tmp_path):
    images, path = coco(tmp_path)
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", path)
    assert "1 of 5 images have no annotations" in result.err
    reader = pytest.importorskip("pycocotools.coco").COCO(path)
    order = sorted(reader.imgs)
    stored = fields_by_key(bale, tmp_path / "p")
    assert keys(bale, tmp_path / "p") == [os.path.splitext(reader.imgs[i]["file_name"])[0] for i in order]
    got = rows(bale, tmp_path / "p")
    for number in order:
        image = reader.imgs[number]
        key = os.path.splitext(image["file_name"])[0]
        wanted = reader.loadAnns(reader.getAnnIds(imgIds=[number]))
        assert json.loads(stored[key]["boxes.json"]) == wanted
        boxes, labels, parsed = got[key]
        assert parsed == wanted and list(labels) == [a["category_id"] for a in wanted]
        corners = np.array([a["bbox"] for a in wanted], np.float32).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        assert np.array_equal(boxes, corners)
    classes = bl.Dataset(tmp_path / "p").classes
    assert len(classes) == 91 and [classes[c["id"]] for c in reader.cats.values()] == [c["name"] for c in reader.cats.values()]
    bale.ok("verify", tmp_path / "p")


def test_several_files_of_coco(bale, tmp_path):
    images, path = coco(tmp_path)
    listed = json.loads(path.read_text())["images"]
    captions = tmp_path / "captions.json"
    texts = [{"id": i, "image_id": listed[i % 3]["id"], "caption": f"caption {i} ü\n"} for i in range(7)]
    captions.write_text(json.dumps({"images": listed, "annotations": texts}))
    points = tmp_path / "points.json"
    people = [{"id": 1, "image_id": listed[0]["id"], "bbox": [1, 2, 3, 4], "category_id": 1, "num_keypoints": 1,
               "keypoints": [1, 2.5, 2, 0, 0, 0]}]
    points.write_text(json.dumps({"images": listed, "annotations": people, "categories": [{"id": 1, "name": "person"}]}))
    bale.ok("pack", images, tmp_path / "p", "--annotations", path, "--annotations", captions)
    for image in listed:
        fields = fields_by_key(bale, tmp_path / "p")[os.path.splitext(image["file_name"])[0]]
        assert json.loads(fields["captions.json"]) == [t["caption"] for t in texts if t["image_id"] == image["id"]]
    bale.ok("pack", images, tmp_path / "q", "--annotations", points)
    at, seen, _ = rows(bale, tmp_path / "q", "keypoints", "keypoints.json")["c"]
    assert at.tolist() == [[1, 2.5], [0, 0]] and seen.tolist() == [2, 0]
    result = bale("pack", images, tmp_path / "r", "--annotations", path, "--annotations", points)
    assert result.code == 2 and "other classes" in result.error_line()


def test_coco_annotations_without_an_image(bale, tmp_path):
    images, path = coco(tmp_path)
    data = json.loads(path.read_text())
    data["images"] = [image for image in data["images"] if image["id"] not in (3, 7)]
    path.write_text(json.dumps(data))
    result = bale("pack", images, tmp_path / "p", "--annotations", path)
    assert result.code == 1 and "annotations of 2 ids that \"images\" does not have" in result.error_line()
    result = bale("pack", images, tmp_path / "p", "--annotations", path, "--on-error", "skip")
    assert result.code == 4 and "2 samples skipped" in result.err and "image that the annotations do not name" in result.err
    (line,) = (tmp_path / "p" / "skipped.jsonl").read_text().splitlines()
    assert "annotations of 2 ids" in line and set(fields_by_key(bale, tmp_path / "p")) == {"c", "d", "empty"}


def test_a_missing_image_and_a_bad_annotation_follow_the_policy(bale, tmp_path):
    images, path = coco(tmp_path)
    (images / "a.jpg").unlink()
    data = json.loads(path.read_text())
    bad = next(a for a in data["annotations"] if a["image_id"] == 50)
    bad["bbox"] = [1, 2, 3]
    text = json.dumps(data)
    path.write_text(text)
    result = bale("pack", images, tmp_path / "p", "--annotations", path, "--jobs", "1")
    assert result.code == 1 and "a.jpg: no such file" in result.error_line()
    result = bale("pack", images, tmp_path / "p", "--annotations", path, "--on-error", "skip")
    assert result.code == 4
    lines = sorted((json.loads(line) for line in (tmp_path / "p" / "skipped.jsonl").read_text().splitlines()), key=str)
    assert len(lines) == 2 and "without a \"bbox\" of four numbers" in str(lines).replace("\\", "")
    assert f"offset {text.index(json.dumps(bad))}" in str(lines)
    assert set(fields_by_key(bale, tmp_path / "p")) == {"sub/b", "d", "empty"}


def panoptic(tmp_path, name="panoptic_val", **changes):
    """Three images, their JSON, and the directory of PNGs beside it, whose pixels are ids: R + 256 G + 65536 B."""
    images, masks = tmp_path / "images", tmp_path / name
    images.mkdir()
    masks.mkdir()
    listed, annotations = [], []
    for number, key in enumerate(("b", "a", "c")):
        Image.new("RGB", (12, 8), (number * 9, 0, 0)).save(images / f"{key}.jpg")
        ids = np.full((8, 12), 1000 + number, np.uint32)
        ids[:, 6:] = 70000 + number
        Image.fromarray(np.stack([ids & 255, ids >> 8 & 255, ids >> 16], -1).astype(np.uint8)).save(masks / f"{key}.png")
        listed.append({"id": number + 1, "file_name": f"{key}.jpg", "width": 12, "height": 8})
        annotations.append({"image_id": number + 1, "file_name": f"{key}.png", "segments_info": [
            {"id": 1000 + number, "category_id": 1, "area": 48, "bbox": [0, 0, 6, 8], "iscrowd": 0},
            {"id": 70000 + number, "category_id": 3, "area": 48, "bbox": [6, 0, 6, 8], "iscrowd": 0}]})
    content = {"images": listed, "annotations": annotations[::-1],
               "categories": [{"id": 1, "name": "person", "isthing": 1}, {"id": 3, "name": "sky", "isthing": 0}]}
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps({**content, **changes}))
    return images, path, content


def test_panoptic(bale, tmp_path):
    images, path, content = panoptic(tmp_path)
    bale.ok("pack", images, tmp_path / "p", "--annotations", path)
    assert keys(bale, tmp_path / "p") == ["b", "a", "c"]  # in the order of their ids
    stored = fields_by_key(bale, tmp_path / "p")
    for annotation in content["annotations"]:
        key = annotation["file_name"].removesuffix(".png")
        assert set(stored[key]) == {"jpg", "panoptic.png", "segments.json"}
        assert stored[key]["panoptic.png"] == (tmp_path / "panoptic_val" / annotation["file_name"]).read_bytes()
        assert json.loads(stored[key]["segments.json"]) == annotation["segments_info"]
        pixels = np.asarray(Image.open(io.BytesIO(stored[key]["panoptic.png"])), np.uint32)
        ids = pixels[..., 0] + 256 * pixels[..., 1] + 65536 * pixels[..., 2]
        assert {int(i) for i in np.unique(ids)} == {segment["id"] for segment in annotation["segments_info"]}
    assert bl.Dataset(tmp_path / "p").classes == ["", "person", "", "sky"]
    bale.ok("verify", tmp_path / "p")
    bale.ok("pack", images, tmp_path / "p", "--annotations", path, "--resume")
    (tmp_path / "panoptic_val" / "a.png").write_bytes((tmp_path / "panoptic_val" / "b.png").read_bytes())
    assert bale("pack", images, tmp_path / "p", "--annotations", path, "--resume").code != 0  # also compared


def test_panoptic_masks_that_are_missing(bale, tmp_path):
    images, path, content = panoptic(tmp_path)
    (tmp_path / "panoptic_val" / "a.png").unlink()
    result = bale("pack", images, tmp_path / "p", "--annotations", path)
    assert result.code == 1 and "1 of 3 images have no panoptic annotation" in result.error_line() and "a.png does not exist" in result.error_line()
    result = bale("pack", images, tmp_path / "p", "--annotations", path, "--on-error", "skip")
    assert result.code == 4 and keys(bale, tmp_path / "p") == ["b", "c"]
    assert "1 of 3 images" in (tmp_path / "p" / "skipped.jsonl").read_text()
    path.write_text(json.dumps({**content, "annotations": content["annotations"][1:]}))  # and c has none
    result = bale("pack", images, tmp_path / "q", "--annotations", path, "--on-error", "skip")
    assert result.code == 4 and keys(bale, tmp_path / "q") == ["b"]
    (tmp_path / "panoptic_val").rename(tmp_path / "elsewhere")
    result = bale("pack", images, tmp_path / "r", "--annotations", path)
    assert result.code == 1 and "no directory with the PNGs" in result.error_line() and "unpack the zip" in result.error_line()


@pytest.mark.parametrize("change, says", [
    (lambda a: a.update(segments_info=[{"id": 1}]), "\"segments_info\""), (lambda a: a.update(segments_info=7), "\"segments_info\""),
    (lambda a: a.update(file_name="../b.png"), "is not the name of a PNG"), (lambda a: a.pop("file_name"), "without the \"file_name\""),
    (lambda a: a.update(image_id=1), "two panoptic annotations of one image"), (lambda a: a.pop("segments_info"), "and others do not")])
def test_panoptic_annotations_that_are_damaged(bale, tmp_path, change, says):
    images, path, content = panoptic(tmp_path)
    change(content["annotations"][0])
    path.write_text(json.dumps(content))
    result = bale("pack", images, tmp_path / "p", "--annotations", path)
    assert result.code == 1 and says in result.error_line() and str(path) in result.error_line()


def test_a_panoptic_mask_that_is_no_png(bale, tmp_path):
    images, path, _ = panoptic(tmp_path)
    mask = tmp_path / "panoptic_val" / "c.png"
    mask.write_bytes(b"x" * mask.stat().st_size)
    result = bale("pack", images, tmp_path / "p", "--annotations", path)
    assert result.code == 1 and "not a PNG" in result.error_line() and str(mask) in result.error_line()


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused_by_name_and_offset(bale, tmp_path, cut):
    images, path = coco(tmp_path)
    text = path.read_bytes()
    path.write_bytes(text[:int(len(text) * cut)])
    result = bale("pack", images, tmp_path / "p", "--annotations", path)
    assert result.code == 1 and str(path) in result.error_line() and "offset" in result.error_line()
    assert not (tmp_path / "p" / "manifest.json").exists()


@pytest.mark.parametrize("content, says", [
    ("[]", "not clear"), ("{}", "no \"images\""), ("{\"images\": [1]}", "not a JSON object"),
    ("{\"images\": [{\"id\": 1}]}", "without a \"file_name\""), ("{\"images\": [{\"id\": 1, \"file_name\": \"a.jpg\"},]}", "comma"),
    ("{\"images\": [{\"id\": 1, \"file_name\": \"../a.jpg\"}]}", "goes up"),
    ("{\"images\": [{\"id\": 1, \"file_name\": \"a.jpg\"}, {\"id\": 1, \"file_name\": \"b.jpg\"}]}", "two images have the id 1"),
    ("{\"images\": [" + "[" * 100000 + "]" * 100000 + "]}", "nested"),
    ("{\"images\": [], \"categories\": [{\"id\": -5, \"name\": \"x\"}]}", "-5"),
    ("{\"images\": []} x", "more after"),
])
def test_hostile_json(bale, tmp_path, content, says):
    images = make_images(tmp_path / "images", ["a.jpg", "b.jpg"])
    (tmp_path / "x.json").write_text(content)
    result = bale("pack", images, tmp_path / "p", "--annotations", tmp_path / "x.json")
    assert result.code in (1, 2) and says in result.error_line() and "x.json" in result.error_line()


def test_a_large_file_takes_little_memory(bale, tmp_path):
    images = make_images(tmp_path / "images", ["a.jpg", "b.jpg"])
    listed = [{"id": i, "file_name": n} for i, n in enumerate(["a.jpg", "b.jpg"])]
    with open(tmp_path / "large.json", "w") as file:
        file.write("{\"images\": " + json.dumps(listed) + ", \"annotations\": [")
        polygon = ",".join(str(i / 7) for i in range(20000))
        for i in range(300):
            file.write(("," if i else "") + f'{{"id":{i},"image_id":{i % 2},"category_id":1,"bbox":[0,0,1,1],"segmentation":[[{polygon}]]}}')
        file.write("]}")
    assert os.path.getsize(tmp_path / "large.json") > 100_000_000
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", tmp_path / "large.json", "--dry-run",
                     prefix=["prlimit", "--as=400000000"])
    assert "2 samples" in result.out


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
    bale.ok("pack", root / "JPEGImages", tmp_path / "p", "--annotations", root / "Annotations", "--pair", "jpg,mask.png",
            "--pair-path", "mask.png=../SegmentationClass/{stem}.png")
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
    bale.ok("pack", images, tmp_path / "r", "--annotations", root / "data.yaml")
    width, height = Image.open(images / "a.jpg").size
    assert rows(bale, tmp_path / "r")["a"][0].tolist() == np.array([[.1 * width, .2 * height, .5 * width, .9 * height]], np.float32).tolist()


@pytest.mark.parametrize("line, says", [("0 0.5 0.5 0.1", "line 2: 4 numbers"), ("0 12 30 5 5", "not between 0 and 1"),
                                        ("7 0.5 0.5 0.1 0.1", "class 7"), ("0.5 0.5 0.5 0.1 0.1", "not a whole number"),
                                        ("a 0.5 0.5 0.1 0.1", "\"a\" is not a number"), ("0 nan 0.5 0.1 0.1", "not a number"),
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
    (labels / "orphan.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert result.code == 1 and "orphan.txt: labels of an image that does not exist" in result.error_line()
    assert bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml", "--on-error", "skip").code == 4
    (labels / "orphan.txt").unlink()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (20, 10)).save(images / "a.jpg", exif=exif)
    result = bale("pack", images, tmp_path / "q", "--annotations", root / "data.yaml")
    assert result.code == 1 and "EXIF orientation" in result.error_line()


@pytest.mark.parametrize("yaml, says", [("nc: 3\n", "no `names`"), ("nc: 2\nnames: [a, b, c]\n", "nc is 2"), ("names: *x\n", "line 1"),
                                        ("\nnames: [a, b\n", "line 2"), ("names:\n  a: b\n", "line 2"), ("names: [[a]]", "line 1")])
def test_yaml_that_is_not_read(bale, tmp_path, yaml, says):
    root, images, _, _ = yolo(tmp_path, yaml)
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "data.yaml")
    assert result.code in (1, 2) and says in result.error_line() and "data.yaml" in result.error_line()


# --- Open Images

def open_images(tmp_path):
    images = make_images(tmp_path / "images", ["000002b66c9c498e.jpg", "000002b97e5471a0.jpg", "none.jpg"])
    boxes = [("000002b66c9c498e", "/m/01g317", .012500, .195312, .148438, .587500), ("000002b97e5471a0", "/m/0284d", .1, .2, .3, .4),
             ("000002b66c9c498e", "/m/0284d", 0, 1, .25, .5)]
    with open(tmp_path / "boxes.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow("ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside".split(","))
        for image, label, x0, x1, y0, y1 in boxes:
            table.writerow([image, "xclick", label, 1, x0, x1, y0, y1, 0, 1, 0, 0, -1])
    return images, tmp_path / "boxes.csv", boxes


def test_open_images(bale, tmp_path):
    images, table, boxes = open_images(tmp_path)
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", table)
    assert "1 of 3 images have no rows" in result.err
    classes = bl.Dataset(tmp_path / "p").classes
    got = rows(bale, tmp_path / "p")
    assert list(classes) == ["/m/01g317", "/m/0284d"] and len(got) == 3
    for key, (corners, labels, stored) in got.items():
        width, height = Image.open(images / f"{key}.jpg").size
        wanted = [row for row in boxes if row[0] == key]
        assert [classes[label] for label in labels] == [row[1] for row in wanted] == stored["names"]
        pixels = [[x0 * width, y0 * height, x1 * width, y1 * height] for _, _, x0, x1, y0, y1 in wanted]
        assert np.array_equal(corners, np.array(pixels, np.float32).reshape(-1, 4))
        assert stored["IsTruncated"] == [1] * len(wanted) and stored["IsInside"] == [-1] * len(wanted)
    (images / "000002b97e5471a0.jpg").unlink()
    result = bale("pack", images, tmp_path / "q", "--annotations", table)
    assert result.code == 1 and "boxes of 1 images that are not in" in result.error_line()
    assert bale("pack", images, tmp_path / "q", "--annotations", table, "--on-error", "skip").code == 4


def test_a_bad_row_is_named_by_its_line(bale, tmp_path):
    images, table, _ = open_images(tmp_path)
    text = table.read_text()
    table.write_text(text + "000002b66c9c498e,x\n")
    result = bale("pack", images, tmp_path / "p", "--annotations", table)
    assert result.code == 1 and "line 5: 2 cells" in result.error_line()
    table.write_text(text.replace("0.195312", "195312"))
    result = bale("pack", images, tmp_path / "p", "--annotations", table)
    assert result.code == 1 and "not between 0 and 1" in result.error_line() and "offset" in result.error_line()


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
    for options, says in ((["--flat"], "--flat"), (["--source", "tar"], "folder of images"), (["--class-map", yaml], "--class-map"),
                          (["--class-folders"], "--class-folders"), (["--annotations-format", "coco"], "data.yaml"),
                          (["--annotations-format", "x"], "choose one of"), (["--resize-short", "8"], "boxes.json")):
        result = bale("pack", images, tmp_path / "p", "--annotations", yaml, *options)
        assert result.code in (1, 2) and says in result.error_line(), (options, result)
    result = bale("pack", images, tmp_path / "p", "--annotations", root / "nothing.json")
    assert result.code == 1 and "no such annotations" in result.error_line()


@pytest.mark.parametrize("format_name", ["tar", "lmdb", "hdf5", "tfrecord"])
def test_a_resumed_run_compares_the_annotations(bale, tmp_path, format_name):
    images, path = coco(tmp_path)
    pack = ["pack", images, tmp_path / "p", "--annotations", path, "--shard-count", "3", "--format", format_name]
    bale.ok(*pack)
    before = fields_by_key(bale, tmp_path / "p")
    os.remove(next((tmp_path / "p").glob("*00001*")))
    bale.ok(*pack, "--resume")
    assert fields_by_key(bale, tmp_path / "p") == before
    text = path.read_text()
    path.write_text(text.replace("\"area\": 1.5", "\"area\": 2.5"))
    result = bale(*pack, "--resume")
    assert result.code != 0


def test_annotations_are_packed_in_one_run(bale, tmp_path):
    images, path = coco(tmp_path)
    result = bale("plan", images, tmp_path / "p", "-o", tmp_path / "plan", "--annotations", path)
    assert result.code == 1 and "cannot be planned" in result.error_line()
