"""bale add: only new shards, the classes that were, and one new version or none."""
import fcntl
import json
import os
import shutil

import pytest
from conftest import ALL_LAYOUTS, LAYOUTS, format_options, key_list, make_images, shards, tree_bytes
from version_support import make_files, version_of

FAILURE, USAGE, SKIPS, TRY_AGAIN = 1, 2, 4, 5
NAMES = [".".join(layout) for layout in ALL_LAYOUTS if layout[0] != "tfrecord"]
BYTES = [".".join(layout) for layout in LAYOUTS if layout[0] != "tfrecord"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("files")
    make_files(root / "old", "o", classes=3, per_class=4)
    make_files(root / "new", "new", classes=3, per_class=3)
    os.rename(root / "new" / "amber", root / "new" / "aaa")  # sorts before all classes that are there
    return root


def packed(bale, files, out, *options, name="tar.plain"):
    bale.pack(files / "old", out, *format_options(name), "--name", "x", "--shard-samples", "5", *options)
    return out


def add(bale, out, new, *options, code=0):
    result = bale("add", out, new, "--json", "--shard-samples", "4", *options)
    assert result.code == code, result
    return json.loads(result.out)


def stamps(directory):
    """What changes if a file is written or replaced."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in directory.iterdir() if path.is_file()}


def labels(bale, spec):
    return {line["key"]: line["label"] for line in map(json.loads, bale.ok("ls", "--json", spec).out.splitlines())}


@pytest.mark.parametrize("name", NAMES)
def test_only_new_shards_are_written(bale, files, name, tmp_path):
    out = packed(bale, files, tmp_path / "out", name=name)
    before, whole = stamps(out), tree_bytes(out)
    report = add(bale, out, files / "new", "-m", "week 48")
    bale.pack(files / "new", tmp_path / "alone", *format_options(name), "--name", "x", "--shard-samples", "4")
    changed = {file for file, stamp in stamps(out).items() if before.get(file) != stamp}
    assert not changed & set(whole) - {"manifest.json"}
    alone = sum(len(content) for file, content in tree_bytes(tmp_path / "alone").items() if file != "manifest.json")
    assert sum((out / file).stat().st_size for file in changed - {"manifest.json"}) <= 1.02 * alone
    kept = (out / "versions" / f"{report['parent']}.json").read_bytes()
    assert kept == whole["manifest.json"]
    assert (report["samples"], report["outputs"][0]["samples"], report["version"]) == (9, 21, version_of(bale, out))
    assert report["shards"] == 6
    bale.ok("verify", out)
    bale.ok("verify", f"{out}@{report['parent']}")
    assert "the same 21 samples" in bale.ok("diff", out, f"{out}@{report['parent']}::{tmp_path / 'alone'}").out


@pytest.mark.parametrize("name", BYTES)
def test_jobs_change_nothing(bale, files, name, tmp_path):
    for jobs in ("1", "8"):
        add(bale, packed(bale, files, tmp_path / jobs, name=name), files / "new", "--jobs", jobs)
    assert tree_bytes(tmp_path / "1") == tree_bytes(tmp_path / "8")


def test_classes_keep_their_numbers(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    before = labels(bale, out)
    result = bale.ok("add", out, files / "new")
    assert "new class 3: aaa" in result.err
    after = labels(bale, out)
    assert before == {key: after[key] for key in before} and set(before.values()) == {0, 1, 2}
    assert {key.split("/")[0]: label for key, label in after.items()} == {"amber": 0, "brick": 1, "moss": 2, "aaa": 3}
    assert json.loads(bale.ok("inspect", "--json", out).out)["classes"] == ["amber", "brick", "moss", "aaa"]
    stored = {key: bale.ok("cat", out, key, "--field", "cls").out for key in after}
    assert stored == {key: str(label) for key, label in after.items()}  # plain readers see the same numbers


def test_a_packed_dataset_is_added_with_the_numbers_of_the_other(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    bale.pack(files / "new", tmp_path / "new", "--format", "lmdb")
    add(bale, out, tmp_path / "new")
    assert labels(bale, out)["aaa/new_amber_0000"] == 3 and labels(bale, out)["moss/new_moss_0000"] == 2
    bale.ok("verify", out)


def test_the_same_again_is_refused_by_name(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    add(bale, out, files / "new")
    before, times = tree_bytes(out), stamps(out)
    line = bale("add", out, files / "new")
    assert line.code == USAGE and "aaa/new_amber_0000" in line.error_line() and "--skip-existing" in line.error_line()
    report = add(bale, out, files / "new", "--skip-existing")
    assert (report["samples"], report["existing"], report["version"]) == (0, 9, report["parent"])
    assert tree_bytes(out) == before and stamps(out) == times
    assert not (out / ".bale-partial").exists()
    next(out.glob("*.bidx")).unlink()
    assert "`bale index`" in bale("add", out, files / "old").error_line()


@pytest.mark.parametrize("options", [[], ["--resize-short", "16"]], ids=["as_they_are", "resized"])
def test_what_is_there_is_compared(bale, files, options, tmp_path):
    out = packed(bale, files, tmp_path / "out", *options)
    shutil.copytree(files / "old", tmp_path / "more")
    shutil.copy(files / "old" / "amber" / "o_amber_0000.JPEG", tmp_path / "more" / "amber" / "another.JPEG")
    report = add(bale, out, tmp_path / "more", "--skip-existing")
    assert (report["samples"], report["existing"]) == (1, 12)
    shutil.copy(files / "old" / "moss" / "o_moss_0001.JPEG", tmp_path / "more" / "amber" / "o_amber_0000.JPEG")
    before = tree_bytes(out)
    line = bale("add", out, tmp_path / "more", "--skip-existing")
    assert line.code == USAGE and "o_amber_0000" in line.error_line() and "another field jpg" in line.error_line()
    assert tree_bytes(out) == before


def test_a_dataset_of_pixels_is_not_compared(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out", name="npy.rgb")
    assert "pixels" in bale("add", out, files / "new", "--skip-existing").error_line()


def test_pixels_get_the_size_that_all_have(bale, files, tmp_path):
    """If the dataset has images of several sizes, new ones keep theirs, which differ here."""
    for number, (name, size) in enumerate((("one", "16"), ("two", "20"))):
        bale.pack(files / "old", tmp_path / name, "--format", "npy", "--size", size, "--include", f"*_000{number}*")
    bale.ok("merge", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "both")
    bale.ok("add", tmp_path / "one", files / "new")
    assert {json.loads(line)["width"] for line in bale.ok("ls", "--json", tmp_path / "one").out.splitlines()} == {16}
    assert "give --size N to resize and crop" in bale("add", tmp_path / "both", files / "new").error_line()


def test_images_are_changed_as_those_before(bale, files, tmp_path):
    options = ["--resize-short", "16", "--quality", "80", "--strip-metadata"]
    out = packed(bale, files, tmp_path / "out", *options)
    edits = json.loads(bale.ok("inspect", "--json", out).out)["edits"]
    add(bale, out, files / "new")
    bale.pack(files / "new", tmp_path / "alone", "--name", "x", *options)
    assert json.loads(bale.ok("inspect", "--json", out).out)["edits"] == edits
    for key in ("brick/new_brick_0000", "aaa/new_amber_0002"):
        assert bale.ok("cat", out, key).stdout == bale.ok("cat", tmp_path / "alone", key).stdout


def test_edits_that_cannot_be_repeated_are_refused(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out", "--resize-short", "16")
    manifest = json.loads((out / "manifest.json").read_text())
    del manifest["checksum"]
    manifest["edits"]["resize_short"] = "as another program does it"
    (out / "manifest.json").write_text(json.dumps(manifest))
    line = bale("add", out, files / "new").error_line()
    assert "cannot be repeated: " in line and "bale merge" in line


def test_files_for_other_readers_are_written(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out", "--sidecars", "wids,wds2idx", "--seek-points")
    add(bale, out, files / "new")
    listed = json.loads((out / "shardindex.json").read_text())["shardlist"]
    assert sum(shard["nsamples"] for shard in listed) == 21
    for shard in shards(out):
        assert shard.with_suffix(".idx").exists() and shard.with_name(shard.name + ".bseek").exists()
    bale.ok("verify", out)


def test_samples_that_were_left_out_are_all_listed(bale, files, tmp_path):
    for name in ("old", "new"):
        shutil.copytree(files / name, tmp_path / name)
        next((tmp_path / name).rglob("*0001.JPEG")).write_bytes(b"no image")
    out = tmp_path / "out"
    assert bale("pack", tmp_path / "old", out, "--on-error", "skip").code == SKIPS
    report = add(bale, out, tmp_path / "new", "--on-error", "skip", code=SKIPS)
    assert len(report["skipped"]) == 1 and report["outputs"][0]["skipped"] == 2
    assert len((out / "skipped.jsonl").read_text().splitlines()) == 2
    assert bale.ok("add", out, make_files(tmp_path / "third", "third")).code == 0  # 4 only for what this run left out


def test_what_cannot_be_added_to(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "records", name="tfrecord.example")
    before = tree_bytes(out)
    assert "bale convert 'A::B' DST" in bale("add", out, files / "new").error_line()
    assert tree_bytes(out) == before
    assert "no manifest.json" in bale("add", files / "old", files / "new").error_line()
    assert "NEW is needed" in bale("add", out).error_line()
    out = packed(bale, files, tmp_path / "out")
    assert "the source itself" in bale("add", out, out).error_line()
    (out / "x-000003.tar").write_bytes(b"of somebody else")
    assert "in the way" in bale("add", out, files / "new").error_line()


def test_keys_of_another_form_are_refused(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out", "--keep-extensions")
    assert "--keep-extensions" in bale("add", out, files / "new").error_line()
    add(bale, out, files / "new", "--keep-extensions")
    bale.ok("verify", out)


def test_numbers_of_classes_inside_fields_are_not_changed(bale, tmp_path):
    """Boxes name their classes by number. Where those would differ, the samples are refused."""
    for name, classes in (("a", ["cat", "dog"]), ("b", ["dog", "cat"])):
        folder = tmp_path / name
        make_images.make_tree(folder / "flat", classes=1, per_class=2, size=(24, 18))
        for number, image in enumerate(sorted((folder / "flat").rglob("*.JPEG"))):
            image.rename(folder / f"{name}{number}.jpg")
        shutil.rmtree(folder / "flat")
        (tmp_path / f"{name}.json").write_text(json.dumps({
            "images": [{"id": n, "file_name": f"{name}{n}.jpg", "width": 24, "height": 18} for n in range(2)],
            "categories": [{"id": n, "name": word} for n, word in enumerate(classes)],
            "annotations": [{"id": n, "image_id": n, "category_id": n, "bbox": [1, 1, 5, 5], "area": 25, "iscrowd": 0}
                            for n in range(2)]}))
    bale.pack(tmp_path / "a", tmp_path / "out", "--annotations", tmp_path / "a.json")
    line = bale("add", tmp_path / "out", tmp_path / "b", "--annotations", tmp_path / "b.json")
    assert line.code == USAGE and "numbers of classes inside" in line.error_line()


def test_every_source_of_pack(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    new = sorted((files / "new").rglob("*.JPEG"))
    (tmp_path / "list").write_text("".join(f"{path}\n" for path in new[:2]))
    assert json.loads(bale.ok("add", out, "--files-from", tmp_path / "list", "--json").out)["samples"] == 2
    (tmp_path / "table.csv").write_text("path,label\n" + "".join(f"{path},brick\n" for path in new[3:5]))
    assert add(bale, out, tmp_path / "table.csv", "--where", "index = 0")["samples"] == 1
    assert add(bale, out, files / "new", "--skip-existing", "--include", "moss/*", "--shuffle", "3")["samples"] == 3
    assert [version["samples"] for version in json.loads(bale.ok("log", "--json", out).out)["versions"]] == [18, 15, 14, 12]
    bale.ok("verify", out)


def test_a_dry_run_writes_nothing(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    before = tree_bytes(out)
    preview = bale.ok("add", out, files / "new", "-n", "--shard-samples", "4").out
    assert "x-000003.tar" in preview and "x-000005.tar" in preview and "9 samples in 3 shards" in preview
    assert tree_bytes(out) == before


def test_older_programs_read_it(bale, files, tmp_path):
    """They refuse other schemas, and ignore members that they do not know."""
    out = packed(bale, files, tmp_path / "out")
    before = json.loads((out / "manifest.json").read_text())
    add(bale, out, files / "new")
    after = json.loads((out / "manifest.json").read_text())
    assert after["bale_manifest"] == before["bale_manifest"] == 1
    assert set(after) - set(before) == {"parent", "change", "next_shard"}
    assert key_list(bale, out / "x-{000000..000005}.tar") == key_list(bale, out)


def test_other_commands_know_versions(bale, files, tmp_path):
    """Files next to the shards are not taken for shards, and a dataset is not overwritten while it has earlier versions."""
    out = packed(bale, files, tmp_path / "out")
    add(bale, out, files / "new")
    assert key_list(bale, out / "*") == key_list(bale, out)
    bale.ok("index", out, "--seek-points")
    assert len(json.loads(bale.ok("log", "--json", out).out)["versions"]) == 2
    overwriting = ("pack", files / "old", out, "--name", "x", "--overwrite")
    before = tree_bytes(out)
    for more in ([], ["-n"]):
        line = bale(*overwriting, *more).error_line()
        assert "1 earlier version of the dataset" in line and "bale log DST --prune" in line
    assert tree_bytes(out) == before
    bale.ok("log", out, "--prune", "--keep", "1", "--force")
    bale.ok(*overwriting)
    first = version_of(bale, out)
    assert key_list(bale, f"{out}@{first}") == key_list(bale, out)  # as it was before something was added
    assert len(json.loads(bale.ok("log", "--json", out).out)["versions"]) == 1
    bale.ok("verify", out)


def test_files_for_other_readers_undo_no_version(bale, files, tmp_path):
    """They are named in the manifest, which is replaced only if it is still the one that was opened, and under the lock."""
    out = packed(bale, files, tmp_path / "out")
    bale.ok("index", out, "--sidecars", "wids")
    add(bale, out, files / "new")
    bale.ok("index", out, "--sidecars", "wids", "--force")
    earlier = json.loads(bale.ok("log", "--json", out).out)["versions"][1]["version"]
    before = tree_bytes(out)
    for option in (["--seek-points"], ["--sidecars", "wids", "--force"], ["--sidecars", "wds2idx"]):
        line = bale("index", f"{out}@{earlier}", *option).error_line()
        assert "manifest.json: says version" in line and "name the dataset without a version" in line
        (out / ".bale-partial").mkdir()
        with open(out / ".bale-partial" / "journal.jsonl", "w") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            result = bale("index", out, *option)
            assert result.code == TRY_AGAIN and "another bale is packing into this directory" in result.err
        shutil.rmtree(out / ".bale-partial")
        assert tree_bytes(out) == before
    # After a rewrite, shards of an earlier version have moved.
    (tmp_path / "labels.csv").write_text(f"key,label\n{key_list(bale, out)[0].decode()},1\n")
    bale.ok("set", out, f"label={tmp_path / 'labels.csv'}")
    bale.ok("rewrite", out)
    before = tree_bytes(out)
    assert "0 shards indexed" in bale.ok("index", f"{out}@{earlier}").out
    assert "without a version" in bale("index", f"{out}@{earlier}", "--seek-points").error_line()
    assert tree_bytes(out) == before
    bale.ok("index", out, "--seek-points")
    bale.ok("verify", out)


def test_fields_are_stored_as_those_before(bale, files, tmp_path):
    for option, value, codec in (("--jpeg-code", "planes", "planes"), ("--compress", "zstd", "zstd")):
        source = {"planes": files / "old", "zstd": tmp_path / "table.csv"}[codec]
        images = sorted((files / "old").rglob("*.JPEG"))
        (tmp_path / "table.csv").write_text("path,label,note\n" + "".join(f"{path},brick,text\n" for path in images))
        out = tmp_path / codec
        bale.pack(source, out, option, value)
        new = sorted((files / "new").rglob("*.JPEG"))
        (tmp_path / "more.csv").write_text("path,label,note\n" + "".join(f"{path},brick,text\n" for path in new))
        add(bale, out, tmp_path / "more.csv" if codec == "zstd" else files / "new")
        fields = json.loads(bale.ok("inspect", "--json", out).out)["fields"]
        assert [field["samples"] for field in fields if field["codec"] == codec] == [21], fields
        bale.ok("verify", out)
