"""`bale pack FOLDER DST --annotations PATH`: the tables of Open Images, and others of boxes."""
import csv
import json

import numpy as np
import pytest
from annotation_support import make_images, rows
from conftest import fields_by_key
from PIL import Image

import bale as bl


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
    assert "1 of 3 images have no rows" in result.err and "columns that no field has: Source\n" in result.err
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


def test_blanks_around_cells(bale, tmp_path):
    """A class with a blank after it is the same class, as in tables of images."""
    images = make_images(tmp_path / "images", ["a.jpg", "b.jpg"])
    (tmp_path / "boxes.csv").write_text("filename,class,xmin,ymin,xmax,ymax\na.jpg,cat,1,2,3,4\nb.jpg , cat ,1,2, 3,4\na.jpg,dog,1,2,3,4\nb.jpg, , ,,,\n")
    bale.ok("pack", images, tmp_path / "p", "--annotations", tmp_path / "boxes.csv")
    assert list(bl.Dataset(tmp_path / "p").classes) == ["cat", "dog"]
    got = rows(bale, tmp_path / "p")
    assert got["a"][1].tolist() == [0, 1] and got["b"][1].tolist() == [0] and got["b"][2]["names"] == ["cat"]


def test_labels_of_whole_images(bale, tmp_path):
    """Open Images' image-level labels; --class-map numbers them."""
    images = make_images(tmp_path / "images", ["000a.jpg", "000b.jpg", "none.jpg"])
    table = tmp_path / "labels.csv"
    table.write_text("ImageID,Source,LabelName,Confidence\n000a,verification,/m/0c,1\n000b,machine,/m/0a,0.7\n000a,verification,/m/0a,0\n")
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", table)
    assert "1 of 3 images have no rows; they are packed without labels" in result.err
    stored = {key: json.loads(fields["image_labels.json"]) for key, fields in fields_by_key(bale, tmp_path / "p").items()}
    assert stored["000a"] == {"labels": [1, 0], "names": ["/m/0c", "/m/0a"], "Confidence": [1, 0]} and stored["none"]["labels"] == []
    assert list(bl.Dataset(tmp_path / "p").classes) == ["/m/0a", "/m/0c"]
    (tmp_path / "map").write_text("/m/0b,b\n/m/0c,c\n/m/0a,a\n")
    bale.ok("pack", images, tmp_path / "q", "--annotations", table, "--class-map", tmp_path / "map")
    assert json.loads(fields_by_key(bale, tmp_path / "q")["000a"]["image_labels.json"])["labels"] == [1, 2]
    table.write_text(table.read_text() + "gone,machine,/m/0a,1\n")
    result = bale("pack", images, tmp_path / "r", "--annotations", table)
    assert result.code == 1 and "labels of 1 images that are not in" in result.error_line()


@pytest.mark.parametrize("header", ["filename,width,height,class,xmin,ymin,xmax,ymax", "image, label, x1, y1, x2, y2", "path,name,x0,y0,x1,y1,score"])
@pytest.mark.parametrize("names", [True, False])
def test_tables_of_boxes_in_pixels(bale, tmp_path, header, names):
    """Roboflow's, TensorFlow's and others': one box per row, files by their names, classes as names or numbers."""
    images = make_images(tmp_path / "images", ["sub/a.b.jpg", "c.jpg", "none.jpg", "empty.jpg"])
    classes = ["dog", "cat"] if names else [7, 2]
    boxes = [("sub/a.b.jpg", classes[0], (1, 2, 30, 20.5)), ("c.jpg", classes[1], (0, 0, 5, 6)), ("./sub/a.b.jpg" if names else "a.b.jpg", classes[1], (3, 4, 5, 6))]
    columns = [name.strip() for name in header.split(",")]
    lines = [header]
    for name, label, (x0, y0, x1, y1) in boxes:
        row = {**dict.fromkeys(columns, "40"), columns[0]: name, "score": "0.5"}
        corner = [column for column in columns if column[0] in "xy" and column != "y"][-4:]
        row.update(zip(corner, map(str, (x0, y0, x1, y1))))
        row[next(column for column in columns if column in ("class", "label", "name"))] = str(label)
        lines.append(",".join(row[column] for column in columns))
    lines.append("empty.jpg" + "," * (len(columns) - 1) if "width" not in columns else "empty.jpg,40,30,,,,,")
    (tmp_path / "boxes.csv").write_text("\r\n".join(lines) + "\r\n")
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", tmp_path / "boxes.csv")
    assert "1 of 4 images have no rows" in result.err
    got = rows(bale, tmp_path / "p")
    assert got["sub/a%2Eb"][0].tolist() == [[1, 2, 30, 20.5], [3, 4, 5, 6]] and got["c"][0].tolist() == [[0, 0, 5, 6]]
    assert len(got["empty"][0]) == len(got["none"][0]) == 0
    numbers = [1, 0] if names else classes
    assert list(got["sub/a%2Eb"][1]) == numbers and list(got["c"][1]) == [numbers[1]]
    stored = got["sub/a%2Eb"][2]
    assert stored.get("names") == (classes if names else None) and stored.get("score") == ([.5, .5] if "score" in columns else None)
    assert list(bl.Dataset(tmp_path / "p").classes) == (["cat", "dog"] if names else [])
    (tmp_path / "boxes.csv").write_text("filename,class,xmin,ymin,xmax\n")
    result = bale("pack", images, tmp_path / "q", "--annotations", tmp_path / "boxes.csv")
    assert result.code == 2 and "boxes.csv: line 1: no column \"ymax\"" in result.error_line()


def test_columns_that_are_called_as_members_or_as_each_other(bale, tmp_path):
    images = make_images(tmp_path / "images", ["a.jpg"])
    (tmp_path / "boxes.csv").write_text("filename,class,xmin,ymin,xmax,ymax,names,labels,score,score\na.jpg,cat,1,2,3,4,5,6,7,8\n")
    result = bale.ok("pack", images, tmp_path / "p", "--annotations", tmp_path / "boxes.csv")
    assert "columns that no field has: names, labels" in result.err
    text = fields_by_key(bale, tmp_path / "p")["a"]["boxes.json"]
    assert json.loads(text) == {"boxes": [[1, 2, 3, 4]], "labels": [0], "names": ["cat"], "score": [7], "score.1": [8]} and text.count(b"names") == 1


def test_a_bad_row_is_named_by_its_line(bale, tmp_path):
    images, table, _ = open_images(tmp_path)
    text = table.read_text()
    table.write_text(text + "000002b66c9c498e,x\n")
    result = bale("pack", images, tmp_path / "p", "--annotations", table)
    assert result.code == 1 and "line 5: 2 cells" in result.error_line()
    table.write_text(text.replace("0.195312", "195312"))
    result = bale("pack", images, tmp_path / "p", "--annotations", table)
    assert result.code == 1 and "not between 0 and 1" in result.error_line() and "offset" in result.error_line()
