"""tests/nodes/check_nodes.py without namespaces: two processes, gloo on 127.0.0.1, a cache each, one of them is killed."""
import subprocess

import pytest
from conftest import LONG, REPO
from python_support import ENVIRONMENT, EXAMPLES_PYTHON, SYSTEM_PYTHON


@pytest.mark.parametrize("engine, python", [("loop", SYSTEM_PYTHON), *([("lightning", EXAMPLES_PYTHON)] if LONG else [])])
def test_two_nodes_on_loopback(tmp_path, engine, python):
    done = subprocess.run([python, REPO / "tests" / "nodes" / "check_nodes.py", "--loopback", "--engine", engine, "--work", tmp_path / "work"],
                          capture_output=True, text=True, timeout=300, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all checks passed" in done.stdout and done.stdout.count("ok ") >= 15
