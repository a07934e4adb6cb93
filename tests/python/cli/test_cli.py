"""The command line itself: help, exit codes, JSON, looking at packs, extracting safely."""
import base64
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time

import numpy as np
import pytest
from conftest import (
    ALL_FORMATS,
    PROGRAM,
    REPO,
    flip,
    format_options,
    images_by_key,
    key_list,
    shards,
    tree_bytes,
    write_tar,
)
from PIL import Image

OVERVIEW = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
COMMANDS = re.findall(r"^  (\w+) ", OVERVIEW.partition("Commands:\n")[2].partition("\n\n")[0], re.M)


@pytest.fixture(scope="module")
def packed(bale, photos, tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "packed"
    bale.pack(photos, out, "--name", "photos", "--shard-samples", "15")
    return out


# --- asking for help, asking wrongly

@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(bale, command):
    result = bale.ok(command, "--help")
    assert f"bale {command}" in result.out and result.stderr == b""
    assert all(len(line) <= 120 for line in result.out.splitlines())


def test_help_and_version(bale):
    made = {name for path in (REPO / "tools").rglob("*.cpp")
            for name in re.findall(r'\b(?:command_of|cached)(?:<\w+>)?\(\s*"(\w+)"', path.read_text())}
    assert set(COMMANDS) == made and len(COMMANDS) == len(made)
    assert re.findall(r"^\.SS (\w+)$", bale.ok("man").out, re.M) == COMMANDS
    assert re.fullmatch(r"bale \d+\.\d+\.\d+\n", bale.ok("--version").out)


def test_formats_are_those_that_pack_takes(bale):
    assert f"--format {'|'.join(ALL_FORMATS)}\n" in bale.ok("pack", "--help").out


USAGE_ERRORS = [
    [],
    ["nonsense"],
    ["pack"],
    ["pack", "only-one"],
    ["pack", "a", "b", "c"],
    ["pack", "a", "b", "--format", "zip"],
    ["pack", "a", "b", "--format", "tar", "--layout", "blob"],
    ["pack", "a", "b", "--no-such-option"],
    ["pack", "a", "b", "--shard-size", "much"],
    ["pack", "a", "b", "--shard-size", "-1"],
    ["pack", "a", "b", "--shard-size", "1MiB", "--shard-count", "2"],
    ["pack", "a", "b", "--shard-samples", "0"],
    ["pack", "a", "b", "--jobs", "many"],
    ["pack", "a", "b", "--split", "train=0.9"],
    ["pack", "a", "b", "--split", "train=0.9,train=0.1"],
    ["pack", "a", "b", "--split", "../x=0.5,y=0.5"],
    ["pack", "a", "b", "--split", "manifest.json=0.5,y=0.5"],
    ["pack", "a", "b", "--stratify"],
    ["pack", "a", "b", "--compress", "gzip"],
    ["pack", "a", "b", "--compress", "zstd:99"],
    ["pack", "a", "b", "--on-error", "ignore"],
    ["pack", "a", "b", "--resume", "--overwrite"],
    ["pack", "a", "b", "--name", "a/b"],
    ["cat", "x"],
    ["completion", "tcsh"],
    ["preview", "x", "out.png"],
    # What would have no effect, or takes the effect of another one.
    ["read", "a", "--order", "none", "--shuffle", "1"],
    ["verify", "a", "--max-pixels", "9"],
    ["report", "a", "--force"],
    ["report", "a", "--no-near", "--mirrored"],
    ["dedup", "a", "--force"],
    ["dedup", "a", "--similarity", "0.9"],
    ["bench", "a", "--force"],
]


@pytest.mark.parametrize("arguments", USAGE_ERRORS, ids=lambda a: " ".join(a) or "nothing")
def test_usage_errors(bale, photos, arguments, tmp_path):
    """Exit 2, one line, nothing written; the source exists, so that it is not to blame."""
    (tmp_path / "a").symlink_to(photos)
    result = bale(*arguments, cwd=tmp_path)
    assert result.code == 2, result
    assert result.error_line()
    assert result.stdout == b""
    assert sorted(os.listdir(tmp_path)) == ["a"]


def test_an_option_that_is_given_twice_is_said_to_be(bale):
    assert "--jobs: given more than once; give it once" in bale("read", "x", "-j", "1", "--jobs", "2").error_line()


def test_closed_pipe_is_not_a_crash(bale, packed):
    """`bale ls | head -n 1`"""
    done = subprocess.run(f"'{PROGRAM}' ls '{packed}' | head -n 1; echo ${{PIPESTATUS[0]}}", shell=True,
                          executable="/bin/bash", capture_output=True, timeout=60)
    first, code = done.stdout.decode().split()
    assert first in {k.decode() for k in key_list(bale, packed)} and int(code) in (0, 1, 141)
    assert b"terminate" not in done.stderr


def test_an_output_that_does_not_block_gets_everything(bale, tmp_path):
    """Node and ssh set it so: whoever shares their terminal or pipe must wait for room."""
    (tmp_path / "in" / "a").mkdir(parents=True)
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (300, 300, 3), np.uint8)).save(tmp_path / "in" / "a" / "noise.png")
    content = (tmp_path / "in" / "a" / "noise.png").read_bytes()
    assert len(content) > 1 << 17  # more than a pipe holds
    bale.pack(tmp_path / "in", tmp_path / "out")
    read, write = os.pipe()
    os.set_blocking(write, False)
    with subprocess.Popen([PROGRAM, "cat", tmp_path / "out", "a/noise"], stdout=write, stderr=subprocess.PIPE) as done, open(read, "rb") as out:
        os.close(write)
        time.sleep(0.2)  # now the pipe is full
        assert out.read() == content
        assert done.wait(timeout=60) == 0 and done.stderr.read() == b""


def test_a_full_output_is_an_error(bale, packed):
    """`bale cat ... > /dev/full` must not look like success."""
    key = key_list(bale, packed)[0]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "cat", packed, key], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"No space left" in done.stderr


# --- what the commands print

def test_json_outputs_parse(bale, photos, packed, tmp_path):
    report = json.loads(bale.pack(photos, tmp_path / "p", "--json").out)
    assert report["samples"] == 40 and report["shards"] == 1 and report["skipped"] == []
    summary = json.loads(bale.ok("inspect", packed, "--json").out)
    assert summary["samples"] == 40 and len(summary["shards"]) == 3 and len(summary["classes"]) == 5
    assert {f["name"] for f in summary["fields"]} >= {"jpg"}
    assert json.loads(bale("ls", packed, "--json", "--where", "x = 1").out.splitlines()[-1])["error"]["code"] == "invalid_argument"
    rows = [json.loads(line) for line in bale.ok("ls", packed, "--json").out.splitlines()]
    assert [row["index"] for row in rows] == list(range(40))
    expected = images_by_key(photos)
    assert {row["key"]: (row["fields"]["jpg"], row["label"]) for row in rows} == \
        {key: (len(image), label) for key, (image, label) in expected.items()}
    checked = json.loads(bale.ok("verify", packed, "--json").out)
    assert checked["samples"] == 40 and checked["findings"] == []
    rates = json.loads(bale.ok("read", packed, "--shuffle", "1", "--epochs", "2", "--json").out)
    assert rates["samples"] == 80 and rates["epochs"] == 2
    formats = json.loads(bale.ok("formats", "--json").out)
    assert {entry["name"] for entry in formats if entry["writes"]} == set(ALL_FORMATS)
    assert all(layout["suffix"] or layout["counted"] for entry in formats for layout in entry["layouts"])
    stats = json.loads(bale.ok("stats", packed, "--json").out)
    assert stats["samples"] == 40 and [row["samples"] for row in stats["classes"]] == [8] * 5
    assert stats["width"]["min"] <= stats["width"]["median"] <= stats["width"]["max"]
    extracted = json.loads(bale.ok("extract", packed, tmp_path / "files", "--field", "jpg", "--json").out)
    assert (extracted["samples"], extracted["files"], extracted["kept"]) == (40, 40, 0)
    assert extracted["bytes"] == sum(len(image) for image, _ in expected.values())
    sheet = json.loads(bale.ok("preview", packed, tmp_path / "page.html", "--count", "7", "--json").out)
    assert (sheet["shown"], sheet["samples"], sheet["undecodable"]) == (7, 40, 0)
    foreign = tmp_path / "foreign.tar"
    foreign.write_bytes(shards(packed)[0].read_bytes())
    assert [json.loads(bale.ok("index", foreign, "--json", *more).out)["indexed"] for more in ([], ["--force"], [])] == [1, 1, 0]
    points = json.loads(bale.ok("index", foreign, "--json", "--seek-points").out)
    assert points["present"] == 1 and points["seek_points"]["samples"] == 15 and points["failures"] == []
    preview = json.loads(bale.ok("pack", photos, tmp_path / "dry", "--dry-run", "--json", "--shard-samples", "15").out)
    assert [shard["samples"] for shard in preview["shards"]] == [15, 15, 10]


def test_sizes_in_ls_are_the_images_own(bale, photos, packed):
    rows = [json.loads(line) for line in bale.ok("ls", packed, "--json").out.splitlines()]
    for row in rows:
        with Image.open(io.BytesIO(images_by_key(photos)[row["key"]][0])) as image:
            assert (row["width"], row["height"]) == image.size


def test_inspect_names_what_matters(bale, photos, packed):
    text = bale.ok("inspect", packed).out
    for word in ["tar", "40", "jpg", "photos-000002.tar", *(p.name for p in photos.iterdir())]:
        assert word in text


def test_inspect_names_classes_that_do_not_begin_at_0(bale, photos, tmp_path):
    names = sorted(path.name for path in photos.iterdir())
    (tmp_path / "map").write_text("".join(f"{name} {17 + number}\n" for number, name in enumerate(names)))
    bale.pack(photos, tmp_path / "out", "--class-map", tmp_path / "map")
    assert f": 17 {names[0]}, 18 {names[1]}" in bale.ok("inspect", tmp_path / "out").out


def test_every_kind_of_spec(bale, packed):
    everything = key_list(bale, packed)
    for spec in [packed / "manifest.json", packed / "photos-{000000..000002}.tar", packed / "*.tar",
                 f"{packed}/photos-000000.tar::{packed}/photos-00000[12].tar"]:
        assert key_list(bale, spec) == everything
    assert key_list(bale, packed / "photos-000001.tar") == everything[15:30]


def test_cat(bale, photos, packed):
    key, (image, label) = sorted(images_by_key(photos).items())[20]
    assert bale.ok("cat", packed, key).stdout == image
    assert bale.ok("cat", packed, "--index", "20").stdout == image
    assert bale.ok("cat", packed, key, "--field", "cls").stdout == str(label).encode()
    missing = bale("cat", packed, "no/such/key")
    assert missing.code == 1 and "no/such/key" in missing.error_line() and missing.stdout == b""
    missing = bale("cat", packed, key, "--field", "depth")
    assert missing.code == 1 and "depth" in missing.error_line()


def test_stats_advise_what_helps(bale, tmp_path):
    """`bale index` finds sizes of shards without an index, and does nothing for others."""
    write_tar(tmp_path / "x.tar", [("a.jpg", b"\0" * 99), ("b.json", b"{}")])
    assert "2 samples are not known; `bale index` finds those of images" in bale.ok("stats", tmp_path / "x.tar").out
    bale.ok("index", "-q", tmp_path / "x.tar")
    out = bale.ok("stats", tmp_path / "x.tar").out
    assert "2 samples are not known: no image, or one whose header was not read" in out and "`bale index` finds" not in out


def test_stats(bale, photos, packed):
    text = bale.ok("stats", packed).out
    assert re.search(r"samples +40\b", text) and re.search(r"classes +5\b", text)
    assert re.search(r"per class +min 8 .*max 8 ", text)
    widths = [Image.open(path).width for path in photos.rglob("*.JPEG")]
    assert re.search(rf"width +min {min(widths)}, .*max {max(widths)}\b", text)


def test_preview(bale, packed, photos, tmp_path):
    """Each figure has the picture of the sample that its caption names."""
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        bale.ok("preview", packed, tmp_path / f"{name}.html", "--count", "12", "--seed", seed, env={"SOURCE_DATE_EPOCH": "0"})
    a, b, c = ((tmp_path / f"{name}.html").read_text() for name in "abc")
    assert a == b and a != c
    expected = images_by_key(photos)
    figures = re.findall(r'<figure><img alt="" src="data:image/jpeg;base64,([^"]+)"><figcaption><b>(\d+) <bdi>([^<]+)</bdi></b>'
                         r"<br><bdi>([^<]+)</bdi>", a)
    assert len({key for *_, key in figures}) == 12
    for picture, label, name, key in figures:
        image, stored_label = expected[key]
        assert int(label) == stored_label and key.startswith(f"{name}/")
        shown, stored = Image.open(io.BytesIO(base64.b64decode(picture))), Image.open(io.BytesIO(image)).convert("RGB")
        assert max(shown.size) == min(144, max(stored.size))
        assert np.abs(np.asarray(stored.resize(shown.size), float) - np.asarray(shown, float)).mean() < 12


def test_a_preview_shows_what_it_cannot_decode(bale, tmp_path):
    (tmp_path / "in" / "<b>").mkdir(parents=True)
    (tmp_path / "in" / "<b>" / "1.jpg").write_bytes(b"\xff\xd8\xff\xe0 no image")
    bale.pack(tmp_path / "in", tmp_path / "packed")
    result = bale.ok("preview", tmp_path / "packed", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "1 image could not be decoded" in result.err and "no picture" in page
    assert "0 <bdi>&lt;b&gt;</bdi>" in page and "<b>/" not in page


def test_preview_replaces_nothing(bale, packed, tmp_path):
    page = tmp_path / "page.html"
    page.write_bytes(b"mine")
    result = bale("preview", packed, page)
    assert result.code == 1 and "exists already" in result.error_line() and page.read_bytes() == b"mine"
    bale.ok("preview", packed, page, "--force")
    assert page.read_text().startswith("<!doctype html>")


def test_read_counts_every_sample(bale, packed):
    assert re.search(r"40\b", bale.ok("read", packed, "--shuffle", "1").out)


@pytest.mark.parametrize("order", ["none", "full", "block", "block:4,3", "block:1000000,1000000"])
def test_read_in_every_order(bale, packed, order):
    sizes = [sum(row["fields"].values()) for row in
             map(json.loads, bale.ok("ls", packed, "--json").out.splitlines())]
    for jobs in ["1", "7"]:
        rates = json.loads(bale.ok("read", packed, "--order", order, "--epochs", "3", "--jobs", jobs, "--json").out)
        assert rates["samples"] == 120 and rates["bytes"] == 3 * sum(sizes)


@pytest.mark.parametrize("order", ["", "half", "block:", "block:4", "block:0,4", "block:4,0", "block:4,5,6"])
def test_read_refuses_orders_there_are_not(bale, packed, order):
    refused = bale("read", packed, "--order", order)
    assert refused.code == 2 and "--order" in refused.error_line()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(bale, shell):
    script = bale.ok("completion", shell).out
    for word in [*COMMANDS, "shard-size", "on-error"]:
        assert word in script
    assert not re.search(r"[ '(](N|DIR|SIZE|P%|cuda:N|SEED|GLOB)[ ')]", re.sub(r"\[[^]]*\]:[^:]*:|-d '.*'", "", script))


def completed(bale, directory, *words):
    """What bash offers for the last word."""
    run = (bale.ok("completion", "bash").out +
           '\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bale; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", run, "-", "bale", *words], capture_output=True, text=True, check=True, cwd=directory)
    assert done.stderr == ""
    return sorted(done.stdout.splitlines()) if done.stdout.strip() else []


def test_completion_offers_what_can_be_typed(bale, tmp_path):
    (tmp_path / "my photos").mkdir()
    (tmp_path / "my list.txt").touch()
    assert completed(bale, tmp_path, "ver") == ["verify"]
    assert completed(bale, tmp_path, "verify", "--dec") == ["--decode"]
    assert completed(bale, tmp_path, "pack", "--on-error", "") == ["fail", "quarantine", "skip"]
    assert completed(bale, tmp_path, "pack", "--on-error", "=", "f") == ["fail"]
    assert completed(bale, tmp_path, "pack", "--on-error", "=") == ["fail", "quarantine", "skip"]
    assert completed(bale, tmp_path, "bench", "--device", "") == ["cpu", "cuda"]
    for option in ("--sample", "--shard-size", "--exclude"):
        assert completed(bale, tmp_path, "pack", option, "") == []
    assert completed(bale, tmp_path, "verify", "--jobs", "") == ["auto"]
    assert completed(bale, tmp_path, "ls", "--cache-dir", "") == ["my photos", "none"]
    assert completed(bale, tmp_path, "pack", "--root", "") == ["my photos"]
    assert completed(bale, tmp_path, "pack", "my") == ["my list.txt", "my photos"]
    assert completed(bale, tmp_path, "pack", "my\\ l") == ["my list.txt"]
    assert completed(bale, tmp_path, "pack", "--files-from", "my l") == ["my list.txt"]
    assert completed(bale, tmp_path, "completion", "") == ["bash", "fish", "zsh"]


def test_man_page(bale, tmp_path):
    page = bale.ok("man").out
    assert page.startswith(".") and ".TH" in page and "EXIT STATUS" in page.upper()
    (tmp_path / "bale.1").write_text(page)
    shown = subprocess.run(["man", "--warnings", "-l", tmp_path / "bale.1"], capture_output=True, text=True,
                           env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}, check=True)
    assert "verify" in shown.stdout and shown.stderr == ""


def test_man_page_names_every_variable_that_is_read(bale):
    section = bale.ok("man").out.partition(".SH ENVIRONMENT\n")[2].partition("\n.SH ")[0]
    read = {name for room in ("formats", "reader", "writer", "loader") for path in (REPO / room).rglob("*.cpp")
            for name in re.findall(r'"((?:BALE|AWS|HF)_[A-Z0-9_]+|TMPDIR|[A-Z]+_CA_BUNDLE|SSL_CERT_FILE|SSL_CERT_DIR)"', path.read_text())}
    assert len(read) > 30 and [name for name in sorted(read) if name not in section] == []


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=lambda a: " ".join(a) or "bale")
def test_short_help(bale, command):
    short, long = bale.ok(*command, "-h").out, bale.ok(*command, "--help").out
    options = re.compile(r"^  (?:-\w, |    )(--[a-z-]+)", re.M)
    assert options.findall(short) == options.findall(long)
    assert f"`{' '.join(['bale', *command])} --help`" in short and all(len(line) <= 80 for line in short.splitlines() if "|" not in line)
    if command in (["pack"], ["bench"], ["report"]):
        assert len(short.splitlines()) < 0.7 * len(long.splitlines())


@pytest.mark.parametrize("command", ["convert", "ls", "bench", "report"])
def test_a_commands_own_options_come_first(bale, command):
    groups = re.findall(r"^(\w.*):$", bale.ok(command, "--help").out.partition("Usage")[2], re.M)
    assert groups.index("Cache of remote files") > 0 and groups[0] in ("Options", "Format")


MISSPELLED = [(["pakc"], "pack"), (["veri"], "verify"), (["pack", "a", "b", "--shard-sizes", "1"], "--shard-size"),
              (["ls", "a", "--jason"], "--json"), (["verify", "a", "--jobz=3"], "--jobs"), (["--verson"], "--version")]


@pytest.mark.parametrize("arguments,meant", MISSPELLED, ids=lambda a: a if isinstance(a, str) else a[-1])
def test_misspelled_words(bale, arguments, meant):
    result = bale(*arguments)
    assert result.code == 2 and f"; did you mean {meant}?; see `bale" in result.error_line()
    assert "did you mean" not in bale("ls", "a", "--zzzzzz").error_line() + bale("zzzzzz").error_line()


@pytest.mark.parametrize("arguments", [["report", "-o"], ["dedup", "-o"], ["bench", "--html"], ["doctor", "--html"],
                                       ["preview"], ["plan", "out", "-o"]], ids=lambda a: a[0])
def test_outputs_are_tried_before_the_work(bale, tmp_path, arguments):
    """The source is not there, and is not what the error is about."""
    (tmp_path / "d.html").mkdir()
    command, *before = arguments
    for name in ("no/such/page.html", "d.html", "x" * 300 + ".html", "/proc/page.html"):
        result = bale(command, "nothing", *before, name, cwd=tmp_path)
        assert result.code == 1 and result.error_line().startswith(f"bale: {name}" if len(name) < 99 else "bale: xxx"), result
    assert os.listdir(tmp_path) == ["d.html"]


def test_quiet_says_nothing(bale, photos, tmp_path):
    result = bale.pack(photos, tmp_path / "p", "--quiet")
    assert (result.stdout, result.stderr) == (b"", b"")


def test_quiet_hides_no_warning(bale, photos, tmp_path):
    """Progress and summary alone."""
    source = tmp_path / "source"
    shutil.copytree(photos, source)
    image = next(path for path in sorted(source.rglob("*.JPEG")) if path.read_bytes()[:2] == b"\xff\xd8")
    image.write_bytes(image.read_bytes()[:900])
    (image.parent / "notes.txt").write_text("no image")
    packed = tmp_path / "packed"
    for command in (["pack", source, packed, "--check-images"], ["convert", packed, tmp_path / "again", "--check-images"]):
        result = bale.ok(*command, "--quiet")
        assert image.stem in result.err and result.out == ""
    left = packed / ".bale-tmp-0000000000000000-1-0000000000000000"
    left.write_bytes(b"left")
    os.utime(left, (0, 0))
    checked = bale.ok("verify", packed, "--quiet")
    assert "temporary file" in checked.err and checked.out == ""
    for path in [*packed.glob("*.bidx"), packed / "manifest.json"]:
        path.unlink()
    indexed = bale.ok("index", packed, "--quiet", "--check-images")
    assert image.stem in indexed.err and indexed.out == ""


def test_progress_for_programs(bale, photos, tmp_path):
    """At least the last object of each run, which has everything."""
    p, q = tmp_path / "p", tmp_path / "q"
    for command in (["pack", photos, p], ["convert", p, q], ["verify", q]):
        lines = [json.loads(line)["progress"] for line in bale.ok(*command, "--json-progress").err.splitlines()]
        last = lines[-1]
        assert set(last) == {"samples", "total_samples", "bytes", "total_bytes", "shards", "total_shards", "skipped"}
        assert (last["samples"], last["total_samples"], last["shards"], last["total_shards"]) == (40, 40, 1, 1)
    assert bale("verify", q, "--json-progress", "--quiet").code == 2


def test_no_control_codes_outside_a_terminal(bale, photos, tmp_path):
    result = bale.pack(photos, tmp_path / "p")
    assert b"\x1b" not in result.stdout + result.stderr and b"\r" not in result.stdout + result.stderr


# --- writing nothing, writing only where asked

@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_dry_run_writes_nothing(bale, photos, format_name, tmp_path):
    result = bale.pack(photos, tmp_path / "out", *format_options(format_name), "--shard-samples", "15", "--name", "x",
                       "--dry-run")
    assert "x-000002" in result.out or "x-00002-of-00003" in result.out
    assert list(tmp_path.iterdir()) == []


def hostile_tar(path, names, links=()):
    with tarfile.open(path, "w") as tar:
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"evil"))


@pytest.mark.parametrize("name", ["../evil.jpg", "a/../../evil.jpg", "/ABSOLUTE/evil.jpg", "a/./../../evil.jpg", "..jpg/x.jpg",
                                  "a//b.jpg", "./a.jpg", "c:\\evil.jpg"])
def test_extract_cannot_leave_its_directory(bale, name, tmp_path):
    inside = tmp_path / "box" / "deep" / "out"
    inside.parent.mkdir(parents=True)
    name = name.replace("/ABSOLUTE", str(tmp_path / "absolute"))
    hostile_tar(tmp_path / "x.tar", [name, "fine.jpg"])
    bale("extract", tmp_path / "x.tar", inside)
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and inside not in p.parents and p.name != "x.tar"]
    assert outside == []


def test_extract_does_not_follow_links_that_are_there(bale, tmp_path):
    out, target = tmp_path / "out", tmp_path / "target"
    out.mkdir()
    target.mkdir()
    (out / "a").symlink_to(target)
    (out / "b.jpg").symlink_to(target / "b.jpg")
    hostile_tar(tmp_path / "x.tar", ["a/evil.jpg", "b.jpg"])
    bale("extract", tmp_path / "x.tar", out)
    bale("extract", tmp_path / "x.tar", out, "--force")
    assert list(target.iterdir()) == []


def test_extract_keeps_what_is_there(bale, packed, tmp_path):
    key = sorted(k.decode() for k in key_list(bale, packed))[0]
    mine = tmp_path / "out" / f"{key}.jpg"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    result = bale("extract", packed, tmp_path / "out")
    assert result.code == 1 and str(mine) in result.error_line()
    assert mine.read_bytes() == b"mine"
    bale.ok("extract", packed, tmp_path / "out", "--force")
    assert mine.read_bytes() != b"mine"


# --- indexes of foreign packs

def test_index_of_a_foreign_pack(bale, photos, packed, tmp_path):
    foreign = tmp_path / "foreign.tar"
    foreign.write_bytes(shards(packed)[0].read_bytes())
    before = key_list(bale, foreign)
    bale.ok("index", foreign)
    assert (tmp_path / "foreign.tar.bidx").exists()
    assert key_list(bale, foreign) == before
    bale.ok("verify", foreign)
    flip(foreign, 3000)  # now that there are checksums, it is found
    assert bale("verify", foreign).code == 3


def test_verify_changes_nothing(bale, packed):
    before = tree_bytes(packed)
    for command in ("verify", "inspect", "ls", "stats", "read"):
        bale.ok(command, packed)
    assert tree_bytes(packed) == before


def test_a_directory_of_strangers_shards(bale, photos, tmp_path):
    """Without manifest and index a directory of shards is still a dataset for every command that reads."""
    bale.pack(photos, tmp_path / "packed", "--shard-samples", "9", "--name", "x")
    for path in (tmp_path / "packed").iterdir():
        if path.suffix in (".bidx", ".json"):
            path.unlink()
    count = len(bale("ls", tmp_path / "packed").stdout.splitlines())
    assert count > 9
    assert bale("verify", tmp_path / "packed").code == 0
    assert bale("index", tmp_path / "packed").code == 0
    assert len(list((tmp_path / "packed").glob("*.bidx"))) == len(list((tmp_path / "packed").glob("x-*.tar")))
    assert bale("verify", tmp_path / "packed").code == 0
    flip(sorted((tmp_path / "packed").glob("x-*.tar"))[1], 700)
    assert bale("verify", tmp_path / "packed").code == 3
