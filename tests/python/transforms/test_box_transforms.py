"""RandomIoUCrop, ClampBoundingBoxes and SanitizeBoundingBoxes: against their definitions, torchvision's own classes, and in batches."""
import io
import itertools
import json
import tarfile
import warnings

import numpy as np
import pytest
from fields_support import continues, jpeg, npy
from PIL import Image
from python_support import SYSTEM_PYTHON, run_script
from test_targets import boxes_of, follow, png

import bale as bl
from bale import _bale
from bale import transforms as T
from bale.errors import Error

OPTIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def draw(transform, size, boxes, sample=0, seed=7):
    return json.loads(_bale.draw_transforms(T.Compose([transform]).to_json(), *size, seed, 0, sample, boxes=npy(boxes)))


def boxes_in(random, size, count):
    """Boxes of an image; some reach over its edges, some are empty, some lie outside."""
    corner = random.uniform(-0.2, 1.0, (count, 2)) * size
    sides = random.choice([0, 0.05, 0.3, 0.9], (count, 1)) * random.uniform(0.5, 1, (count, 2)) * size
    return np.concatenate([corner, corner + sides], 1).astype("float32").round(2)


# --- against the definitions of torchvision 0.29

def is_inside(boxes, crop):
    center = np.float32(0.5) * (boxes[:, :2] + boxes[:, 2:])
    low = np.float32([crop["left"], crop["top"]])
    return ((low < center) & (center < low + np.float32([crop["width"], crop["height"]]))).all(1)


def overlaps(boxes, crop):
    low = np.float32([crop["left"], crop["top"]])
    high = low + np.float32([crop["width"], crop["height"]])
    both = np.prod(np.clip(np.minimum(boxes[:, 2:], high) - np.maximum(boxes[:, :2], low), 0, None), 1)
    return both / (np.prod(boxes[:, 2:] - boxes[:, :2], 1) + np.prod(high - low) - both)


def make_params(random, size, boxes):
    """torchvision's RandomIoUCrop.make_params with its defaults: (left, top, width, height), or None."""
    while True:
        least = random.choice(OPTIONS)
        if least >= 1:
            return None
        for _ in range(40):
            width, height = (int(side * share) for side, share in zip(size, 0.3 + 0.7 * random.random(2)))
            if not 0.5 <= width / height <= 2:
                continue
            left, top = (int((side - part) * share) for side, part, share in zip(size, (width, height), random.random(2)))
            crop = {"left": left, "top": top, "width": width, "height": height}
            kept = boxes[is_inside(boxes, crop)]
            if len(kept) and overlaps(kept, crop).max() >= least:
                return left, top, width, height


def distance(one, other):
    """The largest distance of two cumulative distributions (Kolmogorov and Smirnov)."""
    at = np.sort(np.concatenate([one, other]))
    shares = [np.searchsorted(np.sort(found), at, side="right") / len(found) for found in (one, other)]
    return np.abs(shares[0] - shares[1]).max()


def assert_same_distributions(ours, theirs):
    """Lists of (left, top, width, height) or None. The bound is passed by chance once in 10,000 equal distributions."""
    assert abs(ours.count(None) - theirs.count(None)) < 4 * np.sqrt(len(ours) / 4 * 2)
    ours, theirs = (np.array([crop for crop in crops if crop]) for crops in (ours, theirs))
    bound = 2.2 * np.sqrt((len(ours) + len(theirs)) / (len(ours) * len(theirs)))
    for part in range(4):
        assert distance(ours[:, part], theirs[:, part]) < bound, part
    assert distance(ours[:, 2] * ours[:, 3], theirs[:, 2] * theirs[:, 3]) < bound


def crop_of(steps):
    if not steps:
        return None
    assert [step["name"] for step in steps] == ["ZeroBoundingBoxes", "Crop"]
    zero, crop = ({name: value for name, value in step.items() if name != "name"} for step in steps)
    assert zero == crop
    return crop["left"], crop["top"], crop["width"], crop["height"]


CASES = {"several": [[20, 30, 90, 80], [100, 10, 190, 140], [5, 5, 12, 14]], "small": [[70, 60, 84, 72]], "large": [[2, 3, 198, 148]]}


@pytest.mark.parametrize("boxes", CASES.values(), ids=CASES)
def test_crops_are_distributed_as_defined(boxes):
    boxes, size, random = np.float32(boxes), (200, 150), np.random.default_rng(1)
    ours = [crop_of(draw(T.RandomIoUCrop(), size, boxes, sample)) for sample in range(700)]
    assert_same_distributions(ours, [make_params(random, size, boxes) for _ in range(700)])


def test_each_crop_is_one_that_may_be_taken():
    """Also of images with degenerate boxes and with none."""
    random = np.random.default_rng(2)
    taken = 0
    for sample in range(300):
        size = (int(random.integers(2, 300)), int(random.integers(2, 300)))
        boxes = boxes_in(random, size, sample % 6)
        option = float(random.choice(OPTIONS[:-1]))
        steps = draw(T.RandomIoUCrop(sampler_options=[option], trials=30), size, boxes, sample)
        found = crop_of(steps)
        if found is None:
            continue
        left, top, width, height = found
        crop = steps[1]
        assert 0.5 <= width / height <= 2 and left + width <= size[0] and top + height <= size[1]
        assert int(0.3 * size[0]) <= width and int(0.3 * size[1]) <= height
        assert overlaps(boxes[is_inside(boxes, crop)], crop).max() >= np.float32(option) - 1e-6
        expected = (boxes - np.float32([left, top, left, top])).clip(0, [width, height, width, height])
        expected[~is_inside(boxes, crop)] = 0
        assert np.array_equal(follow(steps, "boxes", npy(boxes), size)[0], expected)
        taken += 1
    assert taken > 60


@pytest.mark.parametrize("boxes", [np.zeros((0, 4), "float32"), np.float32([[300, 300, 400, 400], [-9, -9, -1, -1]]),
                                   np.float32([[0, 0, 0, 0]])], ids=len)
def test_an_image_without_boxes_inside_stays_as_it_is(boxes):
    for sample in range(30):
        assert draw(T.RandomIoUCrop(), (100, 80), boxes, sample) == []
    assert draw(T.RandomIoUCrop(sampler_options=[0.5]), (100, 80), boxes) == []  # torchvision's goes on forever


def test_what_no_crop_can_satisfy_ends():
    assert draw(T.RandomIoUCrop(sampler_options=[0.99], min_scale=0.9), (100, 80), np.float32([[1, 1, 3, 3]])) == []
    assert draw(T.RandomIoUCrop(min_scale=0, max_scale=0, sampler_options=[0]), (100, 80), np.float32([[1, 1, 3, 3]])) == []
    assert draw(T.RandomIoUCrop(sampler_options=[0]), (1, 1), np.float32([[0, 0, 1, 1]])) == []


def test_the_crop_depends_on_the_boxes_after_the_steps_before_it():
    boxes = np.float32([[10, 10, 30, 30]])
    transform = T.Compose([T.RandomZoomOut(p=1), T.RandomHorizontalFlip(1), T.RandomIoUCrop(sampler_options=[0.5])])
    for sample in range(50):
        steps = draw(transform, (60, 40), boxes, sample)
        if steps[-1]["name"] != "Crop":
            continue
        moved, _ = follow(steps[:-2], "boxes", npy(boxes), (60, 40))
        assert is_inside(moved, steps[-1]).all() and overlaps(moved, steps[-1]).max() >= 0.5


def sane(boxes, size, min_size=1.0, min_area=1.0):
    sides = boxes[:, 2:] - boxes[:, :2]
    return ((sides >= np.float32(min_size)).all(1) & (np.prod(sides, 1) >= np.float32(min_area)) & (boxes >= 0).all(1)
            & (boxes <= np.float32([*size, *size])).all(1))


def test_boxes_that_are_dropped_and_clipped():
    random, size = np.random.default_rng(3), (60, 44)
    for _ in range(100):
        boxes = boxes_in(random, size, int(random.integers(0, 9)))
        stored = boxes_of(boxes, labels=list(range(len(boxes))))
        step = {"name": "SanitizeBoundingBoxes", "min_size": float(random.choice([1, 3.5])), "min_area": float(random.choice([1, 40]))}
        kept = np.flatnonzero(sane(boxes, size, step["min_size"], step["min_area"]))
        found, labels = follow([step], "boxes", stored, size)
        assert np.array_equal(found, boxes[kept]) and labels.tolist() == kept.tolist()
        clipped, labels = follow([{"name": "ClampBoundingBoxes"}], "boxes", stored, size)
        assert np.array_equal(clipped, boxes.clip(0, [*size, *size])) and labels.tolist() == list(range(len(boxes)))
    points = json.dumps({"keypoints": [[-3, 5, 1], [200, 4, 2]]}).encode()
    for name in ("SanitizeBoundingBoxes", "ClampBoundingBoxes"):
        assert follow([{"name": name}], "keypoints", points, size)[0].tolist() == [[-3, 5], [200, 4]]
        pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
        assert np.array_equal(_bale.apply_steps(json.dumps([{"name": name}]), pixels), pixels)


# --- against torchvision's own classes (BALE_TORCH_PYTHON names a Python with torchvision 0.16 or newer; Debian 12 has 0.14)

TORCHVISION = """
import json, sys
try:
    import torch, torchvision
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as F
except ImportError:
    print("none")
    raise SystemExit
cases = json.load(open(sys.argv[1]))
torch.manual_seed(4)
def boxes_of(boxes, size):
    return tv_tensors.BoundingBoxes(torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4), format="XYXY", canvas_size=size[::-1])
out = {"moved": [], "drawn": []}
for case in cases["moved"]:
    boxes, labels = boxes_of(case["boxes"], case["size"]), torch.arange(len(case["boxes"]))
    for step in case["steps"]:
        if step["name"] == "ZeroBoundingBoxes":
            left, top = step["left"], step["top"]
            center = 0.5 * (boxes[:, :2] + boxes[:, 2:]).as_subclass(torch.Tensor)
            inside = ((left < center[:, 0]) & (center[:, 0] < left + step["width"]) & (top < center[:, 1])
                      & (center[:, 1] < top + step["height"]))
            params = {"is_within_crop_area": inside}
        elif step["name"] == "Crop":
            params |= {name: step[name] for name in ("top", "left", "height", "width")}
            boxes = v2.RandomIoUCrop().transform(boxes, params) if hasattr(v2.Transform, "transform") else \\
                v2.RandomIoUCrop()._transform(boxes, params)
        elif step["name"] == "HorizontalFlip":
            boxes = F.horizontal_flip(boxes)
        elif step["name"] == "Pad":
            boxes = F.pad(boxes, [step[side] for side in ("left", "top", "right", "bottom")])
        elif step["name"] == "ClampBoundingBoxes":
            boxes = v2.ClampBoundingBoxes()(boxes)
        elif step["name"] == "SanitizeBoundingBoxes":
            options = {"min_area": step["min_area"]} if hasattr(v2.SanitizeBoundingBoxes(), "min_area") else {}
            made = v2.SanitizeBoundingBoxes(step["min_size"], **options)({"boxes": boxes, "labels": labels})
            boxes, labels = made["boxes"], made["labels"]
        elif step["name"] == "Resize":
            boxes = F.resize(boxes, [step["height"], step["width"]])
        else:
            raise AssertionError(step)
    out["moved"].append([boxes.tolist(), labels.tolist()])
kind = v2.RandomIoUCrop()
make = getattr(kind, "make_params", None) or kind._get_params
for case in cases["drawn"]:
    flat = [tv_tensors.Image(torch.zeros(3, case["size"][1], case["size"][0], dtype=torch.uint8)), boxes_of(case["boxes"], case["size"])]
    drawn = [make(flat) for _ in range(case["count"])]
    out["drawn"].append([None if not one else [one[name] for name in ("left", "top", "width", "height")] for one in drawn])
print(json.dumps(out | {"version": torchvision.__version__}))
"""


def test_against_torchvision(tmp_path):
    """Replayed: the same boxes and labels, bit for bit. Drawn: the same distributions."""
    random, moved = np.random.default_rng(6), []
    transform = T.Compose([T.RandomZoomOut(side_range=(1, 2)), T.RandomIoUCrop(), T.RandomHorizontalFlip(), T.ClampBoundingBoxes(),
                           T.SanitizeBoundingBoxes(2, 9), T.Resize((30, 41))])
    for sample in range(400):
        size = (int(random.integers(2, 300)), int(random.integers(2, 300)))
        boxes = boxes_in(random, size, sample % 7)
        moved.append({"size": size, "boxes": boxes.tolist(), "steps": draw(transform, size, boxes, sample)})
    drawn = [{"size": (200, 150), "boxes": boxes, "count": 700} for boxes in CASES.values()]
    (tmp_path / "cases.json").write_text(json.dumps({"moved": moved, "drawn": drawn}))
    printed = run_script(TORCHVISION, tmp_path / "cases.json", python=SYSTEM_PYTHON)
    if printed.strip() == "none":
        pytest.skip("torchvision has no transforms.v2")
    theirs = json.loads(printed)
    for case, (boxes, labels) in zip(moved, theirs["moved"], strict=True):
        stored = boxes_of(np.float32(case["boxes"]).reshape(-1, 4), labels=list(range(len(case["boxes"]))))
        found, found_labels = follow(case["steps"], "boxes", stored, case["size"])
        assert np.array_equal(found, np.float32(boxes).reshape(-1, 4)) and found_labels.tolist() == labels, case
    for case, crops in zip(drawn, theirs["drawn"], strict=True):
        ours = [crop_of(draw(T.RandomIoUCrop(), case["size"], np.float32(case["boxes"]), sample)) for sample in range(case["count"])]
        assert_same_distributions(ours, [crop and tuple(crop) for crop in crops])


# --- in batches

COUNT = 24
TRAIN = T.Compose([T.RandomZoomOut(side_range=(1, 2)), T.RandomIoUCrop(), T.RandomHorizontalFlip(), T.SanitizeBoundingBoxes(),
                   T.Resize((20, 24)), T.ColorJitter(0.4)])
FIELDS = {"mask": bl.Field("mask.png", kind="mask"), "boxes": bl.Field("boxes.json", kind="boxes")}
PACK = ["--pair", "jpg,mask.png,boxes.json", "--shard-samples", "7", "--flat"]


def size_of(i):
    return 40 + i % 7, 30 + i % 5


def stored_boxes(i):
    return boxes_in(np.random.default_rng(i), size_of(i), i % 5)


def stored(i, padding=0):
    boxes = stored_boxes(i)
    return boxes_of(boxes, labels=list(range(len(boxes)))) + b" " * padding


def write(root, padding=0, changed=None):
    root.mkdir(parents=True)
    for i in range(COUNT):
        mask = Image.fromarray(np.random.default_rng(i).integers(0, 21, size_of(i)[::-1], dtype=np.uint8))
        for extension, content in {"jpg": jpeg(i, size_of(i)), "mask.png": png(mask), "boxes.json": stored(i, padding),
                                   **(changed or {}).get(i, {})}.items():
            (root / f"s{i:03}.{extension}").write_bytes(content)
    return root


@pytest.fixture(scope="module")
def packed(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("box_transforms")
    bale.pack(write(root / "src"), root / "pack", *PACK)
    return root / "pack"


def load(spec, batch_size=4, **options):
    return bl.Loader(spec, batch_size, **{"workers": 0, "seed": 3, "transform": TRAIN, "fields": FIELDS, **options})


def content(batch):
    boxes, labels = batch.fields["boxes"], batch.fields.labels("boxes")
    return (batch.keys, batch.images.tobytes(), batch.fields["mask"].tobytes(), boxes.data.tobytes(), boxes.offsets.tobytes(),
            labels.data.tobytes(), [json.dumps(batch.draw(i)) for i in range(len(batch.keys))])


def check(batch, rows):
    """Image, mask, boxes and labels are what the recorded steps make of the stored ones. Returns the number of crops by boxes."""
    crops = 0
    for row in rows:
        i = int(batch.keys[row][-3:])
        steps = batch.draw(row)["steps"]
        crops += sum(step["name"] == "ZeroBoundingBoxes" for step in steps)
        with Image.open(io.BytesIO(jpeg(i, size_of(i)))) as image:
            pixels = np.asarray(image.convert("RGB"))
        assert np.array_equal(batch.images[row], _bale.apply_steps(json.dumps(steps), pixels)), steps
        at, labels = follow(steps, "boxes", stored(i), size_of(i))
        assert np.array_equal(batch.fields["boxes"][row], at) and np.array_equal(batch.fields.labels("boxes")[row], labels)
        assert (at[:, 2:] - at[:, :2]).min(initial=9) > 0 and len(labels) == len(at) <= i % 5
    return crops


def test_a_batch_is_what_its_steps_make(packed):
    with load(packed) as loader:
        crops = [check(batch, range(len(batch.keys))) for batch in itertools.chain(loader, loader)]
        assert 0 < sum(crops) < 2 * COUNT
    with load(packed) as loader:
        kept = list(loader)  # more than the slots: copies, which know their steps, too
    assert any(batch.is_copy for batch in kept)
    for batch in kept:
        check(batch, range(len(batch.keys)))


@pytest.mark.parametrize("layout", ["lists", "coco", "object"])
def test_what_else_is_known_of_a_box(tmp_path, layout):
    """Whatever a transform and `without` leave out, the numbers say which of the stored boxes are there."""
    stored = {}
    for i in range(12):
        boxes = boxes_in(np.random.default_rng(i), size_of(i), 6)
        marks = np.random.default_rng(100 + i).integers(0, 3, (2, 6))
        crowd, hard = [[0, 1, True][mark] for mark in marks[0]], [[0, None, 0.5][mark] for mark in marks[1]]
        labels = list(range(10, 16))
        if layout == "lists":
            content = {"boxes": boxes.tolist(), "labels": labels, "iscrowd": crowd, "difficult": hard}
        else:
            sides = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1).tolist()
            content = [{"bbox": box, "category_id": label, **({"iscrowd": c} if c else {}), "difficult": h}
                       for box, label, c, h in zip(sides, labels, crowd, hard)]
            content = {"annotations": content} if layout == "object" else content
        stored[f"{i}"] = ({"jpg": jpeg(i, size_of(i)), "boxes.json": content}, [not (c or h) for c, h in zip(crowd, hard)])
    bl.pack([(key, fields) for key, (fields, _) in stored.items()], tmp_path / "pack")
    fields = {"all": bl.Field("boxes.json", kind="boxes"), "meta": "boxes.json",
              "boxes": bl.Field("boxes.json", kind="boxes", without=["iscrowd", "difficult"])}
    found = []
    for how in ({"workers": 0}, {"workers": 1}, {"workers": 1, "threads": True}):
        found.append([])
        with load(tmp_path / "pack", fields=fields, **how) as loader:
            for batch in loader:
                for row, key in enumerate(batch.keys):
                    steps, kept = batch.draw(row)["steps"], stored[key][1]
                    moved = [step for step in steps if step["name"] != "SanitizeBoundingBoxes"]
                    every, _ = follow(moved, "boxes", json.dumps(stored[key][0]["boxes.json"]).encode(), size_of(int(key)))
                    after = follow(steps, "boxes", json.dumps(stored[key][0]["boxes.json"]).encode(), size_of(int(key)))[0]
                    for name in ("all", "boxes"):
                        at, labels = batch.fields[name][row], batch.fields.labels(name)[row]
                        numbers = batch.fields.numbers(name)[row]
                        assert labels.tolist() == [10 + n for n in numbers] and sorted(numbers) == numbers.tolist()
                        if name == "boxes":
                            assert all(kept[n] for n in numbers) and numbers.tolist() == [n for n in batch.fields.numbers("all")[row] if kept[n]]
                        else:
                            assert np.array_equal(at, after)
                        assert np.array_equal(at, every[numbers]) or "ClampBoundingBoxes" in str(steps)
                    found[-1].append((key, batch.fields.numbers("boxes")[row].tolist(), batch.fields["boxes"][row].tolist()))
    assert found[0] == found[1] == found[2] and any(0 < len(numbers) < 6 for _, numbers, _ in found[0])
    with pytest.raises(TypeError, match="boxes have numbers"):
        batch.fields.numbers("meta")


def test_what_without_refuses(packed, tmp_path):
    for field, error, says in ((bl.Field("boxes.json", kind="boxes", without="iscrowd"), TypeError, "not a list of names"),
                               (bl.Field("mask.png", kind="mask", without=["x"]), ValueError, "only boxes"),
                               (bl.Field("boxes.json", kind="json", numbered=True), ValueError, "only boxes")):
        with pytest.raises(error, match=says):
            load(packed, fields={**FIELDS, "x": field})
    bl.pack([("a", {"jpg": jpeg(0, size_of(0)), "npy": npy(np.zeros((2, 4), np.float32))}),
             ("b", {"jpg": jpeg(0, size_of(0)), "boxes.json": {"boxes": [[0, 0, 1, 1]], "difficult": [1, 0]}})], tmp_path / "odd")
    for key, source, says in ((0, "npy", "does not say"), (1, "boxes.json", "2 values .difficult. for 1 boxes")):
        with load(tmp_path / "odd", 1, shuffle=False, transform=T.Compose([T.Resize((20, 24))]),
                  fields={"x": bl.Field(source, kind="boxes", without=["difficult"], optional=True)}) as loader:
            with pytest.raises(Error, match=says):
                list(loader)


@pytest.mark.parametrize("content", [[{"bbox": [0, 0, 1, 1], "iscrowd": 1, "category_id": 1}], {"boxes": [[0, 0, 1, 1]], "iscrowd": [1], "labels": [2]},
                                     {"objects": {"bbox": [[0, 0, 1, 1]], "iscrowd": [1]}, "width": 2}])
def test_a_without_that_is_misspelled_is_told(tmp_path, content):
    bl.pack([(str(i), {"jpg": jpeg(i, size_of(i)), "boxes.json": [content, []][i % 2]}) for i in range(4)], tmp_path / "pack")
    for names, told in ((["iscrowd"], None), (["iscrowd", "difficult"], None), (["is_crowd"], "have no 'is_crowd'; they have .*iscrowd"),
                        (["x", "y"], "'boxes' leaves out no box: those of the first samples have no 'x' or 'y'")):
        with warnings.catch_warnings() if told is None else pytest.warns(UserWarning, match=told):
            if told is None:
                warnings.simplefilter("error")
            with load(tmp_path / "pack", 4, fields={"boxes": bl.Field("boxes.json", kind="boxes", without=names)}) as loader:
                (batch,) = loader
        assert sum(len(row) for row in batch.fields["boxes"]) == (0 if told is None else 2)


def test_a_without_for_objects_that_are_null(tmp_path):
    bl.pack([("a", {"jpg": jpeg(0, size_of(0)), "json": {"objects": None}}),
             ("b", {"jpg": jpeg(0, size_of(0)), "json": {"objects": {"bbox": [[0, 0, 1, 1]]}}})], tmp_path / "pack")
    with pytest.warns(UserWarning, match="have no 'iscrowd'; they have bbox"):
        with load(tmp_path / "pack", 2, on_bad_sample="skip", fields={"boxes": bl.Field("json", kind="boxes", without=["iscrowd"])}) as loader:
            assert sum(len(row) for batch in loader for row in batch.fields["boxes"]) == 1


def test_the_same_from_processes_threads_and_the_caller(packed):
    with load(packed) as loader:
        expected = [content(batch) for _ in range(2) for batch in loader]
    for how in ({"workers": 2}, {"workers": 2, "threads": True}):
        with load(packed, **how) as loader:
            assert [content(batch) for _ in range(2) for batch in loader] == expected


def test_a_state_continues(packed):
    assert continues(load, packed, content)


def test_boxes_that_are_larger_than_their_place(bale, packed, tmp_path):
    """Compressed better than 8 to 1, so that the training process reads them again, and moves them by the same crop."""
    many = np.tile(np.float32([[2, 3, 30, 25]]), (500, 1))
    changed = {i: {"boxes.json": boxes_of(many)} for i in range(COUNT)}
    bale.pack(write(tmp_path / "src", changed=changed), tmp_path / "pack", *PACK, "--compress", "zstd")
    with load(tmp_path / "pack") as loader:
        for batch in loader:
            for row, key in enumerate(batch.keys):
                steps = batch.draw(row)["steps"]
                assert np.array_equal(batch.fields["boxes"][row], follow(steps, "boxes", boxes_of(many), size_of(int(key[-3:])))[0])
                assert len(batch.fields["boxes"][row]) in (0, 500)


def test_boxes_that_cannot_be_read_are_a_bad_sample(bale, tmp_path):
    bale.pack(write(tmp_path / "src", changed={5: {"boxes.json": b"x"}}), tmp_path / "pack", *PACK)
    for policy in ("skip", "substitute"):
        with load(tmp_path / "pack", on_bad_sample=policy) as loader:
            for batch in loader:
                check(batch, np.flatnonzero(batch.mask))
            assert [bad.key[-3:] for bad in loader.bad_samples] == ["005"]
            assert "field boxes.json: boxes and keypoints are JSON or a NumPy array" in str(loader.bad_samples[0])


def test_a_sample_may_lack_its_boxes(tmp_path):
    """Then no crop is drawn, and its row is empty."""
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i in range(COUNT):
            for extension, content in {"jpg": jpeg(i, size_of(i)), **({"boxes.json": stored(i)} if i % 2 else {})}.items():
                info = tarfile.TarInfo(f"s{i:03}.{extension}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    with load(tmp_path / "a.tar", fields={"boxes": FIELDS["boxes"]._replace(optional=True)}) as loader:
        crops = 0
        for batch in loader:
            odd = [row for row, key in enumerate(batch.keys) if int(key[-3:]) % 2]
            crops += check(batch, odd)
            assert np.array_equal(np.flatnonzero(batch.fields.present("boxes")), odd)
            for row in set(range(len(batch.keys))) - set(odd):
                assert len(batch.fields["boxes"][row]) == 0
                assert "ZeroBoundingBoxes" not in [step["name"] for step in batch.draw(row)["steps"]]
        assert crops > 0
    with load(tmp_path / "a.tar", fields={"boxes": FIELDS["boxes"]}, on_bad_sample="skip") as loader:
        assert sum(int((~batch.mask).sum()) for batch in loader) == COUNT // 2


@pytest.mark.parametrize("preset", ["ssd_train", "ssdlite_train", "detection_train", "lsj_train"])
def test_presets(packed, preset):
    small = {"detection_train": (40, 64)}.get(preset, (48,))
    with load(packed, transform=getattr(T.presets, preset)(*small), fields={"boxes": FIELDS["boxes"]}) as loader:
        side = small[-1]
        boxes = 0
        for batch in loader:
            assert batch.images.shape[1:] == (side, side, 3) and batch.images.dtype == np.float32 and batch.images.max() <= 1
            found = batch.fields["boxes"].data
            boxes += len(found)
            assert (found >= 0).all() and (found <= side + 1e-4).all() and ((found[:, 2:] - found[:, :2]) > 0).all()
        assert boxes > 5


@pytest.mark.parametrize("options,text", [
    ({"fields": {}}, "need the boxes of each image"), ({"fields": {"mask": FIELDS["mask"]}}, "need the boxes of each image"),
    ({"transform": T.Compose([T.RandomIoUCrop(), T.RandomApply([T.RandomIoUCrop()]), T.Resize((8, 8))])}, "may appear only once"),
    ({"transform": T.Compose([T.Resize((8, 8)), T.RandomIoUCrop()])}, "different sizes"),
    ({"transform": None, "views": [T.train(8), T.Compose([T.SanitizeBoundingBoxes(), T.Resize((8, 8))])], "fields": {}},
     "are for one view")], ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_refused(packed, options, text):
    with pytest.raises((Error, ValueError), match=text):
        load(packed, **options)
