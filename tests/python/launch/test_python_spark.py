"""bale.launch on PySpark's local-cluster: two executors, each a process of its own. scripts/checks/check_engines.sh installs and runs this."""
import os

import pytest
from launch_support import ENGINES, PARTS, case  # noqa: F401 - a fixture

pytestmark = ENGINES

OPTIONS = ["--parts", PARTS, "--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false",
           "--conf", "spark.executorEnv.PYTHONPATH=" + os.environ.get("PYTHONPATH", "")]


@pytest.fixture
def env(tmp_path):
    return {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(tmp_path / "spark"), "SPARK_WORKER_DIR": str(tmp_path / "spark-work")}


def test_a_failing_task_is_tried_again(case, env):  # noqa: F811
    done = case.launch("spark", *OPTIONS, "--program", case.faulty(3, 6, KILL_AT=9), env=env)
    assert case.attempts() == {part: 2 if part in (3, 6) else 1 for part in range(PARTS)}
    assert "merged: 40 samples in 20 shards" in done.stdout
    case.check()


def test_a_part_that_fails_each_time(case, env):  # noqa: F811
    """The Spark job fails, and so does the launch, which names what is missing. The next one packs only that."""
    program = case.faulty(3, times=4, FAIL_AT=9, ERRNO=5)
    done = case.launch("spark", *OPTIONS, "--program", program, code=5, env=env)
    assert " of 8 parts not packed: 3" in done.stderr and "part 3 of 8: " in done.stderr and "Input/output error" in done.stderr
    assert case.missing().startswith("3") and case.attempts()[3] == 4
    before = sum(case.attempts().values())
    case.launch("spark", *OPTIONS, "--program", program, env=env)
    assert case.attempts()[3] == 5 and sum(case.attempts().values()) < before + PARTS
    case.check()
