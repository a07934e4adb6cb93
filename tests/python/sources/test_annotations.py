"""`bale pack FOLDER DST --annotations PATH`: COCO, against its own reader, and resuming. Others: test_annotations_voc_yolo.py."""
import io
import json
import os
import random

import numpy as np
import pytest
from annotation_support import keys, make_images, rows
from conftest import fields_by_key
from PIL import Image

import bale as bl

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


@pytest.mark.parametrize("kind", ["instances", "keypoints"])
def test_coco_as_others_write_it(bale, tmp_path, kind):
    """Numbers and names as Python reads them: 1.0 is 1, NaN is a number of an area, ./x.jpg is x.jpg, LVIS names images by URLs."""
    images, path = coco(tmp_path / "in")
    data = json.loads(path.read_text())
    if kind == "keypoints":
        for annotation in data["annotations"]:
            annotation["keypoints"] = [1, 2, 2]
    path.write_text(json.dumps(data))
    bale.ok("pack", images, tmp_path / "p", "--annotations", path)
    wanted, order = fields_by_key(bale, tmp_path / "p"), keys(bale, tmp_path / "p")
    odd = json.loads(json.dumps(data))
    for number, image in enumerate(odd["images"]):
        image["id"] = float(image["id"])
        image["file_name"] = ["./", ".//./", ""][number % 3] + image["file_name"]
    for number, annotation in enumerate(odd["annotations"]):
        annotation["image_id"], annotation["note"] = [annotation["image_id"], float(annotation["image_id"])][number % 2], 'NaN "-Infinity'
        annotation["area"] = [float("nan"), float("inf"), 1.5][number % 3]
        annotation["category_id"] = [annotation["category_id"], float(annotation["category_id"])][number % 4 // 3]
    for category in odd["categories"]:
        category["id"] = float(category["id"])
    path.write_text(json.dumps(odd))
    result = bale.ok("pack", images, tmp_path / "q", "--annotations", path)
    assert "ignored" not in result.err and keys(bale, tmp_path / "q") == order
    field = "boxes.json" if kind == "instances" else "keypoints.json"
    for key, fields in fields_by_key(bale, tmp_path / "q").items():
        before, after = json.loads(wanted[key][field]), json.loads(fields[field], parse_constant=pytest.fail)
        assert [{**a, "area": 0, "note": 0} for a in after] == [{**b, "area": 0, "note": 0} for b in before]
        assert all(a["note"] == 'NaN "-Infinity' and a["area"] in (None, 1.5) and isinstance(a["category_id"], int) for a in after)
    assert bl.Dataset(tmp_path / "q").classes == bl.Dataset(tmp_path / "p").classes
    for image in data["images"]:
        image["coco_url"] = f"http://images.cocodataset.org/images/{image.pop('file_name').split('/')[-1]}"
    (images / "sub/b.jpg").rename(images / "b.jpg")
    path.write_text(json.dumps(data))
    for number, (folder, prefix) in enumerate([(images, ""), (tmp_path / "in", "images/")]):
        bale.ok("pack", folder, tmp_path / f"r{number}", "--annotations", path)
        assert keys(bale, tmp_path / f"r{number}") == [prefix + key.split("/")[-1] for key in order]
        stored = fields_by_key(bale, tmp_path / f"r{number}")
        assert all(stored[prefix + key.split("/")[-1]][field] == wanted[key][field] for key in order)


def test_coco_with_other_places_of_images(bale, tmp_path):
    """Absolute paths and names without an extension are files of the folder; those of another folder are missing."""
    images, path = coco(tmp_path)
    data = json.loads(path.read_text())
    order = [os.path.splitext(image["file_name"])[0] for image in sorted(data["images"], key=lambda image: image["id"])]
    for number, image in enumerate(data["images"]):
        image["file_name"] = str(images / image["file_name"]) if number % 2 else os.path.splitext(image["file_name"])[0]
    path.write_text(json.dumps(data))
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", path)
    assert keys(bale, tmp_path / "p") == order and "ignored" not in result.err
    for image in data["images"]:
        image["file_name"] = "elsewhere/a.jpg"
    data["images"] = data["images"][:1]
    data["annotations"] = []
    path.write_text(json.dumps(data))
    result = bale("pack", images, tmp_path / "q", "--annotations", path)
    assert result.code == 1 and "those of annotations in the folder of the images" in result.error_line() and "ignored 5 paths" in result.err


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
    instances = json.loads(path.read_text())
    captioned = tmp_path / "captioned.json"  # captions of boxes
    captioned.write_text(json.dumps({**instances, "annotations": [{**one, "caption": "x"} for one in instances["annotations"]]}))
    bale.ok("pack", images, tmp_path / "s", "--annotations", captioned)
    assert all("boxes.json" in fields for fields in fields_by_key(bale, tmp_path / "s").values())
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
    """Three images, their JSON, and the directory of PNGs next to it, whose pixels are ids: R + 256 G + 65536 B."""
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


def test_a_panoptic_mask_that_is_not_a_png(bale, tmp_path):
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
    ("{\"images\": []} x", "more after"), ("{\"images\": [], \"annotations\": {\"1\": {}}}", "\"annotations\" is not an array"),
    ("{\"images\": []}".encode("utf-16"), "a text in UTF-16; save it in UTF-8"),
])
def test_hostile_json(bale, tmp_path, content, says):
    images = make_images(tmp_path / "images", ["a.jpg", "b.jpg"])
    (tmp_path / "x.json").write_bytes(content if isinstance(content, bytes) else content.encode())
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


# --- all

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
