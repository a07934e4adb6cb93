"""Annotations that say another size of an image than its file: their boxes would be wrong."""
import json

import pytest
from annotation_support import SIZES, make_images
from conftest import manifest_of

import bale as bl

XML = ("<annotation><size><width>{}</width><height>{}</height></size><object><name>x</name><bndbox>"
       "<xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object></annotation>")


def annotated(tmp_path, kind, sizes, box=(1, 2, 3, 4)):
    """a.jpg, b.jpg and c.jpg, and annotations that say these sizes of them. All have the same box."""
    images = make_images(tmp_path / "images", ["a.jpg", "b.jpg", "c.jpg"])
    rows = [(f"{name}.jpg", *size) for name, size in zip("abc", sizes)]
    if kind == "coco":
        (tmp_path / "coco.json").write_text(json.dumps({
            "images": [{"id": i, "file_name": name, "width": width, "height": height} for i, (name, width, height) in enumerate(rows)],
            "annotations": [{"id": i, "image_id": i, "category_id": 0, "bbox": box} for i in range(3)], "categories": [{"id": 0, "name": "x"}]}))
        return images, tmp_path / "coco.json"
    if kind == "csv":
        (tmp_path / "boxes.csv").write_text("filename,width,height,class,xmin,ymin,xmax,ymax\n" +
                                            "".join(f"{name},{width},{height},x,{','.join(map(str, box))}\n" for name, width, height in rows))
        return images, tmp_path / "boxes.csv"
    (tmp_path / "xml").mkdir()
    for name, width, height in rows:
        (tmp_path / "xml" / name.replace("jpg", "xml")).write_text(XML.format(width, height, *box))
    return images, tmp_path / "xml"


@pytest.mark.parametrize("kind", ["coco", "csv", "voc"])
def test_sizes_that_contradict_the_files(bale, tmp_path, kind):
    images, annotations = annotated(tmp_path, kind, [SIZES[0], (SIZES[1][1], SIZES[1][0]), (640, 480)])
    result = bale.ok("pack", images, tmp_path / "out", "--annotations", annotations)
    assert f"{annotations}: 2 images have another size than the annotations say" in result.err and "b.jpg of 31 x 47, not 47 x 31" in result.err
    report = json.loads(bale.ok("pack", images, tmp_path / "json", "--annotations", annotations, "--json", "--where", "index > 1").out)
    assert "1 image has another size" in report["notices"]["warnings"][0]["what"]
    result = bale("pack", images, tmp_path / "strict", "--annotations", annotations, "--strict", "--on-error", "skip")
    assert result.code == 4 and result.err.count("as the annotations say") == 2 and manifest_of(tmp_path / "strict")["num_samples"] == 1
    with pytest.warns(UserWarning, match="2 images have another size"):
        bl.pack(images, tmp_path / "python", annotations=[annotations])


@pytest.mark.parametrize("kind", ["coco", "csv", "voc"])
def test_sizes_that_are_right_or_unknown(bale, tmp_path, kind):
    images, annotations = annotated(tmp_path, kind, [SIZES[0], (0, 0), SIZES[2]])
    assert "another size" not in bale.ok("pack", images, tmp_path / "out", "--annotations", annotations).err


@pytest.mark.parametrize("kind", ["coco", "csv", "voc"])
@pytest.mark.parametrize("box,is_said", [((0.1, 0.25, 0.5, 1), True), ((0, 0, 1, 1), False), ((0.1, 0.25, 0.5, 1.5), False)])
def test_boxes_in_pixels_that_look_like_parts_of_the_sides(bale, tmp_path, kind, box, is_said):
    images, annotations = annotated(tmp_path, kind, SIZES, box)
    result = bale.ok("pack", images, tmp_path / "out", "--annotations", annotations)
    assert (f"{annotations}: no coordinate is larger than 1: these look like parts of" in result.err) == is_said, result


def test_no_object_in_any_file_of_voc(bale, tmp_path):
    """Such as files that have their objects in another element."""
    images, annotations = annotated(tmp_path, "voc", SIZES)
    for path in annotations.iterdir():
        path.write_text(path.read_text().replace("<object>", "<objects><object>").replace("</object>", "</object></objects>"))
    assert "no <annotation> has an <object>" in bale.ok("pack", images, tmp_path / "out", "--annotations", annotations).err
