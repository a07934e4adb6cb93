"""Running the scripts of tests/python/pytorch/scripts, and comparing what two runs report."""
import json
import os
import pathlib
import re
import signal
import subprocess

import numpy as np
import pytest
from PIL import Image
from python_support import ENVIRONMENT

SCRIPTS = pathlib.Path(__file__).parent / "scripts"
COLORS = {"blue": (60, 60, 200), "gray": (128, 128, 128), "green": (60, 200, 60), "red": (200, 60, 60), "yellow": (200, 200, 60)}


@pytest.fixture(scope="module")
def photos_and_pack(bale, tmp_path_factory):
    """40 images in 5 classes that a small network can learn, as a folder and packed."""
    photos, pack = (tmp_path_factory.mktemp("scripts") / name for name in ("photos", "pack"))
    random = np.random.default_rng(1)
    for name, color in COLORS.items():
        (photos / name).mkdir(parents=True)
        for i in range(8):
            pixels = np.clip(random.normal(color, 60, (72, 96, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(photos / name / f"{i}.jpg")
    bale.pack(photos, pack, "--shard-samples", "15")
    return photos, pack


def report_of(output):
    """The last line that is one. (torchrun puts the rank's name before lines.)"""
    return json.loads(re.findall(r"^(?:\[default\d+\]:)?(\{.*\})$", output, re.MULTILINE)[-1])


def output_of(command, folder, environment, tries):
    """Its stdout. A command that hangs is killed with all that it started, and run again if `tries` says so."""
    for left in reversed(range(tries)):
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                              env=environment, start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=300)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                assert left, f"not finished in time: {command}\n{out}\n{err}"
                continue
        assert process.returncode == 0, f"exit {process.returncode}\n{out}\n{err}"
        return out


def reports_of(command, photos_and_pack, folder, *args, **env):
    """Of a command with a DataLoader and with bale. A DataLoader forks its workers next to threads, and may hang."""
    reports = []
    for more, tries in (([], 2), (["--bale"], 1)):
        whole = [*map(str, [*command, *photos_and_pack, *more, *args])]
        reports.append(report_of(output_of(whole, folder, {**ENVIRONMENT, "OMP_NUM_THREADS": "1", **env}, tries)))
    return reports


def assert_same(ours, theirs, where="report"):
    """Losses differ by rounding, since sums are made in another order; all else is equal."""
    assert type(ours) is type(theirs), where
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), where
        for name in ours:
            assert_same(ours[name], theirs[name], f"{where}.{name}")
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), where
        for i, pair in enumerate(zip(ours, theirs)):
            assert_same(*pair, f"{where}[{i}]")
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-6), where
    else:
        assert ours == theirs, where
