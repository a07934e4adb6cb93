"""`bale report`: what is in a dataset and what is wrong with it, as JSON and as a page."""
import base64
import datetime
import html.parser
import io
import json
import os
import platform
import re

import pytest
from conftest import LAYOUTS, flip, format_options
from PIL import Image
from report_support import cropped, fill, jpeg, picture, write

OK, FAILURE, USAGE = 0, 1, 2


def report(bale, *arguments):
    return json.loads(bale.ok("report", *arguments, "--json", "--quiet").out)


def names(images):
    return sorted(image["key"] for image in images)


@pytest.fixture(scope="module")
def splits(tmp_path_factory):
    """train and val with every kind of duplicate; 0 to 19 and 20 to 29 are pictures that occur once."""
    root = tmp_path_factory.mktemp("splits")
    fill(root / "train", range(20))
    fill(root / "val", range(20, 30))
    write(root / "train/cat/same.jpg", jpeg(picture(0)))                             # the bytes of 000
    write(root / "train/cat/again.jpg", jpeg(picture(2), 40))                        # encoded again
    write(root / "train/dog/conflict.jpg", jpeg(picture(4).resize((200, 150))))      # a cat of another size
    write(root / "val/cat/leak.jpg", jpeg(picture(6)))                               # the bytes of one of train
    write(root / "val/cat/crop.jpg", jpeg(cropped(picture(8), 0.9, 0.2, 0.7), 80))   # a crop of one of train
    write(root / "val/dog/mirrored.jpg", jpeg(picture(9).transpose(Image.Transpose.FLIP_LEFT_RIGHT)))
    return root


@pytest.fixture(scope="module")
def flawed(tmp_path_factory):
    """One image of each remark, by name, among twelve that are fine."""
    root = tmp_path_factory.mktemp("flawed")
    fill(root, range(100, 112))
    whole = jpeg(picture(201))
    png = io.BytesIO()
    picture(202).save(png, "PNG")
    exif = Image.Exif()
    exif[0x0112] = 6
    broken = bytearray(jpeg(picture(203)))
    broken[len(broken) // 2: len(broken) // 2 + 40] = bytes(40)
    for name, content in {
        "truncated": whole[:len(whole) // 2],
        "unknown_kind": b"<!DOCTYPE html><html>404 Not Found</html>",
        "no_image": b"",
        "undecodable": b"\xff\xd8\xff\xe0" + whole[20:40] + b"\xff\xd9",
        "wrong_extension": png.getvalue(),
        "blank": jpeg(Image.new("RGB", (200, 150), (120, 130, 200))),
        "tiny": jpeg(picture(204, (20, 40))),
        "elongated": jpeg(picture(205, (600, 100))),
        "gray": jpeg(picture(206).convert("L")),
        "cmyk": jpeg(picture(207).convert("CMYK")),
        "oriented": jpeg(picture(208), exif=exif.tobytes()),
        "huge": jpeg(picture(210, (6000, 4200)), 30),
        "corrupt_data": bytes(broken),
    }.items():
        write(root / "cat" / f"{name}.jpg", content)
    write(root / "cat" / "progressive.jpg", jpeg(picture(209), progressive=True, subsampling=0))
    return root


def test_duplicates_leaks_and_conflicts(bale, splits):
    found = report(bale, splits / "train", splits / "val", "--mirrored")
    assert found["images"] == 36 and [split["images"] for split in found["splits"]] == [23, 13]
    groups = {tuple(names(group["images"])): group for group in found["duplicates"]["groups"]}
    assert sorted(groups) == [("cat/000", "cat/same"), ("cat/002", "cat/again"), ("cat/004", "dog/conflict"),
                              ("cat/006", "cat/leak"), ("cat/008", "cat/crop"), ("dog/009", "dog/mirrored")]
    assert [names(g["images"]) for g in groups.values() if g["exact"]] == [["cat/000", "cat/same"], ["cat/006", "cat/leak"]]
    assert [names(g["images"]) for g in groups.values() if g["labels_conflict"]] == [["cat/004", "dog/conflict"]]
    assert sum(group["spans_splits"] for group in groups.values()) == 3
    crop = groups["cat/008", "cat/crop"]["pairs"][0]
    left, top, right, bottom = crop["window"]
    assert crop["part"] == 1 and right - left == pytest.approx(0.9, abs=0.04) and bottom - top == pytest.approx(0.9, abs=0.04)
    assert groups["dog/009", "dog/mirrored"]["pairs"][0]["mirrored"]
    assert {(leak["split"], leak["also_in"]): (leak["exact"], leak["near"]) for leak in found["duplicates"]["leaks"]} == \
        {("train", "val"): (1, 2), ("val", "train"): (1, 2)}
    assert "3 images of val are also in train: 1 with the same bytes, 2 that look the same." in \
        [finding["text"] for finding in found["findings"]]


def test_remarks_name_options_as_flags(bale, tmp_path):
    (tmp_path / "one/images").mkdir(parents=True)
    (tmp_path / "one/images/a.ppm").write_bytes(b"P6\n1 1\n255\nabc")
    assert any("give --flat if" in finding["text"] for finding in report(bale, tmp_path / "one")["findings"])


def test_what_is_found_depends_on_the_options(bale, splits):
    def groups(*options):
        return report(bale, splits / "train", splits / "val", *options)["duplicates"]
    assert len(groups()["groups"]) == 5  # not the mirrored one
    exact = groups("--no-near")
    assert len(exact["groups"]) == 2 and exact["near"] is None and exact["exact"] == 2
    assert len(groups("--no-crops")["groups"]) in (4, 5)
    assert len(groups("--similarity", "0.9999")["groups"]) < 5
    assert bale("report", splits / "train", "--similarity", "2").code == USAGE


def test_each_remark(bale, flawed):
    found = report(bale, flawed)
    remarks = {name: names(images) for name, images in found["remarks"].items()}
    for name in remarks:
        assert remarks[name] == [f"cat/{name}"], remarks
    assert set(remarks) == {"truncated", "unknown_kind", "no_image", "undecodable", "wrong_extension", "blank", "tiny", "elongated",
                            "gray", "cmyk", "oriented", "huge", "corrupt_data"}
    assert found["corrupt"] == 4 and found["suspicious"] == 9
    assert found["remarks"]["truncated"][0]["why"] and found["orientations"]["6"] == 1
    assert found["jpeg"]["progressive"] == 1 and found["jpeg"]["sampling"]["4:4:4"] >= 1
    assert found["jpeg"]["sampling"]["gray"] == 1 and found["kinds"]["png"] == 1
    assert found["duplicates"]["groups"] == []
    # A loader with this limit stops at what is above it.
    limited = report(bale, flawed, "--max-pixels", "1000000")
    assert limited["remarks"]["huge"] and "undecodable" in limited["remarks"]
    assert names(limited["remarks"]["above_limit"]) == ["cat/huge"] and limited["corrupt"] == 5
    assert "limit of 1000000 pixels" in limited["remarks"]["above_limit"][0]["why"]


def test_what_most_images_are_is_not_remarked(bale, tmp_path):
    for seed in range(6):
        path = tmp_path / "digits" / ("one", "two")[seed % 2] / f"{seed}.png"
        write(path, b"")
        picture(seed, (24, 24)).convert("L").save(path)
    found = report(bale, tmp_path / "digits")
    assert found["remarks"] == {} and found["findings"][0]["tone"] == "good"


@pytest.mark.parametrize("layout", [f"{name}.{layout}" for name, layout in LAYOUTS])
def test_every_format_gives_the_report_of_its_folder(bale, splits, tmp_path, layout):
    bale.pack(splits / "train", tmp_path / "train", *format_options(layout), "--shuffle", "3")
    packed, folder = report(bale, tmp_path / "train"), report(bale, splits / "train")

    def essence(found):
        groups = sorted(names(group["images"]) for group in found["duplicates"]["groups"])
        return found["images"], found["bytes"], found["classes"], found["width"], found["kinds"], groups
    assert essence(packed) == essence(folder)


def test_a_directory_of_datasets_is_one_of_splits(bale, splits, tmp_path):
    bale.pack(splits / "train", tmp_path / "all", "--split", "train=0.8,val=0.2")
    found = report(bale, tmp_path / "all")
    assert [split["name"] for split in found["splits"]] == ["train", "val"] and found["images"] == 23


def test_splits_of_the_same_name_are_distinguished(bale, splits, tmp_path):
    (tmp_path / "b").symlink_to(splits)
    found = report(bale, splits / "train", tmp_path / "b" / "train")
    assert [split["name"] for split in found["splits"]] == [f"{splits.name}/train", "b/train"]
    assert found["duplicates"]["leaks"][0]["exact"] == 23


class Page(html.parser.HTMLParser):
    """Elements, attributes and texts of a page."""
    VOID = {"meta", "img", "br"}

    def __init__(self, path):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = set(), [], [], []
        self.feed(path.read_text("utf-8"))
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.texts.append(data)


ALLOWED = {"html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "div", "span", "b", "bdi", "br",
           "ul", "li", "a", "table", "tr", "th", "td", "svg", "rect", "line", "polyline", "polygon", "text", "details", "summary",
           "figure", "figcaption", "img", "code", "footer"}


def check_page(path):
    page = Page(path)
    assert page.tags <= ALLOWED, page.tags - ALLOWED
    for name, value in page.attributes:
        assert not name.startswith("on"), (name, value)
        if name in ("src", "href"):
            assert value.startswith(("data:image/jpeg;base64,", "#")), value
    return page


def test_the_page_is_one_file_with_charts_and_pictures(bale, splits, flawed, tmp_path):
    page = tmp_path / "report.html"
    bale.ok("report", splits / "train", splits / "val", flawed, "-o", page, "--mirrored")
    found = check_page(page)
    text = " ".join(found.texts)
    for expected in ("Report on", "3 images of val are also in train", "Leaks between splits", "Label conflicts", "Truncated",
                     "Class balance", "Aspect ratio", "JPEG coding", "Contact sheets", "mirrored, similarity"):
        assert expected in text, expected
    assert re.search(r"crop of (8[6-9]|9[0-4])%, similarity 0\.9", text)
    assert {"svg", "img", "details"} <= found.tags and "prefers-color-scheme: dark" in page.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    # Pictures are JPEGs of the size that the page shows.
    sources = [value for name, value in found.attributes if name == "src"]
    for source in sources[:5]:
        assert max(Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))).size) <= 144


def test_hostile_names_are_text(bale, tmp_path):
    folder = tmp_path / "hostile"
    evil = "<img src=x onerror=alert(1)>\"'&</style></title><script>alert(2)</script>".replace("/", "\u2215")
    write(folder / evil / f"{evil}.jpg", jpeg(picture(1)))
    write(folder / evil / "\u202ereversed.jpg", jpeg(picture(1)))
    write(folder / "b" / "new\nline.jpg", jpeg(picture(1), 70))
    os.makedirs(folder / "b", exist_ok=True)
    with open(os.fsencode(folder) + b"/b/\xff\xfe<b>.jpg", "wb") as file:
        file.write(jpeg(picture(2))[:500])
    page = tmp_path / "page.html"
    bale.ok("report", folder, "-o", page)
    found = check_page(page)
    assert "script" not in found.tags and any("<script>alert(2)" in text for text in found.texts)
    assert any("\\xff\\xfe<b>" in text for text in found.texts)
    names_found = [image["key"] for group in report(bale, folder)["duplicates"]["groups"] for image in group["images"]]
    assert "b/new\nline" in names_found


def test_the_same_page_with_any_number_of_threads(bale, splits, flawed, tmp_path):
    pages = []
    for jobs in ("1", "4"):
        page = tmp_path / f"{jobs}.html"
        bale.ok("report", splits / "train", flawed, "-o", page, "-j", jobs, "--quiet")
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]


def test_an_existing_file_is_kept(bale, splits, tmp_path):
    page = write(tmp_path / "report.html", b"mine")
    refused = bale("report", splits / "val", "-o", page)
    assert refused.code == FAILURE and "--force" in refused.error_line() and page.read_bytes() == b"mine"
    bale.ok("report", splits / "val", "-o", page, "--force")
    check_page(page)


def test_what_cannot_be_reported_on(bale, tmp_path):
    (tmp_path / "empty" / "class").mkdir(parents=True)
    assert bale("report", tmp_path / "empty").code == FAILURE
    assert bale("report", tmp_path / "nothing").code == FAILURE
    assert bale("report").code == USAGE


def test_damaged_shards_are_part_of_the_report(bale, splits, tmp_path):
    bale.pack(splits / "train", tmp_path / "packed", "--shard-samples", "5")
    shards = sorted(path for path in (tmp_path / "packed").iterdir() if path.suffix == ".tar")
    flip(shards[0], 3000)  # inside of the first image
    shards[1].unlink()
    found = report(bale, tmp_path / "packed")
    assert len(found["remarks"]["unreadable"]) == 1
    assert [os.path.basename(loss["path"]) for split in found["splits"] for loss in split["losses"]] == [shards[1].name]
    page = tmp_path / "page.html"
    bale.ok("report", tmp_path / "packed", "-o", page)
    assert shards[1].name in " ".join(check_page(page).texts)


@pytest.mark.parametrize("command", [["bench", "--epochs", "1", "--max-batches", "2"], ["doctor", "--seconds", "0.2"]])
def test_bench_and_doctor_write_pages(bale, splits, tmp_path, command):
    bale.pack(splits / "train", tmp_path / "packed")
    page = tmp_path / "stages.html"
    small = ["--batch", "4", "--size", "32", "--workers", "1", "--threads", "--quiet"]
    bale.ok(command[0], tmp_path / "packed", *command[1:], *small, "--html", page)
    found = check_page(page)
    text = " ".join(found.texts)
    assert "Time per image" in text and "bound" in text and "decode" in text and "svg" in found.tags
    assert "\\x0a" not in page.read_text()
    assert bale(command[0], tmp_path / "packed", *small, "--html", page).code == FAILURE


@pytest.mark.parametrize("command", [["bench", "--epochs", "1", "--max-batches", "2"], ["doctor", "--seconds", "0.2"]])
def test_pages_show_other_loaders_next_to(bale, splits, tmp_path, command):
    bale.pack(splits / "train", tmp_path / "packed")
    page, figures = tmp_path / "stages.html", tmp_path / "peers.json"
    small = ["--batch", "4", "--size", "32", "--workers", "1", "--threads", "--quiet", "--html", page, "--beside", figures]
    figures.write_text(json.dumps({"rows": [
        {"name": "<i>other</i>", "median": {"images_per_s": 1.5}}, {"name": "<i>other</i>", "median": {"images_per_s": 0.00057}},
        {"name": "second", "images_per_s": 3}, {"name": "failed", "median": None}, {"name": "bale tar", "images_per_s": 7}]}))
    bale.ok(command[0], tmp_path / "packed", *command[1:], *small)
    text = " ".join(check_page(page).texts)
    assert text.index("second: bale is") < text.index("<i>other</i>: bale is") and "1.5" in text
    assert text.count("<i>other</i>: bale is") == 1 and "failed" not in text and "bale tar" not in text
    for content in ("", "[1]", '{"rows": 1}', "\x00"):
        figures.write_text(content)
        refused = bale(command[0], tmp_path / "packed", *small, "--force")
        assert refused.code == USAGE and "not figures of loaders" in refused.error_line()
    assert bale(command[0], tmp_path / "packed", "--beside", figures).code == USAGE


# Pages say when and where, and can be read.

def widths_of_bars(page, heading):
    table = page.partition(f"<h3>{heading}</h3>")[2].partition("</table>")[0]
    return [float(width) for width in re.findall(r'class="bar" width="([\d.]+)"', table)]


def test_largest_and_smallest_classes_share_a_scale(bale, tmp_path):
    counts = [40, 30, *[20] * 45, 2, 1]
    for number, count in enumerate(counts):
        for i in range(count):
            write(tmp_path / "in" / f"class_{number:02}" / f"{i}.png", b"")
    bale.ok("report", tmp_path / "in", "-o", tmp_path / "page.html", "--no-near", "-q")
    page = (tmp_path / "page.html").read_text()
    assert widths_of_bars(page, "Largest classes")[:3] == [100, 75, 50]
    assert widths_of_bars(page, "Smallest classes")[-3:] == [50, 5, 2.5]


def made_where_and_when(page):
    footer = re.search(r"<footer>(.*?)</footer>", page, re.DOTALL)[1]
    assert platform.node() in footer and re.search(r"\b\d+ cores?\b", footer)
    return re.search(r"\d{4}-\d\d-\d\d", footer)[0]


@pytest.mark.parametrize("command", ["report", "bench", "doctor"])
def test_pages_say_when_and_where(bale, tmp_path, command):
    fill(tmp_path / "in", range(8))
    bale.pack(tmp_path / "in", tmp_path / "packed")
    options = {"report": ["-o"], "bench": ["--batch", "4", "--size", "32", "--threads", "--epochs", "1", "--html"],
               "doctor": ["--batch", "4", "--size", "32", "--threads", "--workers", "1", "--seconds", "0.2", "--html"]}[command]
    before = datetime.datetime.now(datetime.timezone.utc).date()
    bale.ok(command, tmp_path / "packed", *options, tmp_path / "page.html")
    after = datetime.datetime.now(datetime.timezone.utc).date()
    assert made_where_and_when((tmp_path / "page.html").read_text()) in (str(before), str(after))
    bale.ok(command, tmp_path / "packed", *options, tmp_path / "fixed.html", env={"SOURCE_DATE_EPOCH": "86400"})
    assert made_where_and_when((tmp_path / "fixed.html").read_text()) == "1970-01-02"
