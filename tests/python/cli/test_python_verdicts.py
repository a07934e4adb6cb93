"""The codes of errors: one table in formats/base, from which exit codes, Python's classes, JSON and the documents derive."""
import contextlib
import io
import json
import pathlib
import re
import resource
import subprocess
import sys

import numpy
import pytest
from conftest import REPO, flip
from PIL import Image
from python_support import ENVIRONMENT

import bale as bl
from bale import _bale, errors, transforms


def test_python_has_the_table():
    assert [(code, exit_code, error.__name__) for code, exit_code, error in errors.VERDICTS] == list(_bale.VERDICTS)
    for code, exit_code, error in errors.VERDICTS:
        raised = errors.make_error(code, "text", path="p")
        assert type(raised) is error and raised.code == code and error("text").code == error.code and errors.exit_code_of(code) == exit_code
    assert errors.code_of_exit(5) == "retryable" and errors.code_of_exit(1) == "io"


def test_the_documents_have_the_table():
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| `(\w+)`", (REPO / "docs" / "TROUBLESHOOTING.md").read_text(), re.M)
    assert [(code, int(exit_code), name) for code, exit_code, name in rows] == list(_bale.VERDICTS)
    for code, _, _ in errors.VERDICTS:
        assert code in bl.Error.__doc__


CASES = {
    "not_found": (["inspect", "nothing-here"], None),
    "damaged": (["inspect", "x.npy"], b"\x93NUMPY\x01\0 nonsense that is not a header"),
    "unsupported": (["inspect", "x.npy"], b"\x93NUMPY\x09\0" + bytes(200)),
    "invalid_argument": (["ls", "x.npy", "--where", "size >"], b"\x93NUMPY\x01\0"),
}


@pytest.mark.parametrize("code", CASES)
def test_json_and_exit_code_say_the_code(bale, code, tmp_path):
    words, content = CASES[code]
    if content is not None:
        (tmp_path / "x.npy").write_bytes(content)
    result = bale(*words, "--json", cwd=tmp_path)
    exit_code = next(number for name, number, _ in errors.VERDICTS if name == code)
    assert result.code == exit_code
    said = json.loads(result.out)["error"]
    assert said["code"] == code and said["message"] in result.error_line()
    if code != "invalid_argument":
        with pytest.raises(dict((name, error) for name, _, error in errors.VERDICTS)[code]) as raised:
            bl.inspect(tmp_path / words[1])
        assert raised.value.code == code and str(tmp_path / words[1]) == raised.value.path


@pytest.mark.parametrize("words", [["pack", "a", "b", "--nonsense"], ["pack"], ["pack", "a", "b", "--shard-size", "x"], ["cache"]])
def test_a_wrong_command_line_is_an_error_in_json(bale, words):
    result = bale(*words, "--json")
    said = json.loads(result.out)["error"]
    assert result.code == 2 and said["code"] == "invalid_argument" and said["message"] in result.error_line()
    assert bale(*words).out == "" and bale(*words).error_line() == result.error_line()


def test_the_program_and_the_library_raise_the_same(pack, fresh_copy):
    copy = fresh_copy(pack)
    flip(copy / "manifest.json", 3, 0xFF)
    raised = []
    for call in (lambda: bl.Dataset(copy), lambda: bl.convert(copy, copy.parent / "out"), lambda: bl.inspect(copy)):
        with pytest.raises(errors.DamagedError) as error:
            call()
        raised.append(error.value.code)
    assert raised == ["damaged"] * 3


def packed_files(bale, directory, *contents, name="x{}.png"):
    folder = directory / "folder"
    folder.mkdir(parents=True)
    for i, content in enumerate(contents):
        (folder / name.format(i)).write_bytes(content)
    bale.ok("pack", folder, directory / "p", "--flat")
    return directory / "p"


def image_bytes(kind, size, **options):
    image = Image.new("RGB" if kind in ("WEBP", "TIFF") else "P", size, 3)
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("content, code", [(b"\xff\xd8\xff\xc3\0\x0b\x08\0\x10\0\x10\x01\x01\x11\0\xff\xda\0\x08\x01\x01\0\x01\0\0",
                                            "unsupported"),  # lossless JPEG
                                           (image_bytes("PNG", (9, 9))[:60], "damaged")])
def test_the_loader_says_what_is_wrong_with_a_sample(bale, content, code, tmp_path):
    """Damage and images of kinds that bale does not decode are two things in the loader, too."""
    path = packed_files(bale, tmp_path, content)
    with bl.Loader(path, 1, workers=1, transform=transforms.val(32)) as loader, pytest.raises(bl.Error) as raised:
        next(iter(loader))
    assert raised.value.code == code
    verified = bale("verify", "--decode", "--json", path)
    findings = json.loads(verified.out)["findings"]
    assert [one["code"] for one in findings] == [code] and verified.code == (3 if code == "damaged" else 1)


def test_lack_of_memory_condemns_no_sample(bale, tmp_path):
    """It is out_of_memory, whatever `on_bad_sample` says, and the samples come when there is memory again."""
    small, large = image_bytes("PNG", (8, 8)), image_bytes("PNG", (13000, 13000))
    path = packed_files(bale, tmp_path, *[small] * 40, large, name="x{:02}.png")
    options = {"workers": 1, "prefetch": 4, "shuffle": False, "transform": transforms.val(32), "on_bad_sample": "skip"}
    with bl.Loader(path, 1, **options) as loader:
        batches = iter(loader)
        next(batches)
        worker, = loader.worker_pids
        size = int(re.search(r"VmSize:\s+(\d+)", pathlib.Path(f"/proc/{worker}/status").read_text())[1]) << 10
        resource.prlimit(worker, resource.RLIMIT_AS, (size + (100 << 20), resource.RLIM_INFINITY))
        with pytest.raises(errors.OutOfMemoryError) as raised:
            for batch in batches:
                assert batch.mask.all()
        assert isinstance(raised.value, MemoryError) and raised.value.code == "out_of_memory" and str(path) in str(raised.value)
        assert not loader.bad_samples
        resource.prlimit(worker, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        # The worker tries again at once, so it may have failed once more before there was memory.
        with contextlib.suppress(errors.OutOfMemoryError):
            first = next(batches)
            assert int(first.mask.sum()) == 1
            batches = [first]
        assert sum(int(batch.mask.sum()) for batch in batches) == 1


@pytest.mark.parametrize("kind, options", [("GIF", {}), ("TIFF", {"compression": "tiff_lzw"}), ("WEBP", {"quality": 1, "method": 0})])
def test_a_worker_has_one_large_image_at_a_time(bale, kind, options, tmp_path):
    image = image_bytes(kind, (6000, 6000), **options)
    peaks = []
    for count in (1, 5):
        path = packed_files(bale, tmp_path / str(count), *[image] * count, name="x{}.png")
        with bl.Loader(path, 1, workers=1, transform=transforms.val(32)) as loader:
            assert sum(1 for _ in loader) == count
            status = pathlib.Path(f"/proc/{loader.worker_pids[0]}/status").read_text()
        peaks.append(int(re.search(r"VmHWM:\s+(\d+)", status)[1]) << 10)
    assert peaks[1] < peaks[0] + 6000 * 6000, peaks


def test_the_advice_for_an_archive_of_arrays_works(bale, tmp_path):
    numpy.savez(tmp_path / "x.npz", pixels=numpy.full((5, 8, 9, 3), 7, numpy.uint8), y=numpy.arange(5))
    line = bale("inspect", tmp_path / "x.npz").error_line()
    call = re.search(r"`(bale\.pack\(.*?, DST\))`", line)[1].replace('"images"', '"pixels"').replace('"labels"', '"y"')
    load = re.search(r"`(arrays = .*?)`", line)[1]
    script = f"import numpy, bale\nFILE, DST = {str(tmp_path / 'x.npz')!r}, {str(tmp_path / 'p')!r}\n{load}\n{call}\n"
    subprocess.run([sys.executable, "-c", script], check=True, env=ENVIRONMENT)
    dataset = bl.Dataset(tmp_path / "p")
    assert [dataset.label(i) for i in range(5)] == list(range(5))
