"""bale.pack, convert, verify and inspect: the reports that the program prints as JSON, and errors as exceptions."""
import concurrent.futures
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
import warnings

import numpy as np
import pytest
from conftest import REPO, SHIM, flip, tree_bytes
from python_support import ENVIRONMENT, command, run_script

import bale as bl


def test_pack_convert_inspect_verify(bale, photos, tmp_path):
    report = bl.pack(photos, tmp_path / "a", format="lmdb", shard_samples=15, shuffle=3, include=["*.JPEG", "*.png"])
    assert report["samples"] == 40 and report["outputs"][0]["shards"] == 3
    bale.pack(photos, tmp_path / "same" / "a", "--format", "lmdb", "--shard-samples", "15", "--shuffle", "3",
              "--include", "*.JPEG", "--include", "*.png")
    assert tree_bytes(tmp_path / "a") == tree_bytes(tmp_path / "same" / "a")
    assert bl.convert(tmp_path / "a", tmp_path / "b", format="hdf5")["samples"] == 40
    told = bl.inspect(tmp_path / "b")
    assert told["samples"] == 40 and told["format"] == "hdf5"
    assert bl.verify(tmp_path / "b", jobs=1)["findings"] == []


def test_a_list_of_files(photos, tmp_path):
    (tmp_path / "list").write_text("".join(f"{path}\n" for path in sorted(photos.rglob("*.JPEG"))[:7]))
    assert bl.pack(None, tmp_path / "a", files_from=tmp_path / "list")["samples"] == 7


@pytest.mark.parametrize("kind", [list, tuple, set, np.array, iter])
def test_several_values_of_an_option(photos, tmp_path, kind):
    bl.pack(photos, tmp_path / "out", exclude=kind(["brick/*", "moss/*"]), strict=True)
    assert not {key.partition("/")[0] for key in bl.Dataset(tmp_path / "out").keys} & {"brick", "moss"}


def test_damage_is_a_finding(photos, tmp_path):
    bl.pack(photos, tmp_path / "a")
    shard = next(tmp_path.glob("a/*000000.tar"))
    flip(shard, 3000)
    findings = bl.verify(tmp_path / "a")["findings"]
    assert findings and shard.name in str(findings)


def test_what_was_left_out_is_in_the_report(photos, fresh_copy, tmp_path):
    folder = fresh_copy(photos)
    next(folder.rglob("*.JPEG")).write_bytes(b"")
    with pytest.raises(bl.Error):
        bl.pack(folder, tmp_path / "a")
    report = bl.pack(folder, tmp_path / "b", on_error="skip")
    assert report["samples"] == 39 and len(report["skipped"]) == 1


@pytest.mark.parametrize("options, count", [({}, 1), ({"quiet": True}, 1)])
def test_an_odd_source_is_a_warning(photos, tmp_path, options, count):
    for name in ("train", "val"):
        (tmp_path / "folder" / name).mkdir(parents=True)
        (tmp_path / "folder" / name / "a.jpg").write_bytes(next(photos.rglob("*.JPEG")).read_bytes())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = bl.pack(tmp_path / "folder", tmp_path / "packed", progress=False, **options)
    assert [warning.filename for warning in caught] == [__file__] * count
    assert all("the only classes are train and val" in str(warning.message) for warning in caught)
    assert len(report["notices"]["warnings"]) == 1


def test_errors_are_exceptions(photos, tmp_path):
    with pytest.raises(bl.Error, match="no such file"):
        bl.inspect(tmp_path / "nothing")
    with pytest.raises(ValueError, match="shard_size: "):
        bl.pack(photos, tmp_path / "a", shard_size="many")
    with pytest.raises(ValueError):
        bl.pack(photos, tmp_path / "a", no_such_option=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(bl.Error, match="full"):
        bl.pack(photos, tmp_path / "full")


def test_names_that_look_like_options(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bl.pack(photos, "--json")["samples"] == 40 and (tmp_path / "--json" / "manifest.json").exists()


def test_an_interrupt_ends_a_run_that_is_blocked(tmp_path):
    """A list that never comes keeps it waiting; a second signal does not wait for it any more."""
    os.mkfifo(tmp_path / "list")
    process = subprocess.Popen(command("""
        import sys
        import bale
        print("begun", flush=True)
        bale.pack(None, sys.argv[2], files_from=sys.argv[1])
    """, tmp_path / "list", tmp_path / "out"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=ENVIRONMENT)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    _, err = process.communicate(timeout=9)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in err and not (tmp_path / "out").exists()


def test_several_runs_at_a_time_and_other_threads(photos, tmp_path):
    """The GIL is released: threads pack at the same time, and a thread of Python runs, too."""
    turns = []
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(bl.pack, photos, tmp_path / str(i), jobs=1) for i in range(3)]
        while not all(run.done() for run in runs):
            turns.append(1)
            time.sleep(0.001)
    assert [run.result()["samples"] for run in runs] == [40] * 3 and turns
    assert tree_bytes(tmp_path / "0") == tree_bytes(tmp_path / "1") == tree_bytes(tmp_path / "2")


def test_a_run_in_a_child_of_fork(photos, tmp_path):
    bl.pack(photos, tmp_path / "a" / "x")
    child = os.fork()
    if child == 0:
        try:
            bl.pack(photos, tmp_path / "b" / "x")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert tree_bytes(tmp_path / "a") == tree_bytes(tmp_path / "b")


def test_the_interpreter_ends_while_a_daemon_thread_packs(photos, tmp_path):
    """The run is stopped, and continues later."""
    script = """
        import glob, sys, threading, time
        import bale
        threading.Thread(target=bale.pack, args=sys.argv[1:], kwargs={"shard_samples": 4, "jobs": 1, "progress": False}, daemon=True).start()
        while not glob.glob(sys.argv[2] + "/*.tar"):
            time.sleep(0.005)
    """
    run_script(script, photos, tmp_path / "a", **slow(tmp_path))
    assert not (tmp_path / "a" / "manifest.json").exists()
    assert bl.pack(photos, tmp_path / "a", shard_samples=4, resume=True)["samples"] == 40


# --- progress

def test_progress_is_a_bar_of_tqdm(photos, fresh_copy, tmp_path, capfd):
    """On sys.stderr, up to the end; notes of the program stand above it."""
    folder = fresh_copy(photos)
    (folder / "readme.txt").write_text("no image")
    report = bl.pack(folder, tmp_path / "a", shard_samples=15, progress=True)
    assert report["samples"] == 40 and report["ignored"] == 1
    said = capfd.readouterr().err
    assert re.search(r"^ignored 1 path", said, re.M) and re.search(r"pack: 100%.*40/40 .*3/3 shards", said)
    bl.convert(tmp_path / "a", tmp_path / "b", format="hdf5", progress=True)
    assert re.search(r"convert: 100%.*40/40 ", capfd.readouterr().err)
    assert bl.verify(tmp_path / "b", progress=True)["findings"] == []
    assert re.search(r"verify: 100%.*40/40 ", capfd.readouterr().err)
    (tmp_path / "b" / "manifest.json").unlink()  # then nobody knows how many samples there are
    bl.verify(f"{tmp_path}/b/*.h5", progress=True)
    assert re.search(r"verify: 100%.*B/s", capfd.readouterr().err)


@pytest.mark.parametrize("progress", [None, False, True])
def test_progress_where_nobody_watches(photos, tmp_path, capfd, progress):
    with pytest.raises(bl.Error, match="no such file"):
        bl.verify(tmp_path / "nothing", progress=progress)
    bl.pack(photos, tmp_path / "a", progress=progress, quiet=bool(progress))
    assert capfd.readouterr() == ("", "")


def slow(directory):
    """The environment of a process that takes its time to write below a directory."""
    return {"LD_PRELOAD": str(SHIM), "BALE_SHIM_DELAY_MS": "25", "BALE_SHIM_BELOW": os.path.realpath(directory)}


def on_terminal(script, *arguments, **environment):
    """What a script shows on a terminal that is its standard error."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    process = subprocess.Popen(command(script, *arguments), stderr=theirs, stdin=subprocess.DEVNULL,
                               env={**ENVIRONMENT, **environment})
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # how a terminal tells that its other end is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0, shown
    return shown.decode()


SLOW_PACK = """
    import sys
    import bale
    bale.pack(sys.argv[1], sys.argv[2], shard_samples=4)
"""


def test_progress_on_a_terminal(photos, tmp_path):
    assert "pack: 100%" in on_terminal(SLOW_PACK, photos, tmp_path / "a", **slow(tmp_path))


def test_without_tqdm_there_is_a_plain_bar(photos, tmp_path):
    script = SLOW_PACK.replace("import bale", "sys.modules['tqdm'] = None; import bale")
    shown = on_terminal(script, photos, tmp_path / "a", **slow(tmp_path))
    assert re.search(r"\[#*-+\] .*/40 ", shown)


def test_an_interrupted_pack_continues(photos, tmp_path):
    """Ctrl-C in the middle: KeyboardInterrupt, and resume=True ends with the same bytes."""
    bl.pack(photos, tmp_path / "whole" / "a", shard_samples=4)
    process = subprocess.Popen(command(SLOW_PACK.replace("=4)", "=4, progress=True, jobs=1)"), photos, tmp_path / "a"),
                               stderr=subprocess.PIPE, env={**ENVIRONMENT, **slow(tmp_path / "a")})
    shown = b""
    while not re.search(rb" [1-9]/10 shards", shown):
        piece = os.read(process.stderr.fileno(), 4096)
        assert piece, shown
        shown += piece
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and b"KeyboardInterrupt" in rest
    assert not (tmp_path / "a" / "manifest.json").exists()
    assert bl.pack(photos, tmp_path / "a", shard_samples=4, resume=True)["resumed_shards"] > 0
    assert tree_bytes(tmp_path / "a") == tree_bytes(tmp_path / "whole" / "a")


def test_parts(photos, tmp_path):
    """plan(), pack_part() and merge() make what pack() makes."""
    bl.pack(photos, tmp_path / "one", name="x", shard_samples=7, shuffle=1)
    plan = tmp_path / "photos.plan"
    assert bl.plan(photos, tmp_path / "out", plan, name="x", shard_samples=7, shuffle=1, list_jobs=2)["shards"] == 6
    assert bl.pack_part(plan, 1, 2, jobs=1)["shards"] == 3
    with pytest.raises(bl.Error, match="3 of 6 shards not packed: 0..2") as missing:
        bl.merge(plan)
    assert missing.value.code == "retryable"
    assert bl.pack_part(str(plan), 0, 2)["samples"] == 21
    assert bl.merge(plan)["samples"] == 40
    assert tree_bytes(tmp_path / "out") == tree_bytes(tmp_path / "one")


@pytest.mark.parametrize("command, typed", [("pack", "PackOptions"), ("plan", "PlanOptions"), ("convert", "ConvertOptions"), ("verify", "VerifyOptions")])
def test_typed_options_are_those_of_the_program(command, typed):
    """bale.options, which type checkers read, has each flag of the program and no other."""
    import bale.options
    from bale._cli import program_path
    text = subprocess.run([program_path(), command, "--help"], check=True, capture_output=True, text=True).stdout
    flags = set(re.findall(r"^\s+(?:-\w, )?--([a-z0-9-]+)", text, re.MULTILINE)) - {"help", "json", "json-progress"}
    flags -= {"pack": {"plan", "part", "shards"}, "plan": {"output"}}.get(command, set())  # of pack_part(), an argument
    assert {flag.replace("-", "_") for flag in flags} == set(getattr(bale.options, typed).__annotations__)


@pytest.mark.parametrize("made, file", [("options_text", "options.py"), ("reading_text", "_loader/reading.py")])
def test_the_types_of_options_are_those_of_the_tables(made, file):
    """bale.options and bale.Reading are made from the tables of the libraries."""
    done = subprocess.run([sys.executable, "-c", f"import option_types; print(option_types.{made}(), end='')"], check=True,
                          capture_output=True, text=True, env={**ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{REPO}/scripts/checks"})
    assert done.stdout == (REPO / "python" / "bale" / file).read_text(), "run scripts/checks/option_types.py"


@pytest.mark.parametrize("path", ["python/bindings/loader/loader.cpp", "loader/worker/worker_config.cpp", "python/bale/_loader/options.py",
                                  "python/bale/_loader/native.py"])
def test_an_option_of_a_loader_is_in_its_row_alone(path):
    """Neither the extension module nor what workers are sent nor Python's Loaders name it: they take the table's rows."""
    rows = {keyword for keyword, _, _ in bl._bale.reading_rows()}
    assert len(rows) == 13 and rows | {"mode"} == set(bl.Reading._fields)
    assert set(re.findall(r"\w+", (REPO / path).read_text())) & rows <= {"field", "labels"}  # also words of the code; mixtures have a `labels`


def test_an_option_is_in_its_row_alone():
    """Neither the command line nor Python nor a plan names an option of packing: they take the table's rows."""
    rows = {keyword for command in ("pack", "convert", "plan", "verify") for keyword, _ in bl._bale.option_rows(command)}
    assert len(rows) > 50
    words = {"tools/cli/options/options_packing.cpp": {"seek_points", "check_images", "sidecars", "jobs", "staging_dir", "dry_run", "files_from"}, "python/bindings/requests.cpp": {"jobs", "staging_dir"},
             "python/bindings/writer.cpp": set(), "writer/plan/plan_file.cpp": {"format", "layout", "name", "source"}, "writer/source/choose/chosen_source.cpp": {"include", "exclude", "allow_unlabeled"}}
    for path, other in words.items():
        named = set(re.findall(r'"(?:--)?([a-z_-]+)"', (REPO / path).read_text()))
        assert {word.replace("-", "_") for word in named} & rows <= other, path


def test_a_shard_size_without_a_unit_is_warned_of(tiny, tmp_path):
    with pytest.warns(UserWarning, match="shard_size of 256 bytes makes 6 shards of 6 samples"):
        report = bl.pack(tiny, tmp_path / "out", shard_size=256, progress=False)
    assert report["shards"] == 6 and len(report["warnings"]) == 1
