"""python/examples/imagenet_ray.py with two processes (gloo): a process that is killed changes nothing of what is learned.
scripts/checks/check_engines.sh installs Ray and runs this."""
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from conftest import REPO
from launch_support import ENGINES
from PIL import Image
from python_support import ENVIRONMENT
from servers.network import wait_for

pytestmark = ENGINES

EXAMPLE = REPO / "python" / "examples" / "imagenet_ray.py"
COLORS = {"blue": (60, 60, 200), "green": (60, 200, 60), "red": (200, 60, 60), "yellow": (200, 200, 60)}
EPOCHS, STEPS = 12, 5


@pytest.fixture(scope="module")
def pack(bale, tmp_path_factory):
    """40 images that a network can tell apart after a few steps."""
    folder, out = (tmp_path_factory.mktemp("colors") / name for name in ("folder", "pack"))
    random = np.random.default_rng(1)
    for name, color in COLORS.items():
        (folder / name).mkdir(parents=True)
        for i in range(10):
            Image.fromarray(np.clip(random.normal(color, 25, (36, 48, 3)), 0, 255).astype(np.uint8)).save(folder / name / f"{i}.jpg")
    bale.pack(folder, out, "--shard-samples", "15")
    return out


def start(pack, home):
    words = [sys.executable, EXAMPLE, pack, pack, "--storage", home / "runs", "--size", 32, "--batch-size", 4, "--workers", 1,
             "--model", "resnet18", "--lr", 0.03, "--epochs", EPOCHS, "--checkpoint-every", 3]
    environment = {**ENVIRONMENT, "HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(map(str, words), env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def result(process):
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return out.splitlines()[-1]


def training_processes(home):
    """Of the run with this home directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/environ", "rb") as environment:
                if b"RayTrainWorker" in words.read() and f"HOME={home}".encode() in environment.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:  # it ended in the meantime
            pass
    return found


def test_a_killed_process_changes_nothing(pack, tmp_path):
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
    expected = result(start(pack, tmp_path / "undisturbed"))
    learned = re.fullmatch(rf"epoch {EPOCHS - 1} step {EPOCHS * STEPS} loss [\d.]+ accuracy (\d+)/40", expected)
    assert learned and int(learned[1]) > 20, expected
    process = start(pack, tmp_path / "killed")
    wait_for(lambda: [*(tmp_path / "killed" / "runs").glob("imagenet/checkpoint_*")], 120)
    processes = wait_for(lambda: training_processes(tmp_path / "killed"))
    assert len(processes) == 2
    os.kill(processes[0], signal.SIGKILL)
    assert result(process) == expected
