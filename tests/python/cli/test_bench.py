"""bale bench, tune and doctor: what they print is there, adds up and is asked for as documented. No figure is judged."""
import json
import os
import subprocess
import sys

import fake_cuda_support
import pytest
from conftest import ALL_FORMATS, format_options
from python_support import SYSTEM_PYTHON, run_script

STAGES = ["read", "verify", "decode", "train"]
FIGURES = ["images_per_s", "mb_per_s", "cpu_s_per_1000", "first_batch_s", "pss_mb"]
IMAGES = 40  # in `photos`


@pytest.fixture(scope="module")
def packs(bale, photos, tmp_path_factory):
    root = tmp_path_factory.mktemp("bench")
    for name in ALL_FORMATS:
        bale.pack(photos, root / name, *format_options(name), "--shard-samples", "15")
    return root


def bench(bale, spec, *options):
    return json.loads(bale.ok("bench", spec, "--json", "--batch", "16", "--size", "32", *options).out)


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_bench_measures_every_stage(bale, packs, name):
    result = bench(bale, packs / name)
    assert list(result["stages"]) == STAGES
    for figures in result["stages"].values():
        assert figures["images"] == IMAGES and figures["batches"] == 3 and figures["bad_samples"] == 0
        assert all(figures[key] > 0 for key in FIGURES), figures
        assert figures["images_per_s"] == pytest.approx(IMAGES / figures["seconds"])
    assert {key: result[key] for key in FIGURES} == {key: result["stages"]["train"][key] for key in FIGURES}
    assert result["workers"] == 2 and result["batch"] == 16 and result["size"] == 32 and result["prefetch"] == 4


@pytest.mark.parametrize("options", [["--workers", "0"], ["--workers", "3"], ["--workers", "2", "--threads"],
                                     ["--workers", "auto"], ["--order", "none"], ["--order", "block"],
                                     ["--order", "block:4,2", "--seed", "7"], ["--prefetch", "2", "--device", "cpu"]],
                         ids=" ".join)
def test_bench_counts_each_image_once(bale, packs, options):
    result = bench(bale, packs / "tar", "--stages", "train", *options)
    assert list(result["stages"]) == ["train"]
    assert result["images"] == IMAGES


def test_a_pass_ends_after_that_many_batches(bale, packs):
    """More passes than an epoch has batches: passes go on over the end of an epoch."""
    result = bench(bale, packs / "tar", "--max-batches", "2", "--epochs", "4", "--stages", "read,train")
    assert result["stages"]["read"]["images"] == 32
    assert result["stages"]["train"]["batches"] == 2
    assert 16 < result["stages"]["train"]["images"] <= 32


def test_bench_without_the_train_stage_has_no_figures_of_it(bale, packs):
    result = bench(bale, packs / "tar", "--stages", "read")
    assert list(result["stages"]) == ["read"] and "images_per_s" not in result


def test_bench_says_which_instruction_sets_ran(bale, packs):
    options = ["--stages", "train", "--workers", "1"]
    best = bench(bale, packs / "tar", *options)["simd"]
    assert bench(bale, packs / "tar", *options, "--simd", best.lower())["simd"] == best
    result = bale("bench", packs / "tar", "--simd", "MMX")
    assert result.code == 2 and "no SIMD target of this build and this CPU is named `MMX`" in result.err
    targets = result.err.split("use one of ")[1].split(";")[0].rstrip(".) \n").split(", ")
    assert targets[0] == best
    for name in targets:
        assert bench(bale, packs / "tar", *options, "--simd", name)["simd"] == name
        out = bale.ok("bench", packs / "tar", *options, "--json", env={"BALE_SIMD": name}).out
        assert json.loads(out)["simd"] == name


def test_workers_use_no_other_instruction_sets(bale, packs):
    """A worker that inherits a name that it does not know refuses to run."""
    code = f"""
import os
import bale
make = bale.Loader  # this process has read the variable
os.environ["BALE_SIMD"] = "MMX"
loader = make({str(packs / "tar")!r}, batch_size=4, transform=bale.transforms.train(32), workers=1)
try:
    next(iter(loader))
except bale.Error as error:
    print(error)
"""
    assert "named `MMX`" in run_script(code)


def test_bench_prints_a_row_a_stage(bale, packs):
    lines = bale.ok("bench", packs / "tar", "--batch", "16", "--size", "32").out.splitlines()
    assert [line.split()[0] for line in lines[-4:]] == STAGES
    assert "#" not in "".join(lines)  # bars are for terminals


def test_bad_images_are_named_and_not_counted(bale, photos, tmp_path):
    folder = tmp_path / "folder"
    for path in sorted(photos.rglob("*.JPEG"))[:6]:
        target = folder / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    broken = folder / "a" / "broken.JPEG"
    broken.parent.mkdir()
    broken.write_bytes(b"\xff\xd8\xff\xe0 no picture")
    bale.pack(folder, tmp_path / "packed")
    result = bale.ok("bench", tmp_path / "packed", "--json", "--batch", "4", "--size", "16", "--stages", "train")
    figures = json.loads(result.out)
    assert figures["images"] == 6
    assert figures["bad_samples"] > 0
    assert "a/broken" in result.err


def tune(bale, spec, *options, **kwargs):
    """What tune printed, and whether the machine was too busy to judge: the tests share it with others."""
    result = bale("tune", spec, "--batch", "8", "--size", "32", "--seconds-per-setting", "0.02", *options, **kwargs)
    assert result.code in (0, 5), result
    return result.out, result.code == 5


def test_tune_shows_every_setting(bale, packs):
    out, too_busy = tune(bale, packs / "tar", "--json")
    result = json.loads(out)
    workers = [row["workers"] for row in result["settings"]]
    assert workers[:3] == [0, 1, 2] and max(workers) >= result["cores"]
    assert all(row["images_per_s"] > 0 and row["pss_mb"] > 0 for row in result["settings"])
    if too_busy:
        assert result["recommended"] is None and result["python"] is None and result["bound_by"] == "other programs"
        assert "other programs took" in result["not_recommended_because"]
        return
    assert result["recommended"] in result["settings"] and result["not_recommended_because"] is None
    fastest = max(row["images_per_s"] for row in result["settings"])
    assert result["recommended"]["images_per_s"] >= 0.97 * fastest
    if result["recommended"]["workers"] > 0:
        assert {row["prefetch"] for row in result["settings"]} == {2, 4, 8}
    assert result["bound_by"] in ("cpu", "other programs", "storage", "consumer", "workers")
    assert result["read_images_per_s"] > 0


def test_tune_in_words(bale, packs):
    text, too_busy = tune(bale, packs / "tar")
    assert too_busy == ("Recommended: " not in text) == ("No recommendation: " in text)
    if too_busy:
        return
    assert "Bound by " in text and "bale::Loader loader{" in text and "num_workers=" in text


@pytest.mark.parametrize("options", [[], ["--threads", "--order", "block:8,2", "--dtype", "bfloat16"]], ids=" ".join)
def test_the_line_of_python_runs(bale, packs, options):
    """The line that tune prints is a program."""
    text, too_busy = tune(bale, packs / "tar", *options)
    if too_busy:  # the same line, as tests/unit/tools/tools_test.cpp has it
        line = f'bt.Loader("{packs}/tar", batch_size=8, workers=2, prefetch=4, transform=bale.transforms.train(32))'
    else:
        (line,) = [line.removeprefix("Python").strip() for line in text.splitlines() if line.startswith("Python")]
    assert line.startswith("bt.Loader(")
    run_script(f"import bale, bale.torch as bt\nwith {line} as loader:\n    images, labels = next(iter(loader))\n"
               f"assert images.shape == (8, 3, 32, 32), images.shape\n", python=SYSTEM_PYTHON)


def test_a_busy_machine_is_not_judged(bale, packs):
    """Twice as many busy programs as cores, which take more than they leave."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * (os.cpu_count() or 1))]
    try:
        out, too_busy = tune(bale, packs / "tar", "--json")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    result = json.loads(out)
    assert too_busy and result["recommended"] is None and result["bound_by"] == "other programs"


def test_nothing_is_recommended_from_samples_that_nothing_can_decode(bale, tmp_path):
    folder = tmp_path / "folder" / "a"
    folder.mkdir(parents=True)
    for number in range(12):
        (folder / f"{number}.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    bale.pack(tmp_path / "folder", tmp_path / "packed")
    options = ["--batch", "4", "--size", "16"]
    result = bale("tune", tmp_path / "packed", *options, "--seconds-per-setting", "0.02")
    assert result.code == 1 and "No recommendation: none of the samples could be decoded" in result.out, result
    assert "Recommended" not in result.out and "12 samples could not be decoded" in result.err
    for command in (["doctor", "--seconds", "0.05", "--step-ms", "5"], ["bench", "--max-batches", "1"]):
        result = bale(command[0], tmp_path / "packed", *options, *command[1:])
        assert result.code == 1 and "none of the samples could be decoded" in result.error_line() and result.out == ""


def doctor(bale, spec, *options, **kwargs):
    return bale.ok("doctor", spec, "--batch", "8", "--size", "32", "--workers", "2", "--seconds", "0.05", *options,
                   **kwargs).out


def test_doctor_names_the_slowest_part(bale, packs):
    result = json.loads(doctor(bale, packs / "tar", "--json"))
    assert result["read_images_per_s"] > 0 and result["decode_images_per_s"] > 0
    assert result["bound_by"] in ("read", "decode") and result["advice"]
    assert result["copy_images_per_s"] is None and result["compute_images_per_s"] is None
    slow_steps = json.loads(doctor(bale, packs / "tar", "--json", "--step-ms", "80000"))
    assert slow_steps["bound_by"] == "compute" and slow_steps["workers_needed"] == 1
    assert slow_steps["compute_images_per_s"] == pytest.approx(0.1)


def test_doctor_in_words(bale, packs):
    text = doctor(bale, packs / "tar")
    assert "Bound by " in text and "--step-ms" in text
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["PART", "read", "decode"]
    text = doctor(bale, packs / "tar", "--step-ms", "80000")
    assert "Bound by compute" in text and "1 worker would do" in text and "The GPU does not wait for data." in text
    text = doctor(bale, packs / "tar", "--step-ms", "0.01")  # 800,000 images per second
    assert "The GPU waits " in text and "its steps can take 800000 images per second" in text
    result = json.loads(doctor(bale, packs / "tar", "--json", "--step-ms", "0.01"))
    assert 0.5 < result["device_waits_share"] < 1 and result["cores_needed"] > 1
    if result["bound_by"] == "decode":
        assert result["cores_needed"] > result["cores"]


def test_bench_and_doctor_of_a_device(bale, packs):
    """Over the fake driver: figures are there and add up, none is judged."""
    result = json.loads(bale.ok("bench", packs / "tar", "--json", "--batch", "8", "--size", "32", "--stages", "train",
                                "--device", "cuda", "--dtype", "float16", env=fake_cuda_support.ENVIRONMENT).out)
    assert result["images"] == IMAGES
    device = result["device"]
    assert device["name"] == "Fake GPU" and device["idle_share"] is None
    assert device["copy_gb_per_s"] > 0 and device["plain_copy_gb_per_s"] > 0 and 0 <= device["hidden_share"] <= 1
    if device["converts"]:
        text = bale.ok("bench", packs / "tar", "--batch", "8", "--size", "32", "--stages", "train", "--device", "cuda:0",
                       "--step-ms", "2", env=fake_cuda_support.ENVIRONMENT).out
        assert "Fake GPU: copies of " in text and "the device had nothing to do for " in text
    result = json.loads(doctor(bale, packs / "tar", "--json", "--device", "cuda", env=fake_cuda_support.ENVIRONMENT))
    assert result["copy_images_per_s"] > 0 and result["bound_by"] in ("read", "decode", "copy")


def test_tune_compares_who_decodes(bale, packs):
    """Over a fake device and a fake nvJPEG: the rates are of them, and nobody's to judge."""
    out, too_busy = tune(bale, packs / "tar", "--json", "--device", "cuda", env=fake_cuda_support.ENVIRONMENT)
    if too_busy:
        return
    decoding = json.loads(out)["decoding"]
    assert decoding["host_images_per_s"] > 0 and decoding["device_images_per_s"] > 0
    assert 0 < decoding["device_share"] <= 1 and decoding["host_cpu_share"] > 0
    assert ("faster here" in decoding["advice"]) and (decoding["device_is_faster"] != ("not faster" in decoding["advice"]))
    text, too_busy = tune(bale, packs / "tar", "--device", "cuda:0", env=fake_cuda_support.ENVIRONMENT)
    assert too_busy or "On the device  decoded by workers: " in text


@pytest.mark.parametrize("command", ["bench", "tune", "doctor"])
def test_a_missing_device_is_named_before_anything_is_measured(bale, packs, command):
    result = bale(command, packs / "tar", "--device", "cuda:99", env=fake_cuda_support.ENVIRONMENT)
    assert result.code == 1 and result.out == "" and "99" in result.error_line()


def test_tune_says_why_the_device_does_not_decode(bale, packs, tmp_path):
    """Without nvJPEG: only the driver is in the folder that libraries are taken from."""
    (tmp_path / "libcuda.so.1").symlink_to(fake_cuda_support.FOLDER / "libcuda.so.1")
    out, too_busy = tune(bale, packs / "tar", "--json", "--device", "cuda", env={"LD_LIBRARY_PATH": str(tmp_path)})
    if too_busy:
        return
    decoding = json.loads(out)["decoding"]
    assert not decoding["device_is_faster"] and decoding["device_share"] == 0
    assert decoding["advice"].startswith("Leave decoding to the workers: the device does not decode images, so workers do: ")
    assert "libnvjpeg.so.12: cannot open" in decoding["advice"]


@pytest.mark.parametrize("command", ["bench", "doctor"])
def test_a_device_that_is_not_there(bale, packs, tmp_path, command):
    broken = tmp_path / "libcuda.so.1"
    broken.write_text("no library")
    result = bale(command, packs / "tar", "--device", "cuda", "--batch", "8", "--size", "32",
                  *(["--seconds", "0.05"] if command == "doctor" else ["--stages", "train"]),
                  env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert result.code == 1 and "no CUDA driver: " in result.error_line()
    result = bale(command, packs / "tar", "--device", "cuda:5", "--batch", "8", "--size", "32",
                  *(["--seconds", "0.05"] if command == "doctor" else ["--stages", "train"]),
                  env=fake_cuda_support.ENVIRONMENT)
    assert result.code == 1 and "no CUDA device 5: there are 1" in result.error_line()


@pytest.mark.parametrize("arguments", [
    ["bench", "packed", "--device", "gpu"],
    ["bench", "packed", "--device", "cuda:"],
    ["bench", "packed", "--step-ms", "5"],
    ["bench", "packed", "--device", "cuda", "--stages", "read,decode"],
    ["bench", "packed", "--dtype", "half"],
    ["bench", "packed", "--batch", "0"],
    ["bench", "packed", "--workers", "-1"],
    ["bench", "packed", "--workers", "many"],
    ["bench", "packed", "--order", "shuffled"],
    ["bench", "packed", "--order", "block:0"],
    ["bench", "packed", "--stages", "read,write"],
    ["bench", "packed", "--epochs", "0"],
    ["bench", "packed", "--max-batches", "0"],
    ["bench", "packed", "--size", "99999999999"],
    ["bench"],
    ["tune", "packed", "--seconds-per-setting", "0"],
    ["tune", "packed", "--seconds-per-setting", "soon"],
    ["tune", "packed", "--device", "tpu"],
    ["tune", "packed", "--device", "cuda:"],
    ["doctor", "packed", "--step-ms", "0"],
    ["doctor", "packed", "--seconds", "-1"],
], ids=" ".join)
def test_wrong_usage(bale, packs, arguments):
    arguments = [str(packs / "tar") if argument == "packed" else argument for argument in arguments]
    result = bale(*arguments)
    assert result.code == 2, result
    assert result.error_line() and result.stdout == b""


@pytest.mark.parametrize("command", ["bench", "tune", "doctor"])
def test_what_is_not_there(bale, tmp_path, command):
    result = bale(command, tmp_path / "nothing")
    assert result.code == 1 and "nothing" in result.error_line()
    assert result.stdout == b"" or command == "tune"  # its heading is there before the first setting


@pytest.mark.parametrize("command", ["bench", "tune", "doctor"])
def test_help_says_what_is_measured(bale, command):
    text = bale.ok(command, "--help").out
    assert "--device" in text and all(len(line) <= 120 for line in text.splitlines())
