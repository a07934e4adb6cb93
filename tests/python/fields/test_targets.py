"""Masks, boxes and keypoints in batches (docs/FIELDS.md): they take the steps of their image."""
import io
import itertools
import json

import numpy as np
import pytest
import steps_reference
from fields_support import continues, jpeg, npy
from PIL import Image
from test_transform_steps import placements, rotations, warps

import bale as bl
from bale import _bale
from bale import transforms as T
from bale.errors import Error

SIZES = [(1, 1), (1, 7), (13, 2), (31, 29), (37, 64)]
GEOMETRY = [step for kind in (placements, rotations, warps) for step in kind() if step["name"] != "Affine" or step["matrix"][0] != 0]


def png(image, **options):
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()


def follow(steps, kind, stored, size, fill=0, out=None):
    """A target after the steps: int64 pixels of `out` (width, height), or rows of (coordinates..., label)."""
    steps = json.dumps(steps)
    if kind == "mask":
        row = _bale.apply_steps_to_target(steps, kind, stored, *size, fill, out[0] * out[1] * 8)
        return np.frombuffer(row, "<i8").reshape(out[1], out[0])
    row = np.frombuffer(_bale.apply_steps_to_target(steps, kind, stored, *size),
                        [("at", "<f4", (4 if kind == "boxes" else 2,)), ("label", "<i8")])
    return row["at"], row["label"]


# --- masks, against Pillow

def nearest(step, fill):
    """The step as it is for a mask: nearest pixels, and its own fill."""
    changed = {**step}
    changed |= {"filter": "nearest"} if "filter" in step else {}
    changed |= {"sampling": "nearest"} if "sampling" in step else {}
    changed |= {"fill": [fill] * 3} if step["name"] in ("Pad", "Rotate", "Affine", "Perspective") else {}
    return changed


def expected_mask(step, values, fill):
    """The values, one per channel of a gray image in RGB, after Pillow has changed it."""
    if step["name"] == "Crop":
        left, top, width, height = (step[name] for name in ("left", "top", "width", "height"))
        canvas = np.full((height, width), fill, np.uint8)
        y, x = np.mgrid[top:top + height, left:left + width]
        inside = (y >= 0) & (y < values.shape[0]) & (x >= 0) & (x < values.shape[1])
        canvas[inside] = values[y[inside], x[inside]]
        return canvas
    return steps_reference.apply([nearest(step, fill)], np.ascontiguousarray(np.repeat(values[:, :, None], 3, 2)))[:, :, 0]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("fill", [0, 255])
def test_masks_are_pillows_nearest_pixels(size, fill):
    values = np.random.default_rng(3).integers(0, 256, size[::-1], dtype=np.uint8)
    stored = png(Image.fromarray(values))
    for step in GEOMETRY:
        expected = expected_mask(step, values, fill)
        found = follow([step], "mask", stored, size, fill, expected.shape[::-1])
        assert np.array_equal(found, expected), (step, size)


def masks():
    random = np.random.default_rng(5)
    values = random.integers(0, 256, (23, 17), dtype=np.uint8)
    yield Image.fromarray(values), {}
    palette = Image.fromarray(values % 11).convert("P")
    palette.putdata((values % 11).ravel().tolist())
    palette.putpalette(random.integers(0, 256, 768).tolist())
    yield from ((palette, {"bits": bits}) for bits in (4, 8))
    yield Image.fromarray(random.integers(0, 65536, (23, 17), dtype=np.uint16)), {}
    yield Image.fromarray(values > 100).convert("1"), {}


@pytest.mark.parametrize("image,options", list(masks()), ids=str)
def test_stored_masks_have_the_values_that_pillow_reads(image, options):
    stored = png(image, **options)
    with Image.open(io.BytesIO(stored)) as read:
        expected = np.asarray(read).astype(np.int64)
    assert np.array_equal(follow([], "mask", stored, image.size, 0, image.size), expected)
    flipped = follow([{"name": "HorizontalFlip"}], "mask", stored, image.size, 0, image.size)
    assert np.array_equal(flipped, expected[:, ::-1])
    for dtype in ("uint16", "int32", "int64"):
        for order in "CF":
            assert np.array_equal(follow([], "mask", npy(np.asarray(expected, dtype, order)), image.size, 0, image.size), expected)


def test_interlaced_and_damaged_masks():
    values = np.arange(60, dtype=np.uint8).reshape(6, 10)
    stored = png(Image.fromarray(values))
    for length in range(len(stored) - 12):
        with pytest.raises(Error):
            follow([], "mask", stored[:length], (10, 6), 0, (10, 6))
    for bad in (png(Image.new("RGB", (10, 6))), jpeg(1, (10, 6)), npy(np.full((6, 10), -1)), npy(np.full((6, 10), 65536)),
                npy(np.zeros((6, 10))), npy(values[None]), npy(values)[:-1], b""):
        with pytest.raises(Error):
            follow([], "mask", bad, (10, 6), 0, (10, 6))
    with pytest.raises(Error, match="mask of 10x6 pixels for an image of 10x7"):
        follow([], "mask", stored, (10, 7), 0, (10, 7))


# --- boxes and keypoints, against the definitions of torchvision's functional transforms

BOXES = np.array([[0, 0, 5, 4], [3.25, 1.5, 9, 7.75], [0, 0, 31, 29], [30, 28, 31, 29], [7, 7, 7, 7], [2, 20, 28, 21]], "float32")


def boxes_of(boxes, **more):
    return json.dumps({"boxes": boxes.tolist(), **more}).encode()


def inverse_at(matrix, points):
    moved = np.c_[points.astype("float64"), np.ones(len(points))] @ np.linalg.inv(matrix).T
    return moved[:, :2] / moved[:, 2:]


def matrix_of(step, size):
    """From the image after a warp to the one before it, of Pillow."""
    if step["name"] == "Affine":
        return np.array([*step["matrix"], 0, 0, 1.0]).reshape(3, 3)
    if step["name"] == "Perspective":
        return np.array([*step["coefficients"], 1.0]).reshape(3, 3)
    angle = -np.radians(step["angle"] % 360)
    center = np.array(step.get("center") or (size[0] / 2, size[1] / 2))
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.vstack([np.c_[turn, center - turn @ center], [0, 0, 1]])


def expected_corners(step, boxes, size):
    """torchvision's: the corners move, and the result is clipped."""
    corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2)
    moved = inverse_at(matrix_of(step, size), corners).reshape(-1, 4, 2)
    found = np.concatenate([moved.min(1), moved.max(1)], 1)
    return found.clip(0, np.array([*size, *size]))


@pytest.mark.parametrize("step", [step for step in [*rotations(), *warps()] if not step.get("expand")], ids=lambda step: step["name"])
def test_boxes_after_a_warp(step):
    if step["name"] != "Rotate" and abs(np.linalg.det(matrix_of(step, (31, 29)))) < 1e-12:
        with pytest.raises(Error, match="no inverse"):
            follow([step], "boxes", boxes_of(BOXES), (31, 29))
        return
    found, labels = follow([step], "boxes", boxes_of(BOXES, labels=[5, 4, 3, 2, 1, 0]), (31, 29))
    if step["name"] != "Perspective" or step["coefficients"][6] >= 0:  # else a corner may be behind the camera
        np.testing.assert_allclose(found, expected_corners(step, BOXES, (31, 29)), atol=1e-4, rtol=1e-5)
    assert labels.tolist() == [5, 4, 3, 2, 1, 0]


def test_boxes_and_keypoints_without_a_warp():
    one = np.float32(1)
    for step, boxes in ((({"name": "Crop", "left": 3, "top": 2, "width": 20, "height": 9}),
                         (BOXES - np.float32([3, 2, 3, 2])).clip(0, [20, 9, 20, 9])),
                        ({"name": "Pad", "left": 3, "top": 0, "right": 1, "bottom": 7}, BOXES + np.float32([3, 0, 3, 0])),
                        ({"name": "Resize", "width": 224, "height": 13},
                         BOXES * np.float32([224 / 31, 13 / 29, 224 / 31, 13 / 29])),
                        ({"name": "HorizontalFlip"}, np.c_[31 - BOXES[:, 2], BOXES[:, 1], 31 - BOXES[:, 0], BOXES[:, 3]]),
                        ({"name": "VerticalFlip"}, np.c_[BOXES[:, 0], 29 - BOXES[:, 3], BOXES[:, 2], 29 - BOXES[:, 1]]),
                        ({"name": "Brightness", "factor": 2}, BOXES)):
        assert np.array_equal(follow([step], "boxes", boxes_of(BOXES), (31, 29))[0], boxes.astype("float32")), step
    points = json.dumps({"keypoints": [[0, 0, 2], [30, 28, 1], [4.5, 7.25, 0]]}).encode()
    for step, expected in (({"name": "HorizontalFlip"}, [[30, 0], [0, 28], [25.5, 7.25]]),
                           ({"name": "VerticalFlip"}, [[0, 28], [30, 0], [4.5, 20.75]]),
                           ({"name": "Crop", "left": 1, "top": 7, "width": 9, "height": 9}, [[-1, -7], [29, 21], [3.5, 0.25]]),
                           ({"name": "Resize", "width": 62, "height": 29}, [[0, 0], [60, 28], [9, 7.25]])):
        found, visible = follow([step], "keypoints", points, (31, 29))
        assert np.array_equal(found, np.float32(expected) * one) and visible.tolist() == [2, 1, 0], step


@pytest.mark.parametrize("step", list(warps()), ids=lambda step: step["name"])
def test_keypoints_after_a_warp(step):
    matrix = matrix_of(step, (31, 29))
    if abs(np.linalg.det(matrix)) < 1e-12:
        return
    points = np.float32([[0, 0], [30, 28], [4.5, 7.25]])
    found, _ = follow([step], "keypoints", json.dumps({"keypoints": points.tolist()}).encode(), (31, 29))
    np.testing.assert_allclose(found, inverse_at(matrix, points), atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("expand", [False, True])
def test_a_box_holds_the_pixels_that_it_held(expand):
    """A mask that is the box's inside, turned: its pixels are within the turned box, and reach its edges."""
    box = np.array([[40, 30, 70, 50]], "float32")
    mask = np.zeros((90, 120), np.uint8)
    mask[30:50, 40:70] = 1
    for angle in (0, 90, 180, 270, 17.5, -60):
        steps = [{"name": "Rotate", "angle": angle, "expand": expand, "sampling": "bilinear"}, {"name": "HorizontalFlip"}]
        width, height = _bale.apply_steps(json.dumps(steps), np.zeros((90, 120, 3), np.uint8)).shape[1::-1]
        y, x = np.nonzero(follow(steps, "mask", png(Image.fromarray(mask)), (120, 90), 0, (width, height)))
        (x0, y0, x1, y1), = follow(steps, "boxes", boxes_of(box), (120, 90))[0]
        assert np.abs([x.min() - x0, y.min() - y0, x.max() + 1 - x1, y.max() + 1 - y1]).max() <= 1, (angle, x0, y0, x1, y1)


@pytest.mark.parametrize("center", [None, (7.5, 40)])
def test_boxes_of_an_image_that_grows_as_it_turns(center):
    """torchvision's, moved to where Pillow's pixels are. torchvision's are those of a turned image that begins at 0. Without a center
    Pillow's lies in the middle, so that is half of what rounding to whole pixels adds to the canvas."""
    size, boxes, shifts = np.array([31, 29]), BOXES, []
    frame = np.array([[0, 0], [31, 0], [31, 29], [0, 29]], "float64")
    for angle in (3, 17.5, 45, 89.9, 123, 200.25, 301, -60):
        step = {"name": "Rotate", "angle": angle, "expand": True, **({"center": center} if center else {})}
        turned = inverse_at(matrix_of(step, size), np.concatenate([boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2), frame]))
        low, high = turned[-4:].min(0), turned[-4:].max(0)
        corners = turned[:-4].reshape(-1, 4, 2) - low  # torchvision's boxes
        canvas = np.array(_bale.apply_steps(json.dumps([step]), np.zeros((29, 31, 3), np.uint8)).shape[1::-1])
        shift = low + (canvas - size) / 2  # Pillow adds the same at both sides, wherever it turned the image about
        shifts.append([shift, (canvas - (high - low)) / 2])
        expected = np.concatenate([corners.min(1) + shift, corners.max(1) + shift], 1).clip(0, [*canvas, *canvas])
        np.testing.assert_allclose(follow([step], "boxes", boxes_of(boxes), (31, 29))[0], expected, atol=1e-4)
    if center is None:
        np.testing.assert_allclose(*zip(*shifts), atol=1e-9)
        assert np.min(shifts) > -1e-9 and 0.5 < np.max(shifts) < 1


def test_stored_forms_of_boxes():
    corners = np.float32([[1, 2, 4, 8], [0, 0, 10, 5]])
    coco = [{"bbox": [1, 2, 3, 6], "category_id": 7, "id": 1}, {"bbox": [0, 0, 10, 5], "category_id": 9}]
    for stored, labels in ((boxes_of(corners), [-1, -1]), (boxes_of(corners, labels=[7, 9]), [7, 9]),
                           (json.dumps(coco).encode(), [7, 9]), (json.dumps({"annotations": coco}).encode(), [7, 9]),
                           (json.dumps({"bbox": [one["bbox"] for one in coco], "category_id": [7, 9]}).encode(), [7, 9]),
                           (json.dumps({"bbox": [one["bbox"] for one in coco], "category": [None, 9]}).encode(), [-1, 9]),
                           (npy(corners), [-1, -1]), (npy(np.c_[corners, [7, 9]].astype("int16")), [7, 9])):
        found = follow([], "boxes", stored, (20, 20))
        assert np.array_equal(found[0], corners) and found[1].tolist() == labels, stored
    assert len(follow([], "boxes", boxes_of(np.zeros((0, 4))), (20, 20))[0]) == 0
    points = json.dumps([{"keypoints": [1, 2, 2, 3, 4, 0]}]).encode()
    assert follow([], "keypoints", points, (20, 20))[1].tolist() == [2, 0]
    for bad in (b"", b"{", b"3", b"{}", b'{"boxes": 3}', b'{"boxes": [[1, 2, 3]]}', b'{"boxes": [[1, 2, 3, "4"]]}',
                b'{"boxes": [[1, 2, 3, 1e39]]}', b'{"boxes": [[0, 0, 1, 1]], "labels": []}', b'{"boxes": [], "labels": [1]}',
                b'{"boxes": [[0, 0, 1, 1]], "labels": [1.5]}', b'[{"bbox": [1, 2, 3]}]', b"[3]", npy(corners)[:-1],
                npy(corners[:, :3]), npy(corners > 3), npy(np.float32([[0, 0, np.nan, 1]])),
                npy(np.float64([[0, 0, 1, 1, 0.5]]))):
        with pytest.raises(Error):
            follow([], "boxes", bad, (20, 20))


# --- in batches

COUNT = 30
SIDE = 16
TRAIN = T.Compose([T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(), T.ColorJitter(0.4), T.RandomRotation(20)])
FIELDS = {"mask": bl.Field("mask.png", kind="mask", fill=255, dtype="int64"), "boxes": bl.Field("boxes.json", kind="boxes"),
          "points": bl.Field("points.npy", kind="keypoints")}


def size_of(i):
    return 20 + i % 7, 18 + i % 5


def parts(i):
    width, height = size_of(i)
    random = np.random.default_rng(i)
    mask = Image.fromarray(random.integers(0, 21, (height, width), dtype=np.uint8))
    low = random.uniform(0, 10, (i % 4, 2))
    boxes = np.c_[low, low + random.uniform(1, 8, (i % 4, 2))].astype("float32")
    return {"jpg": jpeg(i, (width, height)), "mask.png": png(mask), "boxes.json": boxes_of(boxes, labels=list(range(i % 4))),
            "points.npy": npy(low.astype("float32"))}


def write(root, changed=None):
    root.mkdir(parents=True)
    for i in range(COUNT):
        for extension, content in {**parts(i), **(changed or {}).get(i, {})}.items():
            (root / f"s{i:03}.{extension}").write_bytes(content)
    return root


PACK = ["--pair", "jpg,mask.png,boxes.json,points.npy", "--shard-samples", "7", "--flat"]


@pytest.fixture(scope="module")
def packed(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("targets")
    bale.pack(write(root / "src"), root / "pack", *PACK)
    return root / "pack"


@pytest.fixture(scope="module")
def compressed(bale, packed):
    bale.pack(packed.parent / "src", packed.parent / "small", *PACK, "--compress", "zstd")
    return packed.parent / "small"


def load(spec, batch_size=4, **options):
    return bl.Loader(spec, batch_size, **{"workers": 0, "seed": 3, "transform": TRAIN, "fields": FIELDS, **options})


def content(batch):
    fields = batch.fields
    return (batch.keys, batch.images.tobytes(), fields["mask"].tobytes(),
            *(np.asarray(part).tobytes() for name in ("boxes", "points") for ragged in (fields[name], fields.labels(name))
              for part in (ragged.data, ragged.offsets)))


def check(batch, rows):
    """The targets of these rows are what the steps of their images make of the stored ones."""
    fields = batch.fields
    assert fields["mask"].dtype == np.int64 and fields["mask"].shape == (len(batch.images), SIDE, SIDE)
    for row in rows:
        i = int(batch.keys[row][-3:])
        steps, stored = batch.draw(row)["steps"], parts(i)
        assert np.array_equal(fields["mask"][row], follow(steps, "mask", stored["mask.png"], size_of(i), 255, (SIDE, SIDE)))
        for name, field in (("boxes", "boxes.json"), ("points", "points.npy")):
            at, labels = follow(steps, {"points": "keypoints"}.get(name, name), stored[field], size_of(i))
            assert np.array_equal(fields[name][row], at) and np.array_equal(fields.labels(name)[row], labels)
        assert len(fields["boxes"][row]) == i % 4


def test_a_batch_is_what_its_steps_make(packed):
    with load(packed) as loader:
        for batch in itertools.chain(loader, loader):
            check(batch, range(len(batch.keys)))


@pytest.mark.parametrize("how", [{"workers": 2}, {"workers": 2, "threads": True}], ids=str)
def test_the_same_from_processes_threads_and_the_caller(packed, compressed, how):
    with load(packed) as loader:
        expected = [content(batch) for _ in range(2) for batch in loader]
    for spec in (packed, compressed):
        with load(spec, **how) as loader:
            assert [content(batch) for _ in range(2) for batch in loader] == expected


def test_a_state_continues(packed):
    assert continues(load, packed, content)


def test_stored_formats(bale, tmp_path):
    """"bbox" is COCO's, if the field does not say otherwise, as of datasets whose "bbox" has corners."""
    forms = [{"bbox": [[1, 2, 4, 8]], "category": [3]}, [{"bbox": [1, 2, 4, 8], "category": 3}], {"boxes": [[1, 2, 4, 8]], "category": [3]},
             {"width": 20, "objects": {"bbox": [[1, 2, 4, 8]], "category": [3]}}]
    bl.pack([(f"{i}", {"jpg": jpeg(i, (20, 20)), "objects.json": form}) for i, form in enumerate(forms)], tmp_path / "p")
    corners, sides, centers = [1, 2, 4, 8], [1, 2, 5, 10], [-1, -2, 3, 6]
    for stored, expected in ((None, [sides, sides, corners, sides]), ("xyxy", [corners] * 4), ("xywh", [sides] * 4), ("cxcywh", [centers] * 4)):
        field = bl.Field("objects.json", kind="boxes", stored_format=stored)
        with bl.Loader(tmp_path / "p", 4, transform=T.ragged(), workers=0, shuffle=False, seed=1, fields={"boxes": field}) as loader:
            [batch] = loader
            assert batch.fields["boxes"].data.tolist() == expected and batch.fields.labels("boxes").data.tolist() == [3, 3, 3, 3]
    with pytest.raises(ValueError, match="the format 'yx'"):
        load(tmp_path / "p", fields={"boxes": bl.Field("objects.json", kind="boxes", stored_format="yx")})


def test_formats_of_boxes(packed):
    with load(packed) as corners, load(packed, fields={"boxes": FIELDS["boxes"]._replace(format="xywh")}) as sides, \
         load(packed, fields={"boxes": FIELDS["boxes"]._replace(format="cxcywh")}) as centers:
        for a, b, c in zip(corners, sides, centers, strict=True):
            x0, y0, x1, y1 = a.fields["boxes"].data.T
            assert np.array_equal(b.fields["boxes"].data, np.c_[x0, y0, x1 - x0, y1 - y0])
            np.testing.assert_allclose(c.fields["boxes"].data, np.c_[(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], atol=1e-5)


def test_a_bad_target_is_a_bad_sample(bale, tmp_path):
    bad = {3: {"mask.png": png(Image.new("L", (3, 3)))}, 5: {"boxes.json": b'{"boxes": 1}'}, 9: {"points.npy": b"x"}}
    bale.pack(write(tmp_path / "src", bad), tmp_path / "pack", *PACK)
    for policy in ("skip", "substitute"):
        with load(tmp_path / "pack", on_bad_sample=policy, shuffle=False) as loader:
            for batch in loader:
                check(batch, np.flatnonzero(batch.mask))
                assert policy == "skip" or batch.mask.all()
                for row in np.flatnonzero(~batch.mask):
                    assert len(batch.fields["boxes"][row]) == 0 and not batch.fields["mask"][row].any()
            assert sorted(bad_sample.key[-3:] for bad_sample in loader.bad_samples) == ["003", "005", "009"]
            assert "mask of 3x3 pixels for an image of 23x21" in " ".join(str(one) for one in loader.bad_samples)


def test_images_without_a_drawn_geometry(packed):
    boxes = {"boxes": FIELDS["boxes"], "mask": FIELDS["mask"]}
    with load(packed, transform=T.padded(40), fields=boxes) as loader:
        for batch in loader:
            width, height = size_of(int(batch.keys[0][-3:]))
            assert (batch.fields["mask"][0, height:] == 255).all() and batch.fields["mask"][0, :height, :width].max() < 21
    with load(packed, transform=T.ragged(), fields={"boxes": FIELDS["boxes"]}) as loader:
        assert sum(len(batch.fields["boxes"].data) for batch in loader) == sum(i % 4 for i in range(COUNT))


@pytest.mark.parametrize("options,text", [
    ({"transform": None, "views": [TRAIN, TRAIN]}, "follows one of 2 views"), ({"transform": T.raw()}, "need decoded images"),
    ({"transform": T.ragged()}, "images of one size"),
    ({"transform": T.Compose([T.Resize((8, 8)), T.AugMix()])}, "AugMix"),
    ({"fields": {"m": bl.Field("mask.png", kind="mask", dtype="float32")}}, "uint8, int32 or int64"),
    ({"fields": {"m": bl.Field("mask.png", kind="mask", fill=256)}}, "uint8, does not have"),
    ({"fields": {"m": bl.Field("mask.png", kind="mask", fill=-1)}}, "fill -1"),
    ({"fields": {"m": bl.Field("mask.png", kind="boxen")}}, "boxen"),
    ({"fields": {"b": bl.Field("boxes.json", kind="boxes", format="yx")}}, "yx"),
    ({"fields": {"b": bl.Field("mask.png", kind="mask", format="xywh")}}, "which only boxes have"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_refused(packed, options, text):
    with pytest.raises((Error, ValueError), match=text):
        load(packed, **options)
