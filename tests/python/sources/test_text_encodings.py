"""Text files as Windows' programs save them: cp1252, and Excel's delimiters. Names of files may be any bytes."""
import os

import pytest
from annotation_support import make_images, rows
from conftest import class_names, labels_by_key, names_of

FAILURE, USAGE, SKIPS = 1, 2, 4
IMAGE = b"P6\n1 1\n255\nabc"
ICONV = "iconv -f WINDOWS-1252 -t UTF-8"
VOC = '<annotation><object><name>café</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>'


@pytest.fixture
def photos(tmp_path):
    for name in ("café/1.ppm", "tea/1.ppm"):
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_bytes(IMAGE)
    return tmp_path


@pytest.mark.parametrize("name,text,place", [
    ("t.csv", "path,label\ntea/1.ppm,tea\ncafé/1.ppm,tea\n", "line 3"), ("t.csv", "path,label\ntea/1.ppm,café\n", "line 2"),
    ("t.tsv", "path\tlabel\ntea/1.ppm\tcafé\n", "line 2"), ("t.csv", "path,café\ntea/1.ppm,x\n", "line 1"),
    ("l.txt", "tea/1.ppm\ncafé/1.ppm\n", "line 2"), ("l.txt", "tea/1.ppm tea\ntea/1.ppm café\n", "line 2"),
    ("l.txt", "café/1.ppm 0\ntea/1.ppm 1\n", "line 1"), ("t.jsonl", '{"path": "tea/1.ppm", "label": "café"}\n', "line 1")])
def test_tables_and_lists_in_cp1252(bale, photos, name, text, place):
    (photos / name).write_text(text, encoding="cp1252")
    result = bale("pack", photos / name, photos / "out", "--root", photos / "in")
    assert result.code in (FAILURE, USAGE) and ICONV in result.error_line(), result
    assert f"{name}: {place}" in result.error_line() and (name == "t.jsonl" or r"caf\xe9" in result.error_line()) and not (photos / "out/manifest.json").exists()
    (photos / name).write_text(text.replace("tea/1.ppm café\n", "café/1.ppm café\n"))
    bale.ok("pack", photos / name, photos / "out", "--root", photos / "in")


def test_other_columns_in_cp1252(bale, photos):
    """Such a row is a bad sample, as one that is damaged otherwise."""
    (photos / "t.csv").write_bytes(b"path,note\ntea/1.ppm,caf\xe9\n" + "café/1.ppm,fine\n".encode())
    result = bale("pack", photos / "t.csv", photos / "out", "--root", photos / "in")
    assert result.code == FAILURE and ICONV in result.error_line() and r"caf\xe9" in result.error_line(), result
    assert bale("pack", photos / "t.csv", photos / "skip", "--root", photos / "in", "--on-error", "skip").code == SKIPS


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_lists_in_utf16(bale, photos, encoding):
    """As PowerShell's > writes them: their NULs end no name, and a list of what to leave out is not passed over."""
    (photos / "l.txt").write_bytes("\ufefftea/1.ppm\r\n".encode(encoding))
    for source in (["l.txt", "--root", "in"], ["in", "--exclude-from", "l.txt"]):
        result = bale("pack", source[0], "out", *source[1:], cwd=photos)
        assert result.code == FAILURE and "l.txt: a text in UTF-16; save it in UTF-8" in result.error_line(), result


@pytest.mark.parametrize("text", ["café\ntea\n", "café,0\ntea,1\n", "0 café\n1 tea\n", '["café", "tea"]'])
def test_class_maps_in_cp1252(bale, photos, text):
    (photos / "map").write_text(text, encoding="cp1252")
    (photos / "t.csv").write_text("path,label\ntea/1.ppm,1\n")
    for source in ("t.csv", "in"):
        result = bale("pack", photos / source, photos / "out", "--class-map", photos / "map", *(["--root", photos / "in"] if source == "t.csv" else []))
        assert result.code == USAGE and ("map: line 1: " in result.error_line() or "[" in text) and ICONV in result.error_line()
    (photos / "map").write_text(text, encoding="utf-16")
    result = bale("pack", photos / "in", photos / "out", "--class-map", photos / "map")
    assert result.code == FAILURE and "map: a text in UTF-16; save it in UTF-8" in result.error_line()
    (photos / "map").write_text(text)
    bale.ok("pack", photos / "in", photos / "out", "--class-map", photos / "map")
    assert names_of(photos / "out") == ["café", "tea"]


@pytest.mark.parametrize("file,text", [
    ("labels/classes.txt", "tea\ncafé\n"), ("data.yaml", "names:\n- tea\n- café\n"), ("voc/a.xml", VOC),
    ("boxes.csv", "filename,class,xmin,ymin,xmax,ymax\na.jpg,café,1,1,5,5\n"), ("boxes.csv", "ImageID,LabelName\na,tea\na,café\n")])
def test_annotations_in_cp1252(bale, tmp_path, file, text):
    make_images(tmp_path / "images", ["a.jpg"])
    path = tmp_path / file
    for folder in {path.parent, tmp_path / "labels"}:
        folder.mkdir(exist_ok=True)
    (tmp_path / "labels/a.txt").write_text("1 .5 .5 .5 .5\n")
    path.write_text(text, encoding="cp1252")
    given = {"a.xml": path.parent, "classes.txt": path.parent}.get(path.name, path)
    result = bale("pack", tmp_path / "images", tmp_path / "out", "--annotations", given)
    assert result.code in (FAILURE, USAGE) and "not UTF-8" in result.error_line() and str(path) in result.error_line(), result
    path.write_text(text)
    bale.ok("pack", tmp_path / "images", tmp_path / "out", "--annotations", given)
    assert "café" in names_of(tmp_path / "out")


def test_names_of_files_may_be_any_bytes(bale, tmp_path):
    """As files of old systems are named: folders, and lists and tables that name such files by their bytes."""
    raw = b"caf\xe9"
    folder = os.fsencode(tmp_path) + b"/in/" + raw
    os.makedirs(folder)
    with open(folder + b"/1.ppm", "wb") as file:
        file.write(IMAGE)
    (tmp_path / "l.txt").write_bytes(raw + b"/1.ppm\n")
    (tmp_path / "t.csv").write_bytes(b"path,label\n" + raw + b"/1.ppm,0\n")
    (tmp_path / "map.json").write_text('[{"hex": "%s"}]' % raw.hex())
    for source in ("in", "l.txt", "t.csv"):
        bale.ok("pack", tmp_path / source, tmp_path / f"out-{source}", *([] if source == "in" else ["--root", tmp_path / "in"]))
    bale.ok("pack", tmp_path / "in", tmp_path / "mapped", "--class-map", tmp_path / "map.json")
    assert all(class_names(tmp_path / out) == [raw] for out in ("out-in", "out-l.txt", "mapped"))


def test_values_of_samples_in_cp1252(bale, photos):
    bale.ok("pack", photos / "in", photos / "out")
    (photos / "t.csv").write_text("key;caption\ntea/1;café\n", encoding="cp1252")
    result = bale("set", photos / "out", f"caption.txt={photos / 't.csv'}", "--missing", "keep")
    assert result.code == USAGE and "t.csv: line 2: " in result.error_line() and ICONV in result.error_line(), result


@pytest.mark.parametrize("first", ["sep=;\n", "\ufeffsep=;\r\n", '"sep=;"\r\n', "SEP=;\n"])
def test_the_delimiter_that_excel_writes(bale, photos, first):
    (photos / "t.csv").write_text(first + 'path;"a,b;label";label\ntea/1.ppm;x;tea\n', newline="")
    bale.ok("pack", photos / "t.csv", photos / "out", "--root", photos / "in")
    assert labels_by_key(bale, photos / "out") == {"tea/1": 0} and names_of(photos / "out") == ["tea"]
    (photos / "t.csv").write_text(first + "path;label\ntea/1.ppm\n", newline="")
    assert "t.csv: line 3: 1 cells" in bale("pack", photos / "t.csv", photos / "no", "--root", photos / "in").error_line()
    (photos / "map.csv").write_text(first + "name;index\ntea;1\ncafé;0\n", newline="")
    bale.ok("pack", photos / "in", photos / "mapped", "--class-map", photos / "map.csv")
    assert names_of(photos / "mapped") == ["café", "tea"]


def test_boxes_with_the_delimiter_that_excel_writes(bale, tmp_path):
    make_images(tmp_path / "images", ["a.jpg"])
    for i, first in enumerate(("", "sep=;\n")):
        (tmp_path / "boxes.csv").write_text(first + "filename;class;xmin;ymin;xmax;ymax\na.jpg;tea;1;2;5;6\n")
        bale.ok("pack", tmp_path / "images", tmp_path / f"out{i}", "--annotations", tmp_path / "boxes.csv")
        assert rows(bale, tmp_path / f"out{i}")["a"][0].tolist() == [[1, 2, 5, 6]]
