"""What the tests of the Python package share: where it is built, and scripts that run in processes of their own."""
import os
import pathlib
import subprocess
import sys
import textwrap
import time

from conftest import BUILD, REPO

PACKAGE = BUILD / "python"
# Debian's, with torch and torchvision; or another one with newer ones, of the same minor version.
SYSTEM_PYTHON = os.environ.get("BALE_TORCH_PYTHON", "/usr/bin/python3")
# That of requirements-examples.txt: Lightning, timm, JAX, Streaming.
EXAMPLES_PYTHON = pathlib.Path(os.environ.get("BALE_TEST_EXAMPLES_PYTHON") or REPO / ".venv-examples" / "bin" / "python")
# Debian 13's torch is built without libuv, and looks for it unless a variable says otherwise (torchrun: see below).
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "USE_LIBUV": "0"}
# For scripts. `kind` may be a tuple of types.
RAISES = """
def raises(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
        return error
    raise SystemExit(f"no {kind}")
"""


def command(script, *args, python=sys.executable):
    return [python, "-c", textwrap.dedent(script), *map(str, args)]


def run_script(script, *args, python=sys.executable, code=0, timeout=400, **env):
    """Its standard output. A script that takes minutes is a hang."""
    done = subprocess.run(command(script, *args, python=python), capture_output=True, text=True, timeout=timeout,
                          env={**ENVIRONMENT, **env}, stdin=subprocess.DEVNULL)
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def torchrun(ranks, log_folder):
    """python ... SCRIPT ARGUMENT...: as so many ranks, on a port of their own. What they print has their names before it.
    (Torch 1.13 under Python 3.11 knows no "redirect nothing": it looks for a flag of value 0 by iterating over the flags.)"""
    return [str(REPO / "python" / "examples" / "torchrun_without_libuv.py"), "--nproc_per_node", str(ranks),
            "--rdzv_backend", "c10d", "--rdzv_endpoint", "127.0.0.1:0", "--redirects", "1", "--tee", "1", "--log_dir", str(log_folder)]


def is_gone(pid):
    """Ended; a zombie that nobody has waited for yet counts as ended."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def worker_pids(loader, workers=2):
    """Of all workers: they are started one after the other, and the first batch may be there before the last of them."""
    deadline = time.monotonic() + 20
    while len(loader.worker_pids) < workers:
        assert time.monotonic() < deadline, loader.worker_pids
        time.sleep(0.005)
    return loader.worker_pids
