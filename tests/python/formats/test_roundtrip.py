"""Packing and converting keep every byte, and the same work gives the same files."""
import csv
import json
import random
import subprocess
import sys

import pytest
from conftest import LAYOUTS, PROGRAM, REPO, images_by_key, key_names, manifest_of, shards, tree_bytes

SMALL_SHARDS = ["--shard-samples", "9"]  # 40 images: five shards, the last one short


def extract(bale, spec, directory):
    bale.ok("extract", spec, directory)
    return tree_bytes(directory)


@pytest.fixture(scope="module")
def packed(bale, photos, tmp_path_factory):
    """{format.layout: directory} of the photos in every layout that keeps bytes."""
    root = tmp_path_factory.mktemp("packed")
    for format_name, layout in LAYOUTS:
        bale.pack(photos, root / f"{format_name}.{layout}", "--format", format_name, "--layout", layout,
                  "--name", "photos", *SMALL_SHARDS)
    return root


@pytest.mark.parametrize("format_name,layout", LAYOUTS)
def test_every_byte_comes_back(bale, photos, packed, format_name, layout, tmp_path):
    spec = packed / f"{format_name}.{layout}"
    files = extract(bale, spec, tmp_path / "out")
    expected = {}
    for key, (image, label) in images_by_key(photos).items():
        expected[f"{key}.jpg"] = image
        expected[f"{key}.cls"] = str(label).encode()
    labels = {name: content for name, content in files.items() if name.endswith(".cls")}
    if labels:
        assert files == expected
    else:  # a label that lives in the index only is not a file
        assert files == {name: content for name, content in expected.items() if name.endswith(".jpg")}
    assert bale.ok("verify", spec)


def test_around_the_world(bale, packed, tmp_path):
    """Through every layout and back: equal fields at each stop, and the last shards are the first ones again."""
    first = packed / "tar.plain"
    expected = extract(bale, first, tmp_path / "first")
    home = ("tar", "plain")
    tour = [*(layout for layout in LAYOUTS if layout != home), home]
    spec = first
    for number, (format_name, layout) in enumerate(tour):
        stop = tmp_path / f"stop-{number}"
        bale.ok("convert", spec, stop, "--format", format_name, "--layout", layout, "--name", "photos", *SMALL_SHARDS)
        assert extract(bale, stop, tmp_path / f"files-{number}") == expected, (format_name, layout)
        bale.ok("verify", stop)
        spec = stop
    again = {p.name: p.read_bytes() for p in shards(spec)}
    assert again == {p.name: p.read_bytes() for p in shards(first)}


def test_every_pair_of_layouts(tiny):
    """There and back between any two: fields equal at each stop, shards in the end."""
    done = subprocess.run([sys.executable, REPO / "scripts" / "bench" / "round_trips.py", tiny, "--bale", PROGRAM,
                           "--shard-samples", "4"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"{len(LAYOUTS) ** 2} of {len(LAYOUTS) ** 2} pairs equal\n")


@pytest.mark.parametrize("format_name,layout", LAYOUTS)
def test_bytes_do_not_depend_on_jobs(bale, photos, packed, format_name, layout, tmp_path):
    expected = tree_bytes(packed / f"{format_name}.{layout}")
    sidecars = {"tfrecord": 1, "recordio": 2}.get(format_name, 0)
    assert len(expected) == 5 * (2 + sidecars) + 1  # five shards with their indexes and sidecars, one manifest
    for jobs in ["1", "2", "5"]:
        bale.pack(photos, tmp_path / jobs, "--format", format_name, "--layout", layout, "--name", "photos",
                  *SMALL_SHARDS, "--jobs", jobs)
        assert tree_bytes(tmp_path / jobs) == expected, jobs


def test_order_is_the_folder_order(bale, photos, packed):
    assert key_names(bale, packed / "tar.plain") == sorted(images_by_key(photos))


def test_shuffle_is_a_function_of_the_seed(bale, photos, packed, tmp_path):
    def order(name, seed):
        bale.pack(photos, tmp_path / name, *SMALL_SHARDS, "--shuffle", seed)
        return key_names(bale, tmp_path / name)

    seven, again, eight = order("a", "7"), order("b", "7"), order("c", "8")
    assert seven == again
    assert seven != eight
    assert sorted(seven) == sorted(eight) == sorted(images_by_key(photos))
    assert seven != sorted(seven)


def test_shard_sizes(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "count", "--shard-count", "3", "--name", "x")
    assert [p.name for p in shards(tmp_path / "count")] == [f"x-{i:06d}.tar" for i in range(3)]
    # By the bytes of the fields, whatever the container adds: as many samples as fit, and not one more.
    bale.pack(photos, tmp_path / "bytes", "--shard-size", "64KiB")
    sizes = [len(image) + 1 for _, (image, _) in sorted(images_by_key(photos).items())]
    expected, payload = [0], 0
    for size in sizes:
        if payload + size > 64 * 1024:
            expected, payload = [*expected, 0], 0
        expected[-1] += 1
        payload += size
    assert len(expected) > 1
    assert [s["num_samples"] for s in manifest_of(tmp_path / "bytes")["shards"]] == expected
    bale.pack(photos, tmp_path / "samples", "--shard-samples", "7")
    assert [s["num_samples"] for s in manifest_of(tmp_path / "samples")["shards"]] == [7, 7, 7, 7, 7, 5]
    bale.pack(photos, tmp_path / "max", "--max-samples", "11")
    assert manifest_of(tmp_path / "max")["num_samples"] == 11


def test_split(bale, photos, tmp_path):
    whole = sorted(images_by_key(photos))
    for name, options in [("plain", []), ("strata", ["--stratify"])]:
        out = tmp_path / name
        bale.pack(photos, out, "--split", "train=0.75,val=0.25", "--shuffle", "3", *options)
        train, val = key_names(bale, out / "train"), key_names(bale, out / "val")
        assert [len(train), len(val)] == [30, 10]
        assert sorted(train + val) == whole
        bale.ok("verify", out / "train")
        bale.ok("verify", out / "val")
        if name == "strata":  # 8 of each of 5 classes: 6 and 2 everywhere
            for class_name in {k.split("/")[0] for k in whole}:
                assert sum(k.startswith(class_name + "/") for k in val) == 2


@pytest.fixture(scope="module")
def pairs(photos, tmp_path_factory):
    """A folder in which a sample is NAME.jpg + NAME.json + NAME.txt."""
    root = tmp_path_factory.mktemp("pairs")
    rng = random.Random(5)
    for key, (image, label) in images_by_key(photos).items():
        path = root / f"{key}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(image)
        path.with_suffix(".json").write_text(json.dumps({"label": label, "words": ["grass"] * rng.randint(1, 400)}))
        path.with_suffix(".txt").write_bytes(b"caption \xff\n" * rng.randint(0, 3))
    return root


@pytest.mark.parametrize("format_name,layout", LAYOUTS)
@pytest.mark.parametrize("compress", [[], ["--compress", "zstd:7"]], ids=["as-is", "zstd"])
def test_several_files_a_sample(bale, pairs, format_name, layout, compress, tmp_path):
    options = ["--format", format_name, "--layout", layout, "--pair", "jpg,json,txt", *compress]
    result = bale("pack", pairs, tmp_path / "p", *options)
    if compress and result.code == 2:
        # A layout may say that it has no room for compressed fields; then it must say so, and write nothing.
        assert "compress" in result.error_line()
        assert not (tmp_path / "p").exists() or not list((tmp_path / "p").iterdir())
        return
    assert result.code == 0, result
    files = {n: c for n, c in extract(bale, tmp_path / "p", tmp_path / "out").items() if not n.endswith(".cls")}
    assert files == tree_bytes(pairs)
    bale.ok("verify", tmp_path / "p")
    # And on to a plain tar: compression is the container's business, not the sample's.
    bale.ok("convert", tmp_path / "p", tmp_path / "q", "--format", "tar")
    files = {n: c for n, c in extract(bale, tmp_path / "q", tmp_path / "out-q").items() if not n.endswith(".cls")}
    assert files == tree_bytes(pairs)


def test_compression_makes_json_smaller_and_leaves_images_alone(bale, pairs, tmp_path):
    bale.pack(pairs, tmp_path / "a", "--pair", "jpg,json,txt")
    bale.pack(pairs, tmp_path / "b", "--pair", "jpg,json,txt", "--compress", "zstd")
    stored = [{f["name"]: (f["codec"], f["stored_bytes"]) for f in manifest_of(tmp_path / d)["fields"]} for d in "ab"]
    assert stored[0]["jpg"] == stored[1]["jpg"]
    assert stored[1]["json"][0] == "zstd" and stored[1]["json"][1] < stored[0]["json"][1] / 2


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_tables(bale, photos, kind, tmp_path):
    rows = [{"path": f"{key}.JPEG", "label": label, "note": f"no, {label}"}
            for key, (_, label) in images_by_key(photos).items()]
    table = tmp_path / f"list.{kind}"
    with table.open("w", newline="") as file:
        if kind == "jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, rows[0], delimiter="," if kind == "csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    bale.pack(table, tmp_path / "p", "--root", photos)
    files = extract(bale, tmp_path / "p", tmp_path / "out")
    images = images_by_key(photos)
    assert len(files) == 3 * len(images)
    for key, (image, label) in images.items():
        assert files[f"{key}.jpg"] == image
        assert files[f"{key}.cls"] == str(label).encode()
        assert json.loads(files[f"{key}.json"])["note"] == f"no, {label}"


@pytest.mark.parametrize("nul", [False, True])
def test_files_from(bale, photos, nul, tmp_path):
    names = [f"{key}.JPEG" for key in images_by_key(photos)][::3]
    listing = (b"\0" if nul else b"\n").join(str(photos / n).encode() for n in names)
    bale.ok("pack", "--files-from", "-", *(["-0"] if nul else []), tmp_path / "p", "--root", photos, stdin=listing)
    files = extract(bale, tmp_path / "p", tmp_path / "out")
    images = [content for name, content in sorted(files.items()) if name.endswith(".jpg")]
    assert images == [(photos / n).read_bytes() for n in names]


def test_include_exclude_and_class_map(bale, photos, tmp_path):
    classes = sorted(p.name for p in photos.iterdir())
    bale.pack(photos, tmp_path / "a", "--include", f"{classes[1]}/*", "--exclude", "*_0003.JPEG")
    found = key_names(bale, tmp_path / "a")
    assert len(found) == 7 and all(k.startswith(classes[1]) for k in found)
    class_map = tmp_path / "map.txt"
    class_map.write_text("".join(f"{name} {10 - i}\n" for i, name in enumerate(classes)))
    bale.pack(photos, tmp_path / "b", "--class-map", class_map)
    files = extract(bale, tmp_path / "b", tmp_path / "out")
    assert files[f"{classes[2]}/{classes[2]}_0000.cls"] == b"8"


def test_flat_folder_has_no_labels(bale, photos, tmp_path):
    one_class = sorted(photos.iterdir())[0]
    bale.pack(one_class, tmp_path / "p", "--flat")
    files = extract(bale, tmp_path / "p", tmp_path / "out")
    assert len(files) == 8 and all(name.endswith(".jpg") for name in files)
