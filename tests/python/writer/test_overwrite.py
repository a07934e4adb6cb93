"""--overwrite: the old dataset stays until the new one is complete, and nothing else is ever removed."""
import json
import shutil

import pytest
from conftest import ALL_FORMATS, by_tier, format_options, make_images, shards, shim, tree_bytes
from fault_support import KILLED, count_calls, options

LIGHT = ["tar.plain", "lmdb.plain", "tar.plain --sidecars wids --seek-points"]


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Other images in more shards than `tiny`'s."""
    root = tmp_path_factory.mktemp("other")
    make_images.make_tree(root, classes=2, per_class=5, size=(20, 14))
    return root


def dataset_bytes(directory):
    """Every file that is not of an unfinished run."""
    return {name: content for name, content in tree_bytes(directory).items() if not name.startswith(".bale-")}


@pytest.mark.parametrize("wrong", [["-f", "tar.gz", "--level", "99"], ["-f", "lmdb", "--size", "32"],
                                   ["-f", "npy", "--size", "zero"], ["--split", "train=0.5,val=0.4"],
                                   ["--sidecars", "nothing"], ["--max-samples", "0"], ["--resize-short", "8"]])
def test_a_wrong_option_costs_nothing(bale, tiny, wrong, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out)
    before = tree_bytes(out)
    source = tiny
    if wrong[0] == "--resize-short":  # an image that cannot be edited
        source = tmp_path / "in"
        shutil.copytree(tiny, source)
        sorted(source.rglob("*.JPEG"))[4].write_bytes(b"no image")
    result = bale("pack", source, out, "--overwrite", *wrong)
    assert result.code in (1, 2), result
    assert result.error_line()
    assert tree_bytes(out) == before
    bale.ok("verify", out)


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_a_bad_image_costs_nothing(bale, photos, format_name, tmp_path):
    """The last of the images: all other shards are written by then. They are kept for --resume, out of the way."""
    out, own = tmp_path / "out", tmp_path / "own"
    shutil.copytree(photos, own)
    pack_options = [*format_options(format_name), "--name", "x", "--shard-samples", "10", "--jobs", "1"]
    bale.pack(own, out, *pack_options)
    before = tree_bytes(out)
    bad = sorted(own.rglob("*.JPEG"))[-1]
    env = shim(UNREADABLE="/".join(bad.parts[-2:]))
    sizing = [*pack_options[:-3], "7", "--jobs", "1"]
    result = bale("pack", own, out, *sizing, "--overwrite", env=env)
    assert result.code == 1 and bad.name in result.error_line()
    assert dataset_bytes(out) == before
    bale.ok("verify", out)
    result = bale("pack", own, out, *sizing)
    assert result.code == 1 and "--resume" in result.error_line()
    resumed = bale.ok("pack", own, out, *sizing, "--resume")
    assert "5 shards found finished" in resumed.out
    bale.pack(own, tmp_path / "whole", *sizing)
    assert tree_bytes(out) == tree_bytes(tmp_path / "whole")


def check_old_or_on_the_way(bale, out, old):
    """As long as there is an old manifest every old file is there; without a manifest, the run can be finished."""
    found = dataset_bytes(out)
    if found.get("manifest.json") == old["manifest.json"]:
        assert found == old
        bale.ok("verify", out)
        return True
    if "manifest.json" not in found:
        assert (out / ".bale-partial" / "journal.jsonl").exists()
    return False


@pytest.mark.parametrize("again", ["--overwrite", "--resume"])
@pytest.mark.parametrize("layout", LIGHT)
def test_killed_at_every_call(bale, tiny, other, layout, again, tmp_path):
    """The old dataset is whole, or the same command gets to the new one; also when that is killed in turn."""
    # Five shards take the place of three, or three that of five: then old files have to go.
    before, after = (tiny, other) if again == "--overwrite" else (other, tiny)
    bale.pack(before, tmp_path / "old", *options(layout, 2))
    bale.pack(after, tmp_path / "new", *options(layout, 2))
    old, new = tree_bytes(tmp_path / "old"), tree_bytes(tmp_path / "new")
    shutil.copytree(tmp_path / "old", tmp_path / "count")
    command = ["pack", after, None, *options(layout, 2), "--overwrite"]

    def run(out, *more, mode="--overwrite", **kwargs):
        return bale("pack", after, out, *options(layout, 2), mode, *more, **kwargs)
    command[2] = tmp_path / "count"
    calls = count_calls(bale, tmp_path, *command)
    assert tree_bytes(tmp_path / "count") == new
    kept = replaced = 0
    switch = range(max(calls - 24, 1), calls + 1) if layout == "tar.plain" else ()  # where old and new files change places
    for n in sorted({*range(1, calls + 1, by_tier(12, 1)), *switch}):
        out = tmp_path / f"kill-{n}"
        shutil.copytree(tmp_path / "old", out)
        env = shim(KILL_AT=n)
        assert run(out, env=env).code == KILLED
        is_old = check_old_or_on_the_way(bale, out, old)
        kept, replaced = kept + is_old, replaced + (not is_old)
        if n % 3 == 0:
            # Killed again, at a call of the second run that is likely to be in its removals.
            env["BALE_SHIM_KILL_AT"] = str(1 + n * 7 % calls)
            run(out, env=env, mode=again)
            check_old_or_on_the_way(bale, out, old)
        done = run(out, mode=again)
        if again == "--resume" and done.code == 1 and "holds a packed dataset" in done.err:
            assert dataset_bytes(out) == old  # killed before anything had begun: there is nothing to resume
            done = run(out)
        assert done.code == 0, (n, done)
        assert tree_bytes(out) == new, n
        shutil.rmtree(out)
    assert kept > 0 and replaced > 0


def test_the_switch_needs_no_source(bale, tiny, other, tmp_path):
    """Once old files go, the new dataset is complete on disk: finishing it takes nothing but the directory."""
    bale.pack(tiny, tmp_path / "old", *options("tar", 2))
    bale.pack(other, tmp_path / "new", *options("tar", 2))
    new, seen = tree_bytes(tmp_path / "new"), 0
    shutil.copytree(tmp_path / "old", tmp_path / "count")
    env = shim(ONLY="renameat")
    command = ["pack", other, tmp_path / "count", *options("tar", 2), "--overwrite"]
    for n in range(1, count_calls(bale, tmp_path, *command, env=env) + 1):
        out = tmp_path / f"out-{n}"
        shutil.copytree(tmp_path / "old", out)
        command[2] = out
        assert bale(*command, env={**env, "BALE_SHIM_KILL_AT": str(n)}).code == KILLED
        if (out / "manifest.json").exists():
            continue
        seen += 1
        # Another command altogether, and a source that is not the one: the first thing it does is to finish this.
        result = bale("pack", tiny, out, *options("tar", 3), "--resume")
        assert result.code == 1, result
        assert tree_bytes(out) == new
        bale.ok("verify", out)
    assert seen > 0


def test_an_overwrite_that_fails_at_any_call_is_reported_and_continues(bale, tiny, other, tmp_path):
    bale.pack(tiny, tmp_path / "old", *options("tar", 2))
    bale.pack(other, tmp_path / "new", *options("tar", 2))
    old, new = tree_bytes(tmp_path / "old"), tree_bytes(tmp_path / "new")
    shutil.copytree(tmp_path / "old", tmp_path / "count")
    calls = count_calls(bale, tmp_path, "pack", other, tmp_path / "count", *options("tar", 2), "--overwrite")
    for n in range(1, calls + 1, by_tier(4, 1)):
        out = tmp_path / f"fail-{n}"
        shutil.copytree(tmp_path / "old", out)
        failed = bale("pack", other, out, *options("tar", 2), "--overwrite", env=shim(FAIL_AT=n, ERRNO=28, FAIL_ON=1))
        if failed.code == 0:
            assert dataset_bytes(out) == new
        else:
            assert failed.code == 1 and failed.error_line()
            check_old_or_on_the_way(bale, out, old)
            bale.pack(other, out, *options("tar", 2), "--overwrite")
            assert tree_bytes(out) == new, n
        shutil.rmtree(out)


def test_what_is_replaced_is_reported(bale, tiny, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, "--name", "x")
    result = bale.ok("pack", tiny, out, "--name", "x", "--overwrite")
    assert f'replaced the dataset "x" of 6 samples in {out}' in result.err


def test_splits_are_replaced_together(bale, tiny, other, tmp_path):
    out = tmp_path / "out"
    split = ["--split", "train=0.5,val=0.5", "--jobs", "1"]
    bale.pack(tiny, out, *split)
    bale.pack(other, tmp_path / "new", *split)
    before = tree_bytes(out)
    bad = sorted(other.rglob("*.JPEG"))[-1]
    assert bale("pack", other, out, *split, "--overwrite", env=shim(UNREADABLE="/".join(bad.parts[-2:]))).code == 1
    assert dataset_bytes(out) == before
    bale.pack(other, out, *split, "--overwrite")
    assert tree_bytes(out) == tree_bytes(tmp_path / "new")


# --- neighbors

def test_other_datasets_in_the_directory_stay(bale, tiny, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    for name in ("alpha", "beta"):
        bale.pack(tiny, store / name)
    before = tree_bytes(store)
    refused = bale("pack", tiny, store, "--name", "gamma")
    assert refused.code == 1
    assert "--overwrite" not in refused.error_line() and str(store / "gamma") in refused.error_line()
    assert tree_bytes(store) == before
    # Splits are directories too: those of other names stay, one of another name in the same place is refused.
    bale.pack(tiny, store, "--split", "train=0.5,val=0.5", "--overwrite")
    assert tree_bytes(store).items() >= before.items()
    before = tree_bytes(store)
    refused = bale("pack", tiny, store, "--split", "alpha=0.5,val=0.5", "--overwrite")
    assert refused.code == 1 and "alpha" in refused.error_line()
    assert tree_bytes(store) == before
    bale.pack(tiny, store, "--name", "gamma", "--overwrite")
    assert tree_bytes(store).items() >= before.items()
    bale.ok("verify", store)


def test_a_dataset_of_another_name_is_not_replaced(bale, tiny, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, "--name", "alpha")
    before = tree_bytes(out)
    refused = bale("pack", tiny, out, "--name", "gamma", "--overwrite")
    assert refused.code == 1 and '"alpha"' in refused.error_line()
    assert tree_bytes(out) == before


# --- links

@pytest.fixture
def precious(bale, tiny, tmp_path):
    """A dataset that a link leads to, and its bytes."""
    bale.pack(tiny, tmp_path / "precious", "--name", "train")
    (tmp_path / "precious" / "x.tar").write_bytes(b"mine")
    return tmp_path / "precious", tree_bytes(tmp_path / "precious")


@pytest.mark.parametrize("mode", ["--overwrite", "--resume"])
def test_links_to_directories_are_not_followed(bale, tiny, precious, mode, tmp_path):
    directory, before = precious
    out = tmp_path / "out"
    bale.pack(tiny, out, "--name", "x")
    (out / "link").symlink_to("../precious")
    bale.pack(tiny, out, "--name", "x", "--overwrite")
    assert tree_bytes(directory) == before
    (out / "train").symlink_to("../precious")
    result = bale("pack", tiny, out, "--split", "train=0.5,val=0.5", mode)
    assert result.code == 1, result
    assert tree_bytes(directory) == before


def test_journals_do_not_lead_elsewhere(bale, tiny, precious, tmp_path):
    """An unfinished pack from somewhere else, with a link for a directory, for the journal or for the shard."""
    directory, before = precious
    shard = {"subdirectory": "sub", "file": "x.tar", "digest": "xxh3:0", "num_samples": 1, "bytes": 1, "sidecars": [],
             "fields": [], "skipped": []}
    head = {"bale_journal": 1, "plan": "x", "last_files": ["sub/x.tar"]}
    replacement = {"replacement": {"old_manifests": ["sub/manifest.json"], "old_files": ["sub/x.tar"], "files": [],
                                   "manifests": []}}
    for number, lines in enumerate([[head, shard], [head, replacement]]):
        out = tmp_path / f"out{number}"
        (out / ".bale-partial").mkdir(parents=True)
        (out / "sub").symlink_to("../precious")
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (out / ".bale-partial" / "journal.jsonl").write_text(text)
        for mode in ("--overwrite", "--resume"):
            bale("pack", tiny, out, mode)
            assert tree_bytes(directory) == before, (number, mode)
    whole = tmp_path / "linked"
    whole.mkdir()
    (whole / ".bale-partial").symlink_to("../precious")
    (directory / "journal.jsonl").write_text("mine\n")
    (directory / "y.staged").write_text("mine")
    before = tree_bytes(directory)
    for mode in ([], ["--overwrite"], ["--resume"]):
        assert bale("pack", tiny, whole, *mode).code == 1
        assert tree_bytes(directory) == before
    (whole / ".bale-partial").unlink()
    (whole / ".bale-partial").mkdir()
    (whole / ".bale-partial" / "journal.jsonl").symlink_to("../../precious/x.tar")
    for mode in ([], ["--overwrite"], ["--resume"]):
        assert bale("pack", tiny, whole, *mode).code == 1
        assert tree_bytes(directory) == before


@pytest.mark.parametrize("layout", ["tar.plain", "tar.gz", "tar.zst", "lmdb.plain", "hdf5.blob", "tfrecord.example",
                                    "recordio.image", "npy.rgb --size 16"])
def test_temporary_names_are_not_written_through(bale, tiny, layout, tmp_path):
    out, victim = tmp_path / "out", tmp_path / "victim"
    victim.write_bytes(b"mine")
    bale.pack(tiny, tmp_path / "whole", *options(layout, 3))
    (out / ".bale-partial").mkdir(parents=True)
    for shard in shards(tmp_path / "whole"):
        for suffix in ("", ".bidx"):
            (out / ".bale-partial" / f"{shard.name}.staged{suffix}").symlink_to(victim)
    bale.pack(tiny, out, *options(layout, 3), "--resume")
    assert victim.read_bytes() == b"mine"
    assert tree_bytes(out) == tree_bytes(tmp_path / "whole")


# --- source and destination

def make_store(bale, tiny, root):
    bale.pack(tiny, root / "store" / "alpha", "--name", "x", "--shard-samples", "3")
    (root / "link").symlink_to("store")
    (root / "store" / "sub").mkdir()
    shutil.copytree(tiny, root / "img")
    (root / "views").mkdir()
    for path in shards(root / "store" / "alpha"):
        (root / "views" / path.name).symlink_to(path)
    return tree_bytes(root)


OVERLAPS = [("convert", "store/alpha", "store/alpha"), ("convert", "store/alpha", "link/alpha"),
            ("convert", "store/alpha", "store/sub/../alpha/"), ("convert", "store/alpha", "store"),
            ("convert", "store/alpha", "link"), ("convert", "link/alpha", "store/alpha/packed"),
            ("convert", "store/alpha", "."), ("convert", "store/alpha/manifest.json", "store/alpha"),
            ("convert", "store/alpha/x-{000000..000001}.tar", "link/alpha"),
            ("convert", "store/alpha/x-000000.tar", "store"), ("convert", "views", "store/alpha"),
            ("pack", "img", "img"), ("pack", "img", "img/packed"), ("pack", "img", "img/a/b/c"),
            ("pack", "store/../img", "."), ("pack", "store/alpha", "store/alpha")]


@pytest.mark.parametrize("command,source,destination", OVERLAPS)
def test_source_and_destination_do_not_overlap(bale, tiny, command, source, destination, tmp_path):
    """Refused with any spelling and any mode, before anything is touched."""
    before = make_store(bale, tiny, tmp_path)
    for mode in (["--overwrite"], ["--resume"], [], ["--overwrite", "--split", "alpha=0.5,val=0.5"], ["--dry-run"]):
        result = bale(command, source, destination, "--name", "x", *mode, cwd=tmp_path)
        assert result.code == 2, (mode, result)
        assert "source" in result.error_line()
        assert tree_bytes(tmp_path) == before
    assert not (tmp_path / "img" / "packed").exists()


def test_neighbors_and_files_next_to_each_other_do_not_overlap(bale, tiny, tmp_path):
    make_store(bale, tiny, tmp_path)
    bale.ok("convert", "store/alpha", "store/beta", cwd=tmp_path)
    bale.ok("convert", "store/alpha/x-000000.tar", "store/alpha/converted", cwd=tmp_path)
    bale.ok("pack", "img", "img-packed", cwd=tmp_path)
    bale.ok("pack", "img", "new/deep/../deep/er", cwd=tmp_path)
