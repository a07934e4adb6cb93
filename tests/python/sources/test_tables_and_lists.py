"""Tables and lists as other programs write them: columns that name paths, several rows of an image, labels in lists, JSON by class."""
import json
import os

import pytest
from conftest import fields_by_key, labels_by_key, names_of

FAILURE, USAGE, SKIPS = 1, 2, 4
IMAGE = b"P6\n1 1\n255\nabc"


@pytest.fixture
def photos(tmp_path):
    """photos/cat/1.ppm and others, of which lists and tables name some in other ways."""
    for name in ("cat/1.ppm", "cat/2.b.ppm", "dog/1.ppm", "dog/3.ppm"):
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / name).write_bytes(IMAGE)
    return tmp_path


@pytest.mark.parametrize("name,text,options", [
    ("t.csv", "id,label\ncat/1,dog\ndog/3,cat\n", ["--path-pattern", "photos/{id}.ppm"]),
    ("t.csv", "id,of,label\n1,cat,dog\n3, dog ,cat\n", ["--path-pattern", "photos/{of}/{id}.ppm"]),
    ("t.jsonl", '{"id": 1, "of": "cat", "label": "dog"}\n{"label": "cat", "id": "3", "of": "dog"}\n', ["--path-pattern", "photos/{of}/{id}.ppm"]),
    ("t.tsv", "id\tlabel\ncat/1\tdog\ndog/3\tcat\n", ["--path-column", "id", "--root", "photos"]),
    ("t.csv", "image_name,class\nphotos/cat/1,dog\nphotos/dog/3.ppm,cat\n", [])])
def test_paths_of_columns(bale, photos, name, text, options):
    """Kaggle's ids: a pattern makes the path, or the file has an extension that the id lacks."""
    (photos / name).write_text(text)
    bale.ok("pack", photos / name, photos / "out", *options, cwd=photos)
    prefix = "" if "--root" in options else "photos/"
    assert labels_by_key(bale, photos / "out") == {f"{prefix}cat/1": 1, f"{prefix}dog/3": 0} and names_of(photos / "out") == ["cat", "dog"]
    assert all(set(fields) == {"ppm", "cls"} for fields in fields_by_key(bale, photos / "out").values())


def test_patterns_that_name_no_path(bale, photos):
    (photos / "t.csv").write_text("id,label,of\ncat/1,dog,x\n,cat,y\n")
    for options, says in (([], "--path-pattern"), (["--path-pattern", "{ID}.ppm"], "id, label, of"), (["--path-pattern", "{id.ppm"], "braces"),
                          (["--path-pattern", "x.ppm"], "names no column"), (["--path-pattern", "{id}.ppm", "--path-column", "id"], "excludes"),
                          (["--path-pattern", "photos/{id}.ppm"], "line 3: no value in the column")):
        result = bale("pack", photos / "t.csv", photos / "out", *options)
        assert result.code == USAGE and says in result.error_line(), (options, result)
    assert "--path-pattern" in bale.ok("pack", photos / "photos", photos / "out", "--path-pattern", "{id}").err


def pack_or_plan(bale, photos, name, planned):
    """Packs photos/ as the table or list says, at once or by a plan."""
    if not planned:
        return bale.ok("pack", photos / name, photos / "out", "--root", photos / "photos")
    result = bale.ok("plan", photos / name, photos / "out", "--root", photos / "photos", "-o", photos / "plan")
    bale.ok("pack", "--plan", photos / "plan", "--part", "0/1")
    bale.ok("merge", photos / "plan")
    return result


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize("planned", [False, True])
def test_several_rows_of_an_image(bale, photos, name, planned):
    """Captions as Flickr has them: one sample, whose json is the list of its rows."""
    rows = [("cat/1.ppm", "a cat, it is", 0), ("dog/3.ppm", "a dog", 1), ("./cat/1.ppm", "sleeps", 0), ("cat/1", "again", 0)]
    if name == "t.csv":
        (photos / name).write_text("image,caption,label\n" + "".join(f'{path},"{text}",{label}\n' for path, text, label in rows))
    else:
        (photos / name).write_text("".join(json.dumps({"image": path, "caption": text, "label": label}) + "\n" for path, text, label in rows))
    result = pack_or_plan(bale, photos, name, planned)
    assert "2 rows are further ones of their images" in result.err
    found = {key: json.loads(fields["json"]) for key, fields in fields_by_key(bale, photos / "out").items()}
    assert found == {"cat/1": [{"caption": "a cat, it is"}, {"caption": "sleeps"}, {"caption": "again"}], "dog/3": [{"caption": "a dog"}]}
    assert labels_by_key(bale, photos / "out") == {"cat/1": 0, "dog/3": 1}


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("name,text", [
    ("results.csv", "image_name| comment_number| comment\n{a}.ppm| 0| A \"big\" cat , it is .\n{b}.ppm| 0| \"Dog\" , he .\n{a}.ppm| 1| sleeps\n"),
    ("results.csv", "image_name|comment_number|comment\r\n{a}.ppm|0|A \"big\" cat , it is .\r\n{b}.ppm|0|\"\"\"Dog\"\" , he .\"\r\n{a}.ppm|1|sleeps\r\n"),
    ("x.CSV", "image_name;comment_number;comment\n{a};0;A \"big\" cat , it is .\n{b};0;\"\"\"Dog\"\" , he .\"\n{a};1;sleeps"),
    ("x.csv", "image_name\tcomment_number\tcomment\n{a}\t0\tA \"big\" cat , it is .\n{b}\t0\t\"\"\"Dog\"\" , he .\"\n{a}\t1\tsleeps"),
    ("x.csv", '"image_name" | "comment_number" | comment\n  {a}.ppm | 0 | A "big" cat , it is . \n{b}.ppm | 0| "Dog" , he .\n{a}.ppm| 1 | sleeps')])
def test_delimiters_of_tables(bale, photos, name, text, planned):
    """Flickr30k's results.csv: the cells end at | and have blanks around them. The header says what they end at."""
    (photos / name).write_bytes(text.format(a="cat/2.b", b="dog/1").encode())
    pack_or_plan(bale, photos, name, planned)
    found = {key: json.loads(fields["json"]) for key, fields in fields_by_key(bale, photos / "out").items()}
    assert found == {"cat/2%2Eb": [{"comment_number": "0", "comment": 'A "big" cat , it is .'}, {"comment_number": "1", "comment": "sleeps"}],
                     "dog/1": [{"comment_number": "0", "comment": '"Dog" , he .'}]}


def test_a_delimiter_that_is_none(bale, photos):
    """Only the header says it: a comma there is the delimiter, whatever else there is."""
    (photos / "t.csv").write_text("path,of|x,label\nphotos/cat/1.ppm,a|b;c,cat\n")
    bale.ok("pack", photos / "t.csv", photos / "out")
    assert json.loads(fields_by_key(bale, photos / "out")["photos/cat/1"]["json"]) == {"of|x": "a|b;c"}
    (photos / "t.csv").write_text("path| label\nphotos/cat/1.ppm| cat\nphotos/dog/1.ppm  4  dog\n")
    result = bale("pack", photos / "t.csv", photos / "no")
    assert result.code == FAILURE and "line 3: 1 cells, but the header has 2" in result.error_line()


def test_rows_of_an_image_with_different_labels(bale, photos):
    (photos / "t.csv").write_text("path,label,x\nphotos/cat/1.ppm,cat,1\nphotos/dog/1.ppm,dog,2\nphotos/cat/1.ppm,dog,3\n")
    result = bale("pack", photos / "t.csv", photos / "out")
    assert result.code == USAGE and "line 4" in result.error_line() and "line 2" in result.error_line() and "--flat" in result.error_line()
    bale.ok("pack", photos / "t.csv", photos / "out", "--flat")
    assert json.loads(fields_by_key(bale, photos / "out")["photos/cat/1"]["json"]) == [{"label": "cat", "x": "1"}, {"label": "dog", "x": "3"}]
    (photos / "t.csv").write_text("path,label\nphotos/cat/1.ppm,cat\nphotos/cat/1.ppm,cat\n")
    assert bale("pack", photos / "t.csv", photos / "no").code == USAGE


def test_a_table_without_a_header_loses_no_row(bale, photos):
    """Tiny ImageNet's val_annotations.txt, renamed. A column may be called as an image that is not there."""
    (photos / "t.tsv").write_text("photos/cat/1.ppm\tcat\nphotos/dog/3.ppm\tdog\n")
    told = bale("pack", "t.tsv", "out", cwd=photos)
    assert told.code == USAGE and "the names of images, as in a row" in told.error_line() and "write the names of the columns above" in told.error_line()
    told = bale("pack", "t.tsv", "out", "--path-column", "photos/cat/1.ppm", "--label-column", "cat", cwd=photos)
    assert told.code == USAGE and 'line 1: "photos/cat/1.ppm" is an image, so this line is a row' in told.error_line()
    (photos / "id.ppm").write_bytes(IMAGE)
    (photos / "p.tsv").write_text("id\nphotos/dog/3\n")
    bale.ok("pack", "p.tsv", "by-pattern", "--path-pattern", "{id}.ppm", "--flat", cwd=photos)
    (photos / "t.tsv").write_text("image.ppm\tlabel\nphotos/dog/3.ppm\tdog\n")
    bale.ok("pack", "t.tsv", "out", "--path-column", "image.ppm", cwd=photos)
    assert labels_by_key(bale, photos / "out") == {"photos/dog/3": 0}


@pytest.mark.parametrize("lines,labels,names", [
    ("photos/cat/1.ppm 0\nphotos/dog/3.ppm 7\n", [0, 7], []), ("photos/cat/1.ppm\t2\r\n\r\nphotos/dog/3.ppm   0\r\n", [2, 0], []),
    ("photos/cat/1 b\nphotos/dog/3 a\n", [1, 0], ["a", "b"]), ("/photos/cat/1.ppm 5\n/photos/dog/3.ppm 5", [5, 5], [])])
@pytest.mark.parametrize("name", ["x.txt", "x.lst"])
def test_lists_with_labels(bale, photos, lines, labels, names, name):
    """Caffe's, DALI's, DomainNet's and Places365's lists."""
    (photos / name).write_text(lines)
    kind = ["--source", "list"] if name == "x.lst" else []
    told = bale.ok("pack", name, "out", *kind, cwd=photos).out
    assert f"labels: {'names' if names else 'numbers'} after the paths" in told
    assert labels_by_key(bale, photos / "out") == dict(zip(["photos/cat/1", "photos/dog/3"], labels)) and names_of(photos / "out") == names
    bale.ok("pack", name, "flat", "--flat", *kind, cwd=photos)
    assert set(labels_by_key(bale, photos / "flat").values()) == {None}
    (photos / "map").write_text("\n".join(f"class{i}" for i in range(8)) if not names else "b\na\n")
    bale.ok("pack", name, "mapped", "--class-map", "map", *kind, cwd=photos)
    assert list(labels_by_key(bale, photos / "mapped").values()) == (labels if not names else [0, 1])
    assert names_of(photos / "mapped") == ([f"class{i}" for i in range(8)] if not names else ["b", "a"])


def test_folders_of_one_name(bale, tmp_path):
    """SUN397's a/apse/indoor and c/church/indoor; folders of splits are one class without a word."""
    def told_of(*folders):
        for folder in folders:
            (tmp_path / folder).mkdir(parents=True)
            (tmp_path / folder / "1.ppm").write_bytes(IMAGE)
        (tmp_path / "list.txt").write_text("".join(f"{folder}/1.ppm\n" for folder in folders))
        return bale.ok("pack", "list.txt", "packed", "--overwrite", cwd=tmp_path).err
    told = told_of("a/apse/indoor", "c/church/indoor", "c/church/outdoor")
    assert "the folders a/apse/indoor and c/church/indoor are one class, because they have one name; if" in told
    assert "one name (so are those of 1 other name); if" in told_of("a/x", "b/x", "a/y", "b/y")
    assert "one class" not in told_of("data/train/cat", "data/val2017/cat", "data/train/dog")
    told_of("a/cat", "b/cat")
    (tmp_path / "map").write_text("cat\n")
    assert "one class" in bale.ok("pack", "list.txt", "packed", "--overwrite", "--strict", "--class-map", "map", cwd=tmp_path).err
    (tmp_path / "list.txt").write_text("a/apse/indoor/1.ppm apse/indoor\nc/church/indoor/1.ppm church/indoor\n")
    assert "one class" not in bale.ok("pack", "list.txt", "packed", "--overwrite", cwd=tmp_path).err
    assert names_of(tmp_path / "packed") == ["apse/indoor", "church/indoor"]


def test_what_lists_with_labels_refuse(bale, photos):
    (photos / "a.txt").write_text("photos/cat/1.ppm 0\nphotos/dog/3.ppm\n")
    result = bale("pack", "a.txt", "out", cwd=photos)
    assert result.code == USAGE and "a.txt: line 2: no label" in result.error_line()
    for i in range(12):
        (photos / f"photos/{i}.ppm").write_bytes(IMAGE)
    (photos / "numbered.txt").write_text("".join(f"photos/{i}.ppm {i + 1}\n" for i in range(12)))  # as ImageNet's ImageSets
    result = bale("pack", "numbered.txt", "out", cwd=photos)
    assert result.code == USAGE and "those of the lines" in result.error_line()
    (photos / "photos/1.ppm").rename(photos / "photos/1 0.ppm")  # a name with a space is a name
    (photos / "b.txt").write_text("photos/1 0.ppm\nphotos/cat/1.ppm\n")
    bale.ok("pack", "b.txt", "spaces", cwd=photos)
    assert labels_by_key(bale, photos / "spaces") == {"photos/1 0": 1, "photos/cat/1": 0}


def test_paths_without_an_extension(bale, photos):
    """Food-101's lists. Two images of one name are not guessed."""
    (photos / "train.txt").write_text("cat/1\ncat/2.b\ndog/3\n")
    bale.ok("pack", "train.txt", "out", "--root", "photos", cwd=photos)
    assert labels_by_key(bale, photos / "out") == {"cat/1": 0, "cat/2%2Eb": 0, "dog/3": 1} and names_of(photos / "out") == ["cat", "dog"]
    (photos / "photos/cat/1.png").write_bytes(b"")
    result = bale("pack", "train.txt", "no", "--root", "photos", cwd=photos)
    assert result.code == USAGE and "train.txt: line 1: " in result.error_line() and "several images" in result.error_line()


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("text", ['{"dog": ["dog/3", "dog/1"], "cat": ["cat/2.b"]}', '\ufeff {\n "cat" : [ ],\n "dog":["dog/3.ppm","dog/1"], "c\\u0061t":["cat/2.b"]}'])
def test_lists_by_class(bale, photos, text, planned):
    """Food-101's meta/train.json: a list of ids per class."""
    (photos / "meta").mkdir()
    (photos / "meta/train.json").write_text(text)
    pack_or_plan(bale, photos, "meta/train.json", planned)
    assert labels_by_key(bale, photos / "out") == {"cat/2%2Eb": 0, "dog/3": 1, "dog/1": 1} and names_of(photos / "out") == ["cat", "dog"]


def test_lists_by_class_with_options(bale, photos):
    (photos / "x.json").write_text('{"5": ["dog/1"], "12": ["cat/1"]}')
    bale.ok("pack", "x.json", "numbers", "--root", "photos", cwd=photos)
    assert labels_by_key(bale, photos / "numbers") == {"cat/1": 12, "dog/1": 5}
    (photos / "x.json").write_text('{"d": ["dog/1"], "c": ["cat/1", "cat/no"]}')
    (photos / "map").write_text("d\nb\nc\n")
    result = bale("pack", "x.json", "no", "--root", "photos", cwd=photos)
    assert result.code == FAILURE and "x.json: " in result.error_line() and "cat/no" in result.error_line()
    result = bale("pack", "x.json", "out", "--root", "photos", "--on-error", "skip", "--class-map", "map", cwd=photos)
    assert result.code == SKIPS and labels_by_key(bale, photos / "out") == {"cat/1": 2, "dog/1": 0}
    bale("pack", "x.json", "flat", "--root", "photos", "--on-error", "skip", "--flat", cwd=photos)
    assert labels_by_key(bale, photos / "flat") == {"cat/1": None, "dog/1": None}
    (photos / "x.json").write_text('{"d": ["dog/1"], "c": 7}')
    result = bale("pack", "x.json", "no", "--root", "photos", cwd=photos)
    assert result.code == FAILURE and "x.json: c is not a list" in result.error_line()


@pytest.mark.parametrize("text,words", [
    ("path,label,label\ncat/1.ppm,0,1\n".encode(), 'two columns are named "label"; rename the one that is not meant'),
    ("path,path,label\ncat/1.ppm,dog/1.ppm,1\n".encode(), 'two columns are named "path"'),
    ("path,Label,label\ncat/1.ppm,cat,0\n".encode(), 'two columns are named "Label" and "label"; name the right one with --label-column'),
    ("path\tlabel\r\ncat/1.ppm\tcat\r\n".encode("utf-16"), "UTF-16"),
    (b"path,label\rcat/1.ppm,cat\r", "CR alone")])
def test_tables_that_cannot_be_read(bale, photos, text, words):
    (photos / "t.csv").write_bytes(text)
    result = bale("pack", photos / "t.csv", photos / "out", "--root", photos / "photos")
    assert result.code in (FAILURE, USAGE) and words in result.error_line() and "t.csv" in result.error_line(), result


@pytest.mark.parametrize("header,members", [
    ("path,score,label,score", {"score": "a", "score.1": "b"}), ("score,path,label,score.1", None), ("score,path,label,score", None),
    ("path,,label,", {"": "a", ".1": "b"}), ("path,Score,label,score", {"Score": "a", "score": "b"})])
def test_columns_of_one_name_are_all_kept(bale, photos, header, members):
    """Their members are called as pandas calls such columns."""
    cells = {"path": ["photos/cat/1.ppm"], "label": ["cat"]}
    others = iter("ab")
    row = ",".join(cells[name].pop() if name in cells else next(others) for name in header.split(","))
    (photos / "t.csv").write_text(f"{header}\n{row}\n")
    bale.ok("pack", photos / "t.csv", photos / "out")
    (fields,) = fields_by_key(bale, photos / "out").values()
    assert json.loads(fields["json"]) == (members or {"score": "a", "score.1": "b"})


def test_whole_numbers_of_any_size_are_kept(bale, photos):
    """Hashes as Python writes them; also where they are a part of the path."""
    ids = [2**64 - 1, 2**64, -2**63 - 1, 2**127 - 1]
    for number in ids:
        (photos / f"{number}.ppm").write_bytes(IMAGE)
    (photos / "t.jsonl").write_text("".join(json.dumps({"id": number, "hash": [number]}) + "\n" for number in ids))
    bale.ok("pack", "t.jsonl", "out", "--path-pattern", "{id}.ppm", cwd=photos)
    found = fields_by_key(bale, photos / "out")
    assert found.keys() == {str(number) for number in ids}
    assert all(json.loads(fields["json"])["hash"] == [int(key)] for key, fields in found.items())


def test_the_label_is_named_where_two_columns_may_be_it(bale, photos):
    """In any case of letters, in rows of JSON, too."""
    (photos / "t.csv").write_text("path,Label,label\nphotos/cat/1.ppm,cat,7\n")
    (photos / "t.jsonl").write_text('{"path": "photos/cat/1.ppm", "Label": "cat", "label": 7}\n')
    for name in ("t.csv", "t.jsonl"):
        result = bale("pack", photos / name, photos / "no")
        assert result.code == USAGE and '"Label" and "label"' in result.error_line(), result
        bale.ok("pack", photos / name, photos / f"{name}.out", "--label-column", "label")
        assert list(labels_by_key(bale, photos / f"{name}.out").values()) == [7]


def test_a_table_that_is_a_pipe(bale, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    result = bale("pack", tmp_path / "pipe.csv", tmp_path / "out")
    assert result.code == 1 and "not a regular file; write what comes out of it to a file" in result.error_line()
