"""bale.launch on Ray of PyPI, on this machine. scripts/checks/check_engines.sh installs and runs this."""
import os
import signal
import subprocess

import pytest
from launch_support import ENGINES, PARTS, case, stopped_parts  # noqa: F401 - a fixture
from python_support import ENVIRONMENT, command, is_gone
from servers.network import wait_for

pytestmark = ENGINES

# argv: plan, program, options of pack_on_ray as JSON.
SCRIPT = """
import json, sys
import ray, bale.launch
ray.init(num_cpus=4, log_to_driver=False, include_dashboard=False, _node_ip_address="127.0.0.1")
report = bale.launch.pack_on_ray(sys.argv[1], 8, program=sys.argv[2], progress=True, **json.loads(sys.argv[3]))
assert ray.is_initialized()
print(report["samples"])
"""


@pytest.fixture
def environment(tmp_path):
    return {**ENVIRONMENT, "HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}


def test_a_worker_is_killed_in_the_middle_of_a_part(case, environment):  # noqa: F811
    """Ray gives the part to another worker, and what the killed one ran has ended."""
    program = case.faulty(3, STOP_AT=9)
    process = subprocess.Popen(command(SCRIPT, case.plan, program, "{}"), env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    (part,) = wait_for(lambda: stopped_parts(case.plan))
    (worker,) = [int(line.split()[1]) for line in open(f"/proc/{part}/status") if line.startswith("PPid:")]
    assert b"ray::" in open(f"/proc/{worker}/cmdline", "rb").read()
    os.kill(worker, signal.SIGKILL)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and out.splitlines()[-1] == "40", errors
    assert is_gone(part)
    assert case.attempts() == {part: 2 if part == 3 else 1 for part in range(PARTS)}
    assert "ray: 8 of 8 parts packed" in errors
    case.check()


def test_tasks_in_flight_are_bounded(case, environment):  # noqa: F811
    """Two parts that stop hold all other parts up, although there are four processors."""
    program = case.faulty(*range(PARTS), STOP_AT=9)
    process = subprocess.Popen(command(SCRIPT, case.plan, program, '{"in_flight": 2}'), env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    seen = set()
    while len(seen) < PARTS:
        parts = wait_for(lambda: len(stopped_parts(case.plan)) == min(2, PARTS - len(seen)) and stopped_parts(case.plan))
        assert len(case.attempts()) == len(seen) + len(parts)
        for part in parts:
            os.kill(part, signal.SIGCONT)
            wait_for(lambda part=part: is_gone(part))
        seen |= set(parts)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and out.splitlines()[-1] == "40", errors
    case.check()


def test_a_part_that_fails_each_time(case, environment):  # noqa: F811
    """The launch ends with its exit code and names it, the other parts are kept, and the next launch packs only that."""
    program = case.faulty(3, times=2, FAIL_AT=9, ERRNO=5)
    options = ["--parts", PARTS, "--retries", 1, "--program", program]
    environment["RAY_ADDRESS"] = "local"
    done = case.launch("ray", *options, code=1, env=environment)
    assert "1 of 8 parts not packed: 3: part 3 of 8: " in done.stderr and "Input/output error" in done.stderr
    assert "python -m bale.launch ray " in done.stderr
    assert case.missing() == "3" and case.attempts()[3] == 2
    done = case.launch("ray", *options, env=environment)
    assert "ray: 1 of 1 parts packed" in done.stderr and sum(case.attempts().values()) == PARTS + 2
    case.check()


def test_workers_that_are_killed_each_time(case, environment):  # noqa: F811
    script = case.folder / "deadly"
    script.write_text('#!/bin/sh\nkill -9 "$PPID"\n')
    script.chmod(0o755)
    words = command(SCRIPT, case.plan, script, '{"retries": 0}')
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1 and "8 of 8 parts not packed: 0-7: part " in done.stderr, done.stderr
    assert case.missing() == "0-7"
