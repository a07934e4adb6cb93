"""What a command does not take or use is reported, counted, and refused with --strict."""
import gzip
import io
import json
import os
import shutil
import warnings

import pytest
from conftest import class_names, key_names, ledger, write_tar

FAILURE, SKIPS = 1, 4
GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"


@pytest.fixture
def own(photos, tmp_path):
    """c0, c1 and c2, two images each."""
    images = [path.read_bytes() for path in sorted(photos.rglob("*.JPEG"))[:6]]
    for number, image in enumerate(images):
        path = tmp_path / "own" / f"c{number // 2}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
    return tmp_path / "own"


def keys_of(bale, place):
    return sorted(key_names(bale, place))


# --- patterns

@pytest.mark.parametrize("pattern", ["c0", "c0/", "./c0", "/c0", "{own}/c0", "{own}/c0/", "own/c0/", "**/c0", "c0/**", "c0\r"])
@pytest.mark.parametrize("how", ["folder", "packed", "tar"])
def test_a_class_is_held_out_however_it_is_written(bale, own, tmp_path, pattern, how):
    source, command = own, "pack"
    if how != "folder":
        if "own" in pattern:
            pytest.skip("keys have no such root")
        bale.pack(own, tmp_path / "packed", "--format", "tar" if how == "tar" else "lmdb")
        source, command = (next((tmp_path / "packed").glob("*.tar")), "pack") if how == "tar" else (tmp_path / "packed", "convert")
    done = bale.ok(command, source, tmp_path / "out", "--exclude", pattern.format(own=own), "--strict", "--json", cwd=tmp_path)
    assert keys_of(bale, tmp_path / "out") == ["c1/2", "c1/3", "c2/4", "c2/5"]
    notices = json.loads(done.out)["notices"]
    assert notices["unmatched"] == 0 and notices["warnings"] == [] and sum(notices["reasons"].values()) in (1, 2)
    only = bale.ok(command, source, tmp_path / "only", "--include", pattern.format(own=own), "--strict", cwd=tmp_path)
    assert keys_of(bale, tmp_path / "only") == ["c0/0", "c0/1"] and "nothing matches" not in only.err


@pytest.mark.parametrize("command", ["pack", "plan", "convert", "extract", "diff", "report", "dedup"])
def test_a_pattern_without_a_match_is_reported_by_every_command(bale, own, tmp_path, command):
    bale.pack(own, tmp_path / "packed")
    option = "--include" if command == "extract" else "--exclude"
    arguments = {"pack": [own, tmp_path / "out"], "plan": [own, tmp_path / "out", "-o", tmp_path / "p.plan"],
                 "convert": [tmp_path / "packed", tmp_path / "out"], "extract": [tmp_path / "packed", tmp_path / "out"],
                 "diff": [own, tmp_path / "packed"], "report": [own], "dedup": [own]}[command]
    for more in (["--json"], ["--quiet"]):
        done = bale(command, *arguments, option, "holdout/", option, "c1*", *more)
        assert f'{option}: nothing matches "holdout/"' in done.err and 'matches "c1' not in done.err, done
        assert done.err.count("nothing matches") == 1
        if more == ["--json"]:
            assert json.loads(done.out)["notices"]["unmatched"] == 1
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        (tmp_path / "p.plan").unlink(missing_ok=True)
    strict = bale(command, *arguments, option, "holdout/", option, "c1*", "--strict")
    assert strict.code == FAILURE and "--strict" in strict.error_line()
    assert not (tmp_path / "out").exists() and not (tmp_path / "p.plan").exists()


def test_ls_names_patterns_without_a_match(bale, own, tmp_path):
    """Also those whose matches another condition leaves out are not mistakes."""
    bale.pack(own, tmp_path / "packed")
    done = bale.ok("ls", tmp_path / "packed", "--key", "c0/*", "--key", "c9/*", "--class", "c0", "--class", "dog",
                   "--where", "index > 0")
    assert done.out == "c0/1\n" and done.err.count("nothing matches") == 2
    assert '--key: nothing matches "c9/*"' in done.err and '--class: nothing matches "dog"' in done.err
    for more in (["--json"], ["-0"], ["--long"]):
        done = bale.ok("ls", tmp_path / "packed", "--class", "c7", *more)
        assert done.out == "" and done.err.count('--class: nothing matches "c7"') == 1
    assert "nothing matches" not in bale.ok("ls", tmp_path / "packed", "--key", "c?/*", "--where", "index > 99").err


# --- files that differ in their extension only

@pytest.fixture
def alike(own):
    """Also in c1: 2.png next to 2.jpg, and 3.webp and 3.PNG next to 3.jpg."""
    for name in ("2.png", "3.webp", "3.PNG"):
        (own / "c1" / name).write_bytes((own / "c1" / f"{name[0]}.jpg").read_bytes() + name.encode())
    return own


def test_a_file_that_a_list_names_again(bale, own, tmp_path):
    (tmp_path / "list.txt").write_text("c1/2.jpg\nc1/3.jpg\n./c1/2.jpg\n")
    done = bale("pack", "--files-from", tmp_path / "list.txt", tmp_path / "out", "--root", own)
    assert done.code == 2 and "the list names a file again: leave out the second line, or keep the first" in done.error_line()
    assert "--keep-extensions" not in done.error_line()


def test_all_files_of_one_key_are_named(bale, alike, tmp_path):
    done = bale("pack", alike, tmp_path / "out")
    assert done.code == 2 and not (tmp_path / "out").exists()
    line = done.error_line()
    assert line.index("c1/2.jpg and ") < line.index("c1/2.png, ") < line.index("c1/3.webp would have the same key")
    assert "c1/3.PNG and " in line and "--keep-extensions" in line and "--on-error" in line


@pytest.mark.parametrize("how", ["folder", "flat", "list", "csv", "plan"])
def test_keys_keep_extensions_on_request(bale, alike, tmp_path, how):
    files = [str(path.relative_to(alike)) for path in sorted(alike.rglob("*.*"))]
    source, more = alike, ["--flat"] if how == "flat" else []
    if how in ("list", "csv"):
        source = tmp_path / f"names.{how.replace('list', 'txt')}"
        head = ["path,label"] if how == "csv" else []
        source.write_text("\n".join(head + [f"{name},{name[:2]}" if head else name for name in files]) + "\n")
        more = ["--root", alike]
    if how == "plan":
        bale.ok("plan", source, tmp_path / "out", "-o", tmp_path / "a.plan", "--keep-extensions", *more)
        bale.ok("pack", "--plan", tmp_path / "a.plan", "--part", "0/1")
        bale.ok("merge", tmp_path / "a.plan")
    else:
        bale.pack(source, tmp_path / "out", "--keep-extensions", *more)
    assert keys_of(bale, tmp_path / "out") == sorted(name.replace(".", "%2E") for name in files)
    assert bale.ok("cat", tmp_path / "out", "c1/2%2Epng").stdout == (alike / "c1" / "2.png").read_bytes()
    refused = bale("pack", tmp_path / "out", tmp_path / "again", "--keep-extensions")
    assert refused.code == 2 and "--keep-extensions" in refused.error_line()


def extracted(bale, tmp_path, name, *options):
    """The files below a directory of their own, by name, without the labels."""
    shutil.rmtree(tmp_path / "files", ignore_errors=True)
    bale.ok("extract", tmp_path / name, tmp_path / "files", *options)
    found = {str(path.relative_to(tmp_path / "files")): path.read_bytes() for path in sorted((tmp_path / "files").rglob("*.*"))}
    return {name: content for name, content in found.items() if not name.endswith(".cls")}


@pytest.mark.parametrize("form", ["tar", "lmdb", "hdf5", "converted", "merged", "planned", "resized"])
def test_extract_gives_back_whole_names(bale, alike, tmp_path, form):
    """Keys that keep extensions are the names of files, whatever is made of the pack."""
    wanted = {str(path.relative_to(alike)): path.read_bytes() for path in alike.rglob("*.*")}
    options = ["--format", form] if form in ("lmdb", "hdf5") else ["--resize-max", "999"] if form == "resized" else []
    if form == "planned":
        bale.ok("plan", alike, tmp_path / "out", "-o", tmp_path / "a.plan", "--keep-extensions")
        bale.ok("pack", "--plan", tmp_path / "a.plan", "--part", "0/1")
        bale.ok("merge", tmp_path / "a.plan")
    else:
        bale.pack(alike, tmp_path / "out", "--keep-extensions", *options)
    if form == "converted":
        bale.ok("convert", tmp_path / "out", tmp_path / "as-lmdb", "--format", "lmdb")
        shutil.rmtree(tmp_path / "out")
        bale.ok("convert", tmp_path / "as-lmdb", tmp_path / "out", "--where", "index >= 0")
    if form == "merged":
        bale.pack(alike, tmp_path / "x", "--keep-extensions", "--include", "c1/2*")
        bale.pack(alike, tmp_path / "y", "--keep-extensions", "--exclude", "c1/2*")
        shutil.rmtree(tmp_path / "out")
        bale.ok("merge", tmp_path / "x", tmp_path / "y", "-o", tmp_path / "out")
        bale.pack(alike, tmp_path / "z", "--exclude", "c1/*")
        refused = bale("merge", tmp_path / "x", tmp_path / "z", "-o", tmp_path / "no")
        assert refused.code == 2 and "its keys are not encoded, and those of " in refused.error_line()
    assert extracted(bale, tmp_path, "out") == wanted
    assert len(extracted(bale, tmp_path, "out", "--include", "c1/2*")) == 2


def test_names_that_look_like_whole_names(bale, own, tmp_path):
    """x.jpg.jpg is x.jpg with an extension: only a pack that kept extensions has its names as keys."""
    (own / "c0" / "0.jpg").rename(own / "c0" / "0.jpg.jpg")
    wanted = {str(path.relative_to(own)): path.read_bytes() for path in own.rglob("*.*")}
    for options in ([], ["--keep-extensions"]):
        bale.pack(own, tmp_path / f"p{len(options)}", *options)
        assert extracted(bale, tmp_path, f"p{len(options)}") == wanted


def test_whole_names_of_pairs_and_of_images_that_are_found_by_content(bale, own, tmp_path):
    image = (own / "c0" / "0.jpg").read_bytes()
    for name in ("a.JPEG", "a.mask.png", "b.x.JPEG", "b.x.mask.png"):
        (tmp_path / "pairs" / "c").mkdir(parents=True, exist_ok=True)
        (tmp_path / "pairs" / "c" / name).write_bytes(image + name.encode())
    wanted = {str(path.relative_to(tmp_path / "pairs")): path.read_bytes() for path in (tmp_path / "pairs").rglob("*.*")}
    bale.pack(tmp_path / "pairs", tmp_path / "packed", "--keep-extensions", "--pair", "jpeg,mask.png")
    assert extracted(bale, tmp_path, "packed") == wanted
    (own / "c0" / "0.jpg").rename(own / "c0" / "photo.dat")
    (tmp_path / "list.txt").write_text("c0/photo.dat\nc1/2.jpg\n")
    bale.pack(tmp_path / "list.txt", tmp_path / "listed", "--keep-extensions", "--root", own)
    assert sorted(extracted(bale, tmp_path, "listed")) == ["c0/photo.dat", "c1/2.jpg"]


@pytest.mark.parametrize("policy", ["skip", "quarantine"])
def test_the_first_of_one_key_is_packed_and_the_others_are_counted(bale, alike, tmp_path, policy):
    done = bale("pack", alike, tmp_path / "out", "--on-error", policy, "--json")
    assert done.code == SKIPS and len(json.loads(done.out)["skipped"]) == 3, done
    assert keys_of(bale, tmp_path / "out") == [f"c{i // 2}/{i}" for i in range(6)]
    assert bale.ok("cat", tmp_path / "out", "c1/2").stdout == (alike / "c1" / "2.jpg").read_bytes()
    lost = {os.path.basename(line["origin"]): line["why"] for line in ledger(tmp_path / "out")}
    assert sorted(lost) == ["2.png", "3.jpg", "3.webp"] and lost["2.png"].endswith("c1/2.jpg"), lost
    for line in ledger(tmp_path / "out"):
        copies = [(tmp_path / "out" / name).read_bytes() for name in line.get("quarantined", [])]
        assert copies == ([(alike / "c1" / os.path.basename(line["origin"])).read_bytes()] if policy == "quarantine" else [])
    resumed = bale("pack", alike, tmp_path / "out", "--on-error", policy, "--resume")
    assert resumed.code == SKIPS and "found finished" in resumed.out, resumed


@pytest.mark.parametrize("how", ["folder", "packed"])
def test_an_error_names_the_pattern_that_leaves_nothing(bale, own, tmp_path, how):
    source = own if how == "folder" else tmp_path / "packed"
    if how == "packed":
        bale.pack(own, source)
    assert bale("pack", source, tmp_path / "out", "--include", "C0").error_line().endswith('--include: nothing matches "C0"')


def test_what_one_of_several_sources_takes_is_used(bale, own, tmp_path):
    bale.pack(own, tmp_path / "packed", "--flat")
    shutil.copytree(own, tmp_path / "other")
    shutil.rmtree(tmp_path / "other" / "c2")
    bale.ok("diff", own, tmp_path / "packed", "--flat", "--exclude", "c1/*", "--strict")
    for command in (["report", own, tmp_path / "other"], ["dedup", own, "--against", tmp_path / "other"]):
        assert "nothing matches" not in bale.ok(*command, "--exclude", "c2", "--strict").err
    assert bale("diff", own, tmp_path / "packed", "--flat", "--exclude", "nothing").err.count("nothing matches") == 1


def test_a_key_is_one_sample_and_no_folder(bale, own, tmp_path):
    """Keys may be what is a folder of other keys."""
    shutil.copytree(own / "c1", own / "c0" / "0")
    bale.pack(own, tmp_path / "packed")
    for option, left in (("--include", ["c0/0"]), ("--exclude", ["c0/0/2", "c0/0/3", "c0/1", "c1/2", "c1/3", "c2/4", "c2/5"])):
        bale.ok("convert", tmp_path / "packed", tmp_path / option, option, "c0/0")
        assert keys_of(bale, tmp_path / option) == left
    bale.ok("convert", tmp_path / "packed", tmp_path / "folder", "--include", "c0/0/")
    assert keys_of(bale, tmp_path / "folder") == ["c0/0/2", "c0/0/3"]
    bale.ok("extract", tmp_path / "packed", tmp_path / "files", "--include", "./c1/")
    assert sorted(path.stem for path in (tmp_path / "files").rglob("*.jpg")) == ["2", "3"]


@pytest.mark.parametrize("name", ["./c0/0.jpg", "{own}/c0/0.jpg", "own/c0/0.jpg", "c0//0.jpg", "c0/0.jpg  ", "./c0/0", "/c0/0"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "# held out\n"])
def test_lists_are_written_in_any_way(bale, own, tmp_path, name, end, start):
    (tmp_path / "names").write_bytes((start + name.format(own=own) + end + "c1/2" + end).encode())
    done = bale.ok("pack", own, tmp_path / "out", "--exclude-from", "../names", "--json", "--strict", cwd=own) \
        if not name.startswith("own") else bale.ok("pack", "own", tmp_path / "out", "--exclude-from", "names", "--json", cwd=tmp_path)
    assert keys_of(bale, tmp_path / "out") == ["c0/1", "c1/3", "c2/4", "c2/5"], done
    assert json.loads(done.out)["excluded"] == {"samples": 2, "unmatched_names": 0}


def test_lists_name_directories_and_nothing_more(bale, own, tmp_path):
    shutil.copy(own / "c1" / "2.jpg", own / "c1" / "2.jpg .jpg")
    (tmp_path / "names").write_text("c0/\nc2\nc1/2.jpg .jpg\nc9\n")
    for command, source in (("pack", own), ("convert", tmp_path / "packed")):
        if command == "convert":
            bale.pack(own, source)
            (tmp_path / "names").write_text("c0/\nc2\nc1/2%2Ejpg \nc9\n")
        done = bale.ok(command, source, tmp_path / command, "--exclude-from", tmp_path / "names", "--quiet")
        assert keys_of(bale, tmp_path / command) == ["c1/2", "c1/3"]
        assert "5 samples excluded, 1 of 4 names is of no sample here, the first: c9" in done.err
    strict = bale("pack", own, tmp_path / "strict", "--exclude-from", tmp_path / "names", "--strict")
    assert strict.code == FAILURE and not (tmp_path / "strict").exists()


# --- links and names

@pytest.mark.parametrize("flags", [[], ["--flat"], ["--pair", "jpg,json"]])
def test_a_broken_link_is_a_bad_sample(bale, own, tmp_path, flags):
    if "--pair" in flags:
        for path in own.rglob("*.jpg"):
            path.with_suffix(".json").write_text("{}")
    (own / "c0" / "0.jpg").unlink()
    (own / "c0" / "0.jpg").symlink_to("../../.git/annex/objects/x")
    failed = bale("pack", own, tmp_path / "out", *flags)
    assert failed.code == FAILURE and "c0/0.jpg" in failed.error_line() and "broken link" in failed.error_line()
    skipped = bale("pack", own, tmp_path / "skipped", "--on-error", "skip", *flags)
    assert skipped.code == SKIPS and len(keys_of(bale, tmp_path / "skipped")) == 5
    assert [os.path.basename(line["origin"]) for line in ledger(tmp_path / "skipped")] == ["0.jpg"]


def test_a_class_that_was_not_fetched_is_missed(bale, own, tmp_path):
    shutil.rmtree(own / "c1")
    (own / "c1").symlink_to("../.dvc/cache/c1")
    failed = bale("pack", own, tmp_path / "out")
    assert failed.code == FAILURE and str(own / "c1") in failed.error_line()
    assert bale("pack", own, tmp_path / "out", "--on-error", "skip").code == SKIPS
    assert [os.path.basename(line["origin"]) for line in ledger(tmp_path / "out")] == ["c1"]
    bale.pack(own, tmp_path / "without", "--exclude", "c1")
    assert [name.decode() for name in class_names(tmp_path / "without")] == ["c0", "c2"]


@pytest.mark.parametrize("suffix", ["gif", "GIF", "pbm", "pnm", "avif", "jxl"])
def test_every_kind_that_is_decoded_is_an_image_by_its_name(bale, own, tmp_path, suffix):
    content = {"gif": GIF, "pbm": b"P4\n8 1\n\xaa", "pnm": b"P5\n1 1\n255\n\x07"}.get(suffix.lower(), GIF)
    for place in ("c0", "gifs"):
        (own / place).mkdir(exist_ok=True)
        (own / place / f"x.{suffix}").write_bytes(content)
    bale.pack(own, tmp_path / "out", "--strict")
    assert {"c0/x", "gifs/x"} <= set(keys_of(bale, tmp_path / "out"))
    assert [name.decode() for name in class_names(tmp_path / "out")] == ["c0", "c1", "c2", "gifs"]
    bale.ok("dedup", own, "-o", tmp_path / "list")
    assert f"gifs/x.{suffix}" in (tmp_path / "list").read_text()


def test_what_is_ignored_is_reported_by_pack_and_report(bale, own, tmp_path):
    (own / "c0" / "x.heic").write_bytes(b"\0\0\0\x18ftypheic")
    (own / "c0" / "y.heic").write_bytes(b"\0\0\0\x18ftypheic")
    for command in (["pack", own, tmp_path / "out"], ["report", own], ["dedup", own], ["diff", own, tmp_path / "out"]):
        done = bale.ok(*command, "--quiet")
        assert "ignored 2 paths: not an image by its name (such as " in done.err, done
    found = json.loads(bale.ok("report", own, "--json").out)
    assert any("not an image by its name, such as" in finding["text"] for finding in found["findings"])
    assert "has no effect" not in bale.ok("report", tmp_path / "out", "--strict").err
    strict = bale("pack", own, tmp_path / "strict", "--strict")
    assert strict.code == FAILURE and "2 paths ignored" in strict.error_line() and not (tmp_path / "strict").exists()
    bale.ok("pack", own, tmp_path / "strict", "--strict", "--exclude", "*.heic")  # what is asked for is fine


# --- lists

@pytest.mark.parametrize("suffix", ["list", "csv", "tsv", "jsonl"])
def test_what_a_list_names_is_packed_or_an_error(bale, own, tmp_path, suffix):
    shutil.copy(own / "c0" / "0.jpg", own / "c0" / "bare")
    rows = ["c0/1.jpg  ", "c0/bare", " c1/2.jpg"]
    text = {"list": "\n".join(rows), "csv": "\n".join(["path", *rows]), "tsv": "\n".join(["path", *rows]),
            "jsonl": "\n".join(json.dumps({"path": row}) for row in rows)}[suffix]
    table = own / f"table.{suffix}"
    table.write_text(text + "\n")
    arguments = [table, tmp_path / "out", "--source", "list" if suffix == "list" else "table", "--root", own]
    bale.ok("pack", *arguments, "--strict")
    assert keys_of(bale, tmp_path / "out") == ["c0/1", "c0/bare", "c1/2"]
    (own / "c0" / "notes.txt").write_text("no image")
    with table.open("a") as file:
        file.write('{"path": "c0/notes.txt"}\n' if suffix == "jsonl" else "c0/notes.txt\n")
    arguments[1] = tmp_path / "again"
    failed = bale("pack", *arguments)
    assert failed.code == FAILURE and f"line {4 + (suffix in ('csv', 'tsv'))}: " in failed.error_line()
    assert "notes.txt" in failed.error_line() and not (tmp_path / "again").exists()
    assert bale("pack", *arguments, "--on-error", "skip").code == SKIPS
    assert len(keys_of(bale, tmp_path / "again")) == 3 and "notes.txt" in ledger(tmp_path / "again")[0]["why"]


# --- options

@pytest.mark.parametrize("options", [["--path-column", "x"], ["--label-column", "y"], ["--root", "/"], ["--flat", "--class-map", "{map}"]])
def test_an_option_without_effect_is_reported(bale, own, tmp_path, options):
    (tmp_path / "map").write_text("c0 0\nc1 1\nc2 2\n")
    options = [option.format(map=tmp_path / "map") for option in options]
    done = bale.ok("pack", own, tmp_path / "out", *options, "--json", "--quiet")
    assert f"{options[-2]} has no effect: " in done.err
    notices = json.loads(done.out)["notices"]
    assert notices["without_effect"] == len(notices["warnings"]) == 1
    strict = bale("pack", own, tmp_path / "strict", *options, "--strict")
    assert strict.code == FAILURE and not (tmp_path / "strict").exists()


def test_options_of_labels_without_labels_are_reported(bale, own, tmp_path):
    done = bale.ok("pack", own, tmp_path / "out", "--flat", "--split", "a=0.5,b=0.5", "--stratify", "--sample", "5", "--sample-per-class")
    assert "--stratify has no effect: " in done.err and "--sample-per-class has no effect: " in done.err
    (own / "t.csv").write_text("path,label\nc0/0.jpg,1\nc0/1.jpg,\n")
    done = bale.ok("pack", own / "t.csv", tmp_path / "table", "--quiet", "--allow-unlabeled")
    assert "1 of 2 samples have no label" in done.err


# --- Python

def caught_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert all(warning.filename == __file__ for warning in caught)
    return result, "; ".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize("quiet", [False, True])
def test_python_warns_of_what_is_left_out(own, tmp_path, quiet):
    bl = pytest.importorskip("bale")
    (own / "c0" / "0.jpg").write_bytes(b"")
    (own / "c1" / "notes.txt").write_text("x")
    report, said = caught_of(lambda: bl.pack(own, tmp_path / "out", on_error="skip", exclude=["c9", "c2"], root="x", progress=False, quiet=quiet))
    assert report["samples"] == 3
    assert "1 sample skipped, the first: " in said and "0.jpg" in said and "ignored 1 (such as " in said and "notes.txt" in said
    assert 'nothing matches "c9"' in said and "has no effect" in said and "c2" not in said
    with pytest.raises(bl.Error):
        bl.pack(own, tmp_path / "strict", strict=True, exclude=["c9"])
    assert not (tmp_path / "strict").exists()
    _, said = caught_of(lambda: bl.convert(tmp_path / "out", tmp_path / "again"))
    assert said == ""


def test_python_says_how_many_images_cannot_be_decoded(own, tmp_path):
    bl = pytest.importorskip("bale")
    image = (own / "c0" / "0.jpg").read_bytes()
    (own / "c0" / "0.jpg").write_bytes(b"\xff\xd8\xff\xe0" + image[20:40] + b"\xff\xd9")
    report = bl.pack(own, tmp_path / "out", check_images=True)
    assert report["images"]["undecodable"] == sum(report["undecodable"].values()) == 1


def test_bad_images_of_a_program_are_skipped(own, tmp_path):
    bl = pytest.importorskip("bale")
    pillow = pytest.importorskip("PIL.Image")
    good = (own / "c0" / "0.jpg").read_bytes()
    png = io.BytesIO()
    pillow.open(io.BytesIO(good)).save(png, "PNG")
    pairs = [(good, 0), (b"", 1), (b"no image", 1), (pillow.open(io.BytesIO(good)), 1), (pillow.open(io.BytesIO(good[:len(good) // 2])), 0)]

    class Files:
        """As a torch Dataset that opens its files."""
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return pillow.open(io.BytesIO([good, b"no image", png.getvalue(), good][i])), i % 2

    for number, (source, bad) in enumerate([(pairs, 3), (Files(), 1), (iter(pairs), 3)]):
        report, said = caught_of(lambda: bl.pack(source, tmp_path / f"out{number}", on_error="skip", progress=False))  # noqa: B023
        assert len(report["skipped"]) == bad and report["samples"] == len(pairs if bad == 3 else source) - bad
        assert f"{bad} sample" in said and "skipped, the first: sample 1" in said
        if bad == 3:
            source = pairs
        with pytest.raises(bl.Error if bad == 3 else OSError):
            bl.pack(source, tmp_path / f"fail{number}")
    with bl.Writer(tmp_path / "writer", on_error="skip") as writer:
        writer.add("a", {"jpg": good}, label=0)
        writer.add("c", {"png": pillow.open(io.BytesIO(good[:len(good) // 2]))}, label=0)
        writer.add("b", {"jpg": b"no image"}, label=0)
        _, said = caught_of(writer.close)
    assert "2 samples skipped" in said


# --- next to shards

def beside(result, directory):
    return sorted(line.replace(f"{directory}/", "") for line in result.err.splitlines() if "ignored" in line or "missing" in line)


@pytest.fixture
def shards_of(bale, own, tmp_path):
    """The bytes of a tar and of a file of TFRecords of the images, without an index."""
    for name in ("tar", "tfrecord"):
        bale.pack(own, tmp_path / name, "--format", name)
    return (next((tmp_path / "tar").glob("*.tar")).read_bytes(), next((tmp_path / "tfrecord").glob("own-*-of-00001")).read_bytes())


def test_what_lies_next_to_shards_in_a_directory(bale, own, shards_of, tmp_path):
    """Shards under other names, images, and directories of either are named, once per reason; other files are not."""
    tar, records = shards_of
    place = tmp_path / "place"
    (place / "more").mkdir(parents=True)
    (place / "logs").mkdir()
    for name, content in {"a.tar": tar, "b.tgz": gzip.compress(tar), "c.tfrecord": records, "more/d.tar": tar,
                          "README.md": b"x", "a.json": b"{}", "logs/x.txt": b"x", ".hidden.jpg": b"x"}.items():
        (place / name).write_bytes(content)
    shutil.copy(next(own.rglob("*.jpg")), place / "sheet.jpg")
    expected = ["ignored 1 entry: a directory next to shards (such as more)", "ignored 1 entry: an image next to shards (such as sheet.jpg)",
                "ignored 2 entries: not named as a shard, although its content is one (such as b.tgz)"]
    for command in (["convert", place, tmp_path / "out"], ["verify", place], ["inspect", place], ["index", place], ["ls", place]):
        assert beside(bale.ok(*command), place) == expected, command
    assert beside(bale.ok("ls", place / "*.tar"), place) == []
    assert bale("convert", place, tmp_path / "strict", "--strict").code == FAILURE


def test_a_directory_of_shards_by_content_is_read_after_it_was_indexed(bale, shards_of, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.tfrecord").write_bytes(shards_of[1])
    before = key_names(bale, place)
    bale.ok("index", place)
    assert (place / "a.tfrecord.bidx").exists() and key_names(bale, place) == before


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_class_folders_without_labels_are_said(bale, own, tmp_path, kind):
    archive = shutil.make_archive(str(tmp_path / "own"), kind, tmp_path, "own")
    said = "the samples have no labels; give --class-folders if the 3 folders in their keys, such as c0, are the classes"
    assert said in bale.ok("convert", archive, tmp_path / "out").err
    assert "no labels" not in bale.ok("pack", archive, tmp_path / "classes", "--class-folders").err
    assert "no labels" not in bale.ok("convert", archive, tmp_path / "one", "--include", "own/c1/*").err
    assert "no labels" not in bale.ok("convert", tmp_path / "out", tmp_path / "again").err


def test_samples_of_an_archive_without_an_image_are_said(bale, own, tmp_path):
    image = next(own.rglob("*.jpg")).read_bytes()
    write_tar(tmp_path / "x.tar", [("a.jpg", image), ("b.txt", b"b"), ("c.json", b"{}"), ("d.v.png", image)])
    assert 'x.tar: 2 of 4 samples have no image (such as "b")\n' in bale.ok("convert", tmp_path / "x.tar", tmp_path / "out").err
    assert "have no image" not in bale.ok("convert", tmp_path / "x.tar", tmp_path / "some", "--exclude", "[bc]").err


def test_the_table_of_an_imagefolder_is_named(bale, own, tmp_path):
    """The Hugging Face Hub's captions and labels next to images do not come from the folder."""
    hint = "a table of images; to have its columns, pack it in place of the folder"
    (own / "metadata.jsonl").write_text('{"file_name": "c0/0.jpg", "text": "a cat"}\n')
    assert f"ignored 1 path: {hint} (such as {own}/metadata.jsonl)" in bale.ok("pack", own, tmp_path / "classes").err
    assert hint in bale.ok("pack", own, tmp_path / "flat", "--flat").err
    assert hint not in bale.ok("pack", own / "metadata.jsonl", tmp_path / "table").err
