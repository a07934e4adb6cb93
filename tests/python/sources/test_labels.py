"""What sources say of classes, as numbers and names: one rule for folders, lists, tables, archives, packs and annotations."""
import io
import json
import shutil
import tarfile
import zipfile

import pytest
from conftest import fields_by_key, labels_by_key, names_of

FAILURE, USAGE, SKIPS = 1, 2, 4
IMAGE = b"P6\n1 1\n255\nabc"


@pytest.fixture
def images(tmp_path):
    """Images 0 to 11."""
    for i in range(12):
        (tmp_path / f"{i}.ppm").write_bytes(IMAGE[:-1] + bytes([i]))
    return tmp_path


def table_of(path, cells, header="path,label", row="{image},{cell}"):
    path.write_text("\n".join([header, *(row.format(image=f"{i}.ppm", cell=cell) for i, cell in enumerate(cells))]) + "\n")
    return path


def jsonl_of(path, cells):
    path.write_text("".join(f'{{"path": "{i}.ppm", "label": {cell}}}\n' for i, cell in enumerate(cells)))
    return path


def pack_table(bale, table, out, *options):
    """The labels by row, the names and the report."""
    report = json.loads(bale.ok("pack", table, out, "--json", *options).out)
    got = labels_by_key(bale, out)
    stored = {key: fields.get("cls") for key, fields in fields_by_key(bale, out).items()}
    assert all(stored[key] == (None if label is None else b"%d" % label) for key, label in got.items())
    return [got[str(i)] for i in range(len(got))], names_of(out), report


# --- tables: numbers or names

@pytest.mark.parametrize("cells", [["2", "10", "3"], ["2.0", "10.0", "3.0"], ["2", "10.", "3.00"], [" 2", "10 ", "\"3\""], ["2", "1e1", "3"]])
def test_whole_numbers_stay_numbers(bale, images, tmp_path, cells):
    labels, names, report = pack_table(bale, table_of(tmp_path / "t.csv", cells), tmp_path / "out")
    assert labels == [2, 10, 3] and names == []
    assert report["labels"] == {"reading": "numbers", "column": "label", "missing": 0}
    assert 'labels: numbers in the column "label"' in bale.ok("pack", tmp_path / "t.csv", tmp_path / "told").out
    assert 'labels: numbers in the column "label"' in bale.ok("plan", tmp_path / "t.csv", tmp_path / "x", "-o", tmp_path / "plan").out


def test_a_column_that_says_something_else_of_nearly_every_image_is_warned_of(bale, tmp_path):
    """As LOC_val_solution.csv of ImageNet has class and boxes in one column."""
    for i in range(1000):
        (tmp_path / f"{i}.ppm").write_bytes(IMAGE)
    found = [bale.ok("pack", table_of(tmp_path / f"{name}.csv", cells), tmp_path / name)
             for name, cells in {"boxes": [f"n0{i % 7} {i} 2 3 4" for i in range(1000)], "classes": [f"n{i // 2}" for i in range(1000)]}.items()]
    assert 'the column "label" has 1000 labels for 1000 images (such as "n00 0 2 3 4"), so that it may not be the class' in found[0].err
    assert "may not be the class" not in found[1].err


def test_names_are_names(bale, images, tmp_path):
    labels, names, report = pack_table(bale, table_of(tmp_path / "t.csv", ["dog", "cat ", "dog"]), tmp_path / "out")
    assert (labels, names, report["labels"]["reading"]) == ([1, 0, 1], ["cat", "dog"], "names")


@pytest.mark.parametrize("cells,line,cell", [
    (["2", "10", "x1", "3"], 4, "x1"), (["2", "3", "inf"], 4, "inf"), (["cat", "3", "dog"], 2, "cat"), (["1", "1,5"], 3, "1,5"),
    (["0x10", "3"], 2, "0x10"), (["1", "2.5"], 3, "2.5"), (["0.25", "0.5"], 2, "0.25"), (["1", "99999999999999999999"], 3, "99999999999999999999")])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_a_column_of_both_is_refused(bale, images, tmp_path, cells, line, cell, kind):
    """The message has file, line and cell, whatever the rest of the column is."""
    if kind == "jsonl":
        table, line = jsonl_of(tmp_path / "t.jsonl", [json.dumps(cell) for cell in cells]), line - 1
    elif kind == "tsv":
        table = table_of(tmp_path / "t.tsv", cells, "path\tlabel", "{image}\t{cell}")
    else:
        table = table_of(tmp_path / "t.csv", [f'"{cell}"' for cell in cells])
    result = bale("pack", table, tmp_path / "out")
    said = result.error_line()
    assert result.code == USAGE and f"{table}: line {line}: " in said and f'"{cell}"' in said, result
    assert ("--flat" if cell in ("2.5", "0.25", "99999999999999999999") else "--class-map") in said
    assert not (tmp_path / "out").exists()


def test_numbers_in_jsonl(bale, images, tmp_path):
    labels, names, _ = pack_table(bale, jsonl_of(tmp_path / "t.jsonl", ["2", "10.0", '"3"']), tmp_path / "out")
    assert labels == [2, 10, 3] and names == []
    result = bale("pack", jsonl_of(tmp_path / "u.jsonl", ["2", "0.5"]), tmp_path / "no")
    assert result.code == USAGE and "u.jsonl: line 2: " in result.error_line() and '"0.5"' in result.error_line()


def test_fractions_are_kept_as_a_field(bale, images, tmp_path):
    """As the message says: --flat makes the column one of the others."""
    labels, _, report = pack_table(bale, table_of(tmp_path / "t.csv", ["0.5", "0.25"]), tmp_path / "out", "--flat")
    assert labels == [None, None] and report["labels"] == {"reading": None, "column": None, "missing": 0}
    assert fields_by_key(bale, tmp_path / "out")["1"]["json"] == b'{"label":"0.25"}'


@pytest.mark.parametrize("missing", ["", " ", "n/a", "nan", "NaN", "NA", "N/A", "None", "null", "NULL", "<NA>", "#N/A"])
@pytest.mark.parametrize("others", [["2", "10"], ["2.0", "10.0"], ["cat", "dog"]])
def test_cells_without_a_label(bale, images, tmp_path, missing, others):
    table = table_of(tmp_path / "t.csv", [others[0], missing, others[1]])
    result = bale("pack", table, tmp_path / "out")
    assert result.code == USAGE and "t.csv: line 3: " in result.error_line() and "--allow-unlabeled" in result.error_line()
    labels, _, report = pack_table(bale, table, tmp_path / "out", "--allow-unlabeled")
    assert labels == ([0, None, 1] if others == ["cat", "dog"] else [2, None, 10]) and report["labels"]["missing"] == 1


def test_rows_of_jsonl_without_a_label(bale, images, tmp_path):
    table = tmp_path / "t.jsonl"
    table.write_text('{"path": "0.ppm", "y": 1}\n{"path": "1.ppm", "class": 7}\n{"path": "2.ppm", "y": null}\n')
    result = bale("pack", table, tmp_path / "out")
    assert result.code == USAGE and "t.jsonl: line 2: " in result.error_line()
    labels, _, report = pack_table(bale, table, tmp_path / "out", "--allow-unlabeled")
    assert labels == [1, None, None] and report["labels"] == {"reading": "numbers", "column": "y", "missing": 2}


def test_a_missing_word_that_is_a_class(bale, images, tmp_path):
    (tmp_path / "map").write_text("None\nscratch\n")
    labels, names, _ = pack_table(bale, table_of(tmp_path / "t.csv", ["scratch", "None"]), tmp_path / "out", "--class-map", tmp_path / "map")
    assert labels == [1, 0] and names == ["None", "scratch"]


# --- tables: which column

@pytest.mark.parametrize("header,row", [("path, label", "{image}, {cell}"), ("label , path", "{cell} , {image}"), ("path,\tlabel", "{image},\t{cell}"),
                                        (" path,LABEL ", "{image},{cell}"), ('path, "label"', '{image}, "{cell}"')])
def test_spaces_around_the_header(bale, images, tmp_path, header, row):
    labels, names, _ = pack_table(bale, table_of(tmp_path / "t.csv", ["2", "0"], header, row), tmp_path / "out")
    assert labels == [2, 0] and names == []


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_no_column_of_labels(bale, images, tmp_path, name):
    """It is said, with the option that names one; --flat asks for it."""
    if name == "t.csv":
        table_of(tmp_path / name, ["pug", "collie"], "path,breed")
    else:
        (tmp_path / name).write_text('{"path": "0.ppm", "breed": "pug"}\n{"path": "1.ppm", "breed": "collie"}\n')
    result = bale.ok("pack", tmp_path / name, tmp_path / "out")
    assert "without labels" in result.err and "breed" in result.err and "--label-column" in result.err
    assert labels_by_key(bale, tmp_path / "out") == {"0": None, "1": None}
    assert bale.ok("pack", tmp_path / name, tmp_path / "flat", "--flat").err.count("label") == 0
    labels, names, _ = pack_table(bale, tmp_path / name, tmp_path / "named", "--label-column", "breed")
    assert labels == [1, 0] and names == ["collie", "pug"]
    result = bale("pack", tmp_path / name, tmp_path / "none", "--label-column", "race")
    assert result.code == USAGE and "breed" in result.error_line()


def test_a_table_of_paths_alone_has_no_labels(bale, images, tmp_path):
    (tmp_path / "t.csv").write_text("path\n0.ppm\n")
    assert "label" not in bale.ok("pack", tmp_path / "t.csv", tmp_path / "out").err


# --- class maps, for every source

MAP = {"cat": 5, "dog": 2, "emu": 0}


def add_member(tar, name, data):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def sources(root):
    """The same classes, cat and dog, as every kind of source; key stems are the class's."""
    root.mkdir()
    for name in ("cat", "dog"):
        (root / "folder" / name).mkdir(parents=True)
        (root / "folder" / name / "1.ppm").write_bytes(IMAGE)
    (root / "list.txt").write_text("folder/dog/1.ppm\nfolder/cat/1.ppm\n")
    (root / "table.csv").write_text("path,label\nfolder/dog/1.ppm,dog\nfolder/cat/1.ppm,cat\n")
    (root / "table.jsonl").write_text('{"path": "folder/dog/1.ppm", "label": "dog"}\n{"path": "folder/cat/1.ppm", "label": "cat"}\n')
    with zipfile.ZipFile(root / "photos.zip", "w") as archive, tarfile.open(root / "photos.tar", "w") as tar, \
            tarfile.open(root / "texts.tar", "w") as texts:
        for name in ("dog", "cat"):
            archive.writestr(f"folder/{name}/1.ppm", IMAGE)
            add_member(tar, f"folder/{name}/1.ppm", IMAGE)
            add_member(texts, f"{name}/1.ppm", IMAGE)
            add_member(texts, f"{name}/1.cls", f"{name}\n".encode())


KINDS = {"folder": ("folder",), "list": ("list.txt", "--source", "list"), "csv": ("table.csv",), "jsonl": ("table.jsonl",),
         "zip": ("photos.zip", "--class-folders"), "tar": ("photos.tar", "--class-folders"), "packed": ("packed",), "texts": ("texts.tar",)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("planned", [False, True], ids=["pack", "plan"])
def test_a_class_map_of_any_source(bale, tmp_path, kind, planned):
    root = tmp_path / "in"
    sources(root)
    bale.pack(root / "folder", root / "packed", "--format", "lmdb")
    (tmp_path / "map.json").write_text(json.dumps(MAP))
    name, *options = KINDS[kind]

    def pack(class_map, out, *more):
        if not planned:
            return bale("pack", root / name, out, *options, "--class-map", class_map, *more, cwd=root)
        result = bale("plan", root / name, out, *options, "--class-map", class_map, *more, "-o", tmp_path / f"{out.name}.plan", cwd=root)
        return result if result.code else bale("pack", "--plan", tmp_path / f"{out.name}.plan", "--part", "0/1", cwd=root)

    result = pack(tmp_path / "map.json", tmp_path / "out")
    assert result.code == 0, result
    if planned:
        bale.ok("merge", tmp_path / "out.plan", cwd=root)
    labels = {key.split("/")[-2]: label for key, label in labels_by_key(bale, tmp_path / "out").items()}
    assert labels == {"cat": 5, "dog": 2} and names_of(tmp_path / "out") == ["emu", "", "dog", "", "", "cat"]
    assert {fields["cls"] for fields in fields_by_key(bale, tmp_path / "out").values()} == {b"5", b"2"}
    # A map that gives two classes one number, one that lacks a class, and one that is not there.
    (tmp_path / "joined.txt").write_text("cat 1\ndog 1\nemu 0\n")
    result = pack(tmp_path / "joined.txt", tmp_path / "joined", "--strict")
    assert result.code == 0 and (planned or "the class map makes one class of " in result.err), result
    (tmp_path / "short.txt").write_text("emu\ndog\n")
    result = pack(tmp_path / "short.txt", tmp_path / "no")
    assert result.code == USAGE and '"cat"' in result.error_line() and "short.txt" in result.error_line(), result
    result = pack(tmp_path / "gone.txt", tmp_path / "no")
    assert result.code == FAILURE and "gone.txt" in result.error_line(), result
    assert not (tmp_path / "no").exists()


def test_labels_that_are_texts(bale, tmp_path):
    """Without a class map they stay texts, which is said; also later a class map numbers them. Some samples have none."""
    sources(tmp_path / "in")
    (tmp_path / "map").write_text("dog\ncat\n")
    bale.ok("convert", tmp_path / "in/texts.tar", tmp_path / "strict", "--class-map", tmp_path / "map", "--strict")
    with tarfile.open(tmp_path / "in/texts.tar", "a") as tar:
        add_member(tar, "none/1.ppm", IMAGE)
        add_member(tar, "blank/1.ppm", IMAGE)
        add_member(tar, "blank/1.cls", b" ")
    err = bale.ok("convert", tmp_path / "in/texts.tar", tmp_path / "texts").err
    assert 'the texts of "cls" are not numbers; --class-map can number them' in err
    for source in ("in/texts.tar", "texts"):
        result = bale.ok("convert", tmp_path / source, tmp_path / "out", "--class-map", tmp_path / "map", "--overwrite")
        assert "cls" not in result.err
        assert labels_by_key(bale, tmp_path / "out") == {"dog/1": 0, "cat/1": 1, "none/1": None, "blank/1": None}


def test_convert_renumbers_a_pack(bale, tmp_path):
    sources(tmp_path / "in")
    bale.pack(tmp_path / "in/folder", tmp_path / "packed")
    (tmp_path / "map").write_text("dog\ncat\n")
    for format_name in ("tar", "lmdb", "tfrecord"):
        bale.ok("convert", tmp_path / "packed", tmp_path / format_name, "--format", format_name, "--class-map", tmp_path / "map")
        assert labels_by_key(bale, tmp_path / format_name) == {"cat/1": 1, "dog/1": 0} and names_of(tmp_path / format_name) == ["dog", "cat"]
        bale.ok("verify", tmp_path / format_name)
    assert json.loads(bale.ok("convert", tmp_path / "packed", tmp_path / "json", "--class-map", tmp_path / "map", "--json").out)["labels"]["reading"] == "names"
    # Classes of another pack, also by its manifest: train's for val.
    (tmp_path / "in/folder/ant").mkdir()
    (tmp_path / "in/folder/ant/1.ppm").write_bytes(IMAGE)
    bale.pack(tmp_path / "in/folder", tmp_path / "train")
    for number, given in enumerate((tmp_path / "train", tmp_path / "train/manifest.json")):
        bale.ok("convert", tmp_path / "packed", tmp_path / f"val{number}", "--class-map", given)
        assert labels_by_key(bale, tmp_path / f"val{number}") == {"cat/1": 1, "dog/1": 2}
        assert names_of(tmp_path / f"val{number}") == ["ant", "cat", "dog"]


def test_a_class_map_names_numbers(bale, images, tmp_path):
    """Of a source without names. A number that the map does not have is refused."""
    table = table_of(tmp_path / "t.csv", ["2", "0", "2"])
    (tmp_path / "map").write_text("zero\none\ntwo\n")
    labels, names, report = pack_table(bale, table, tmp_path / "out", "--class-map", tmp_path / "map")
    assert (labels, names, report["labels"]["reading"]) == ([2, 0, 2], ["zero", "one", "two"], "numbers")
    bale.pack(table, tmp_path / "plain")
    bale.ok("convert", tmp_path / "plain", tmp_path / "named", "--class-map", tmp_path / "map")
    assert names_of(tmp_path / "named") == names and labels_by_key(bale, tmp_path / "named") == {"0": 2, "1": 0, "2": 2}
    (tmp_path / "two").write_text("zero\none\n")
    (tmp_path / "hole").write_text("zero 0\nthree 3\n")
    for name in ("two", "hole"):
        result = bale("pack", table, tmp_path / "no", "--class-map", tmp_path / name)
        assert result.code == USAGE and "t.csv: line 2: " in result.error_line() and '"2"' in result.error_line(), result
        result = bale("convert", tmp_path / "plain", tmp_path / "no", "--class-map", tmp_path / name)
        assert result.code == USAGE and '"2"' in result.error_line(), result
    # Numbers that are names of the map are names.
    (tmp_path / "names").write_text("2 0\n0 1\n")
    assert pack_table(bale, table, tmp_path / "renumbered", "--class-map", tmp_path / "names")[0] == [0, 1, 0]


@pytest.mark.parametrize("option", [["--flat"], ["--pair", "ppm,json"], ["--root", "."], ["--path-column", "x"], ["--label-column", "x"]])
@pytest.mark.parametrize("kind", ["zip", "tar", "packed"])
def test_options_of_files_are_refused_for_packed_sources(bale, tmp_path, option, kind):
    sources(tmp_path / "in")
    bale.pack(tmp_path / "in/folder", tmp_path / "in/packed")
    name, *options = KINDS[kind]
    result = bale("pack", tmp_path / "in" / name, tmp_path / "out", *options, *option)
    assert result.code == USAGE and option[0] in result.error_line(), result
    assert not (tmp_path / "out").exists()
    bale.ok("diff", "--flat", tmp_path / "in/packed", tmp_path / "in/packed")


def test_a_class_map_without_labels_is_refused(bale, images, tmp_path):
    sources(tmp_path / "in")
    (tmp_path / "map").write_text("cat\ndog\n")
    result = bale("pack", tmp_path / "in/photos.zip", tmp_path / "out", "--class-map", tmp_path / "map")
    assert result.code == USAGE and "--class-map" in result.error_line() and "--class-folders" in result.error_line()
    for name, *options in (("in/folder",), ("in/list.txt", "--source", "list"), ("in/table.csv",)):
        result = bale("pack", tmp_path / name, tmp_path / "out", "--class-map", tmp_path / "map", "--flat", "--strict", *options, cwd=tmp_path / "in")
        assert result.code == FAILURE and "--class-map has no effect" in result.err, result
    result = bale("pack", table_of(tmp_path / "t.csv", ["a"], "path,breed"), tmp_path / "out", "--class-map", tmp_path / "map")
    assert result.code == USAGE and "--label-column" in result.error_line()


# --- what class maps are written like

@pytest.mark.parametrize("text,names", [
    ("1 001.Black_footed\n2 002.Laysan\n", ["", "001.Black_footed", "002.Laysan"]),          # CUB-200
    ("/m/011k07,Tortoise\n/m/011q46kg,Container\n", ["/m/011k07", "/m/011q46kg"]),          # Open Images
    ("LabelName,DisplayName\n/m/011k07,Tortoise\n/m/0h2,Area 51\n", ["/m/011k07", "/m/0h2"]),
    ("Grade 0\nGrade 1\nGrade 2\n", ["Grade 0", "Grade 1", "Grade 2"]), ("class,number\ncat,1\ndog,0\n", ["dog", "cat"]),
    ("number,class\n0,dog\n1,cat\n", ["dog", "cat"]),
    ('{"name": "x", "classes": ["b", "a"]}', ["b", "a"]), ("Grade 0\nNormal\n", ["Grade 0", "Normal"]),
    ("1 Grade 0\n2 Grade 1\n3 Grade 2\n", ["", "Grade 0", "Grade 1", "Grade 2"]), ("0,Grade 2\n1,Grade 1\n", ["Grade 2", "Grade 1"]),
    ('"class","id"\n"cat","1"\n"a, b","0"\n', ["a, b", "cat"]), ('"id","class"\n"1","cat"\n"0","a, b"\n', ["a, b", "cat"]),
    ('class,id\n"Grade 0",1\n"a, b",0\n', ["a, b", "Grade 0"]), ('"Grade 0"\n"Grade 1"\n', ["Grade 0", "Grade 1"])])
def test_spellings_of_class_maps(bale, tmp_path, text, names):
    for name in filter(None, names):
        (tmp_path / "in" / name.replace("/", "_")).mkdir(parents=True)
    rows = "".join(f'"{name}","{name.replace("/", "_")}/1.ppm"\n' for name in names if name)
    for name in filter(None, names):
        (tmp_path / "in" / name.replace("/", "_") / "1.ppm").write_bytes(IMAGE)
    (tmp_path / "in/t.csv").write_text("label,path\n" + rows)
    (tmp_path / "map").write_text(text)
    bale.pack(tmp_path / "in/t.csv", tmp_path / "out", "--class-map", tmp_path / "map")
    assert names_of(tmp_path / "out") == names
    assert sorted(labels_by_key(bale, tmp_path / "out").values()) == [i for i, name in enumerate(names) if name]


@pytest.mark.parametrize("text,says", [
    ('{"cat": 0, "dog": 1, "cat": 5}', 'not a class map: the member "cat" occurs twice'), ("cat 0\ndog 1\ncat 5\n", 'class "cat" occurs twice'),
    ('{"0": "cat", "0": "dog"}', 'the member "0" occurs twice'),
    ("cat,0.0\ndog,1.0\n", 'class "cat" is not in the class map {}, which begins with "cat,0.0"')])
def test_class_maps_that_are_not_read(bale, tmp_path, text, says):
    (tmp_path / "in/cat").mkdir(parents=True)
    (tmp_path / "in/cat/1.ppm").write_bytes(IMAGE)
    (tmp_path / "map").write_text(text)
    result = bale("pack", tmp_path / "in", tmp_path / "out", "--class-map", tmp_path / "map")
    assert result.code == USAGE and says.format(tmp_path / "map") in result.error_line(), result


# --- numbers without a class

def coco(root, categories, used):
    (root / "images").mkdir(parents=True)
    for i, _ in enumerate(used):
        (root / f"images/{i}.ppm").write_bytes(IMAGE)
    (root / "a.json").write_text(json.dumps({
        "images": [{"id": i, "file_name": f"{i}.ppm"} for i, _ in enumerate(used)], "categories": categories,
        "annotations": [{"id": i, "image_id": i, "bbox": [0, 0, 1, 1], "category_id": number} for i, number in enumerate(used)]}))
    return root / "images", root / "a.json"


CATEGORIES = [{"id": 1, "name": "person"}, {"id": 3, "name": "car"}]


@pytest.mark.parametrize("number", [77, 2, 0, -1])
def test_a_category_that_there_is_not(bale, tmp_path, number):
    images, annotations = coco(tmp_path, CATEGORIES, [1, number, 3])
    result = bale("pack", images, tmp_path / "out", "--annotations", annotations)
    assert result.code == FAILURE and str(annotations) in result.error_line() and str(number) in result.error_line(), result
    result = bale("pack", images, tmp_path / "out", "--annotations", annotations, "--on-error", "skip", "--overwrite")
    assert result.code == SKIPS and set(labels_by_key(bale, tmp_path / "out")) == {"0", "2"}


def test_categories_by_a_class_map(bale, tmp_path):
    images, annotations = coco(tmp_path, CATEGORIES, [1, 3])
    (tmp_path / "map").write_text("car\nperson\n")
    bale.pack(images, tmp_path / "out", "--annotations", annotations, "--class-map", tmp_path / "map")
    boxes = {key: json.loads(fields["boxes.json"])[0] for key, fields in fields_by_key(bale, tmp_path / "out").items()}
    assert {key: box["category_id"] for key, box in boxes.items()} == {"0": 1, "1": 0} and names_of(tmp_path / "out") == ["car", "person"]


def test_yolo_by_a_class_map(bale, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "labels").mkdir()
    for i in range(2):
        (tmp_path / f"images/{i}.ppm").write_bytes(IMAGE)
        (tmp_path / f"labels/{i}.txt").write_text(f"{i} 0.5 0.5 1 1\n")
    (tmp_path / "labels/classes.txt").write_text("dog\ncat\n")
    (tmp_path / "train.yaml").write_text("names: [cat, cow, dog]\n")
    bale.pack(tmp_path / "images", tmp_path / "out", "--annotations", tmp_path / "labels", "--class-map", tmp_path / "train.yaml")
    boxes = {key: json.loads(fields["boxes.json"])["labels"] for key, fields in fields_by_key(bale, tmp_path / "out").items()}
    assert boxes == {"0": [2], "1": [0]} and names_of(tmp_path / "out") == ["cat", "cow", "dog"]
    (tmp_path / "labels/1.txt").write_text("7 0.5 0.5 1 1\n")
    result = bale("pack", tmp_path / "images", tmp_path / "no", "--annotations", tmp_path / "labels")
    assert result.code == FAILURE and "labels/1.txt" in result.error_line() and "7" in result.error_line()


def test_a_label_without_a_class_is_not_converted(bale, images, tmp_path):
    """A pack whose manifest names fewer classes than its labels have."""
    bale.pack(table_of(tmp_path / "t.csv", ["0", "7", "1"]), tmp_path / "packed")
    manifest = json.loads((tmp_path / "packed/manifest.json").read_text())
    manifest["classes"] = ["a", "b"]
    del manifest["checksum"]
    (tmp_path / "packed/manifest.json").write_text(json.dumps(manifest))
    result = bale("convert", tmp_path / "packed", tmp_path / "out")
    assert result.code == FAILURE and "class 7 is none of the 2" in result.error_line(), result
    assert bale("convert", tmp_path / "packed", tmp_path / "out", "--on-error", "skip", "--overwrite").code == SKIPS
    assert labels_by_key(bale, tmp_path / "out") == {"0": 0, "2": 1}
    bale.ok("convert", tmp_path / "packed", tmp_path / "chosen", "--where", "label < 2")


def test_boxes_keep_their_numbers_or_nothing_is_written(bale, tmp_path):
    """--class-map of a pack cannot renumber what is inside of fields."""
    sources(tmp_path / "in")
    for name in ("cat", "dog"):
        (tmp_path / f"in/folder/{name}/1.boxes.json").write_text('{"boxes": [[0, 0, 1, 1]], "labels": [0]}')
    bale.pack(tmp_path / "in/folder", tmp_path / "packed", "--pair", "ppm,boxes.json")
    (tmp_path / "map").write_text("dog\ncat\n")
    result = bale("convert", tmp_path / "packed", tmp_path / "out", "--class-map", tmp_path / "map")
    assert result.code == USAGE and "boxes.json" in result.error_line()
    (tmp_path / "same").write_text("cat\ndog\nemu\n")
    bale.ok("convert", tmp_path / "packed", tmp_path / "out", "--class-map", tmp_path / "same")
    assert names_of(tmp_path / "out") == ["cat", "dog", "emu"]


# --- splits in archives

def write_archive(path, names):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, IMAGE)
    else:
        with tarfile.open(path, "w") as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(IMAGE)
                archive.addfile(member, io.BytesIO(IMAGE))
    return path


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_class_folders_that_are_splits(bale, tmp_path, kind):
    names = [f"data/{split}/{name}/1.ppm" for split in ("train", "test") for name in ("cat", "dog")]
    path = write_archive(tmp_path / f"x.{kind}", names)
    result = bale.ok("pack", path, tmp_path / "out", "--class-folders")
    assert "usual names of splits" in result.err and names_of(tmp_path / "out") == ["test", "train"]
    result = bale.ok("pack", path, tmp_path / "train", "--class-folders", "--include", "data/train/*")
    assert "split" not in result.err and names_of(tmp_path / "train") == ["cat", "dog"]


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_folders_of_archives_are_those_of_the_unpacked_files(bale, tmp_path, kind):
    path = write_archive(tmp_path / f"x.{kind}", ["/cat/0.ppm", "./cat/1.ppm", "dog/2.ppm", "../dog/3.ppm"])
    assert "the 2 folders in their keys, such as cat, are" in bale.ok("pack", path, tmp_path / "flat").err
    told = bale.ok("pack", path, tmp_path / "out", "--class-folders").err
    assert names_of(tmp_path / "out") == ["cat", "dog"] and "hidden" not in told, told
    assert sorted(labels_by_key(bale, tmp_path / "out").values()) == [0, 0, 1, 1]


@pytest.mark.parametrize("kind", ["zip", "tar", "folder"])
def test_what_lies_above_the_class_folders(bale, tmp_path, kind):
    """Files that are not images change no class. If an image makes the folder around all the only class, that is told."""
    def source(number, names):
        folder = tmp_path / f"{kind}{number}"
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(IMAGE if name.endswith(".ppm") else b"text")
        if kind == "folder":
            return folder, ()
        return shutil.make_archive(str(folder), kind, folder), ("--class-folders",)

    images = [f"{name}/{i}.ppm" for name in ("cat", "dog") for i in range(2)]
    around = "" if kind == "folder" else "data/"
    path, options = source(1, [around + name for name in ["README.txt", *images, "cat/notes.txt"]])
    told = bale.ok("pack", path, tmp_path / "out", *options).err
    assert names_of(tmp_path / "out") == ["cat", "dog"] and "README" in told, told
    assert sorted(labels_by_key(bale, tmp_path / "out").values()) == [0, 0, 1, 1]
    path, options = source(2, [f"data/{name}" for name in ["cover.ppm", *images]])
    told = bale.ok("pack", path, tmp_path / "one", *options).err
    assert names_of(tmp_path / "one") == ["data"] and "the only class is data" in told, told
    again = ("pack", tmp_path / "folder2" / "data") if kind == "folder" else ("pack", path, "--include", "*data/*/*")
    told = bale.ok(*again, tmp_path / "two", *options).err
    assert names_of(tmp_path / "two") == ["cat", "dog"] and "only class" not in told, told


@pytest.mark.parametrize("options", [(), ("--class-folders",)])
def test_dots_in_the_names_of_a_tar(bale, tmp_path, options):
    """A tar is read by WebDataset's rule: whoever made it of a folder is told that files became fields of a sample."""
    def tar(name, names):
        with tarfile.open(tmp_path / name, "w") as archive:
            for member in names:
                info = tarfile.TarInfo(member)
                info.size = len(IMAGE)
                archive.addfile(info, io.BytesIO(IMAGE))
        return tmp_path / name

    folder = tar("folder.tar", ["cat/IMG.1.ppm", "cat/IMG.2.ppm", "dog/1.ppm"])
    told = bale.ok("pack", folder, tmp_path / "one", *options).err
    assert "split at the first dot" in told and "2 images" in told and "cat/IMG has 1.ppm" in told, told
    apart = tar("apart.tar", [f"{name}/{image}.ppm" for name in ("cat", "dog") for image in ("a", "IMG.1", "IMG.2")])
    told = bale.ok("pack", apart, tmp_path / "three", *options).err
    assert "split at the first dot" in told and "4 images" in told and "cat/IMG has 1.ppm" in told, told
    masks = tar("masks.tar", ["cat/1.ppm", "cat/1.mask.ppm", "cat/2.ppm", "cat/2.mask.ppm", "cat/3.mask.ppm"])
    assert "first dot" not in bale.ok("pack", masks, tmp_path / "four", *options).err
    pairs = tar("pairs.tar", [f"cat/{i}.{side}.ppm" for i in range(2) for side in ("left", "right")])
    assert "first dot" not in bale.ok("pack", pairs, tmp_path / "two", *options).err
