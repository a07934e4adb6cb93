"""bale.launch on a Slurm cluster of one node: Debian's slurmctld, slurmd and munged. scripts/checks/check_engines.sh installs and runs this."""

import pytest
from launch_support import ENGINES, PARTS, case  # noqa: F401 - a fixture
from servers.network import wait_for
from servers.slurm import PACKAGES, Slurm, is_installed

pytestmark = ENGINES


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    assert is_installed(), PACKAGES
    cluster = Slurm(tmp_path_factory.mktemp("slurm"))
    with cluster.running():
        yield cluster


def submit(slurm, case, *options):  # noqa: F811
    """Ids of the array job and of the merge job."""
    done = case.launch("slurm", "--parts", PARTS, *options, env=slurm.environment)
    array, merge = done.stdout.splitlines()
    return array.split()[2].rstrip(":"), merge.split()[2].rstrip(":")


def states(jobs):
    return [(job["JobState"], job["ExitCode"], int(job["Restarts"])) for job in jobs]


def test_two_of_eight_parts_are_killed_and_requeued(slurm, case):  # noqa: F811
    """The dataset is that of one machine, and the merge job waited for the tasks that ran again. The last task has the job id of the
    whole array, which must not run again with it."""
    array, merge = submit(slurm, case, "--program", case.faulty(2, 7, KILL_AT=9))
    tasks = slurm.wait(array)
    assert states(tasks) == [("COMPLETED", "0:0", 1 if part in (2, 7) else 0) for part in range(PARTS)]
    assert states(slurm.wait(merge)) == [("COMPLETED", "0:0", 0)]
    case.check()
    assert case.attempts() == {part: 2 if part in (2, 7) else 1 for part in range(PARTS)}
    output = (case.folder / f"slurm-{array}_2.out").read_text()
    assert "part 2: exit code 137; requeued" in output
    assert case.launch("slurm", "--parts", PARTS, env=slurm.environment).stdout == "all parts are packed and merged\n"


def test_failed_parts_are_failed_jobs(slurm, case):  # noqa: F811
    """Exit codes are bale's. The merge job names the missing parts, and the next array has only those."""
    program = case.faulty(3, 4, 7, times=99, FAIL_AT=9, ERRNO=5)
    array, merge = submit(slurm, case, "--program", program, "--retries", 1)
    failed, packed = ("FAILED", "1:0", 1), ("COMPLETED", "0:0", 0)
    assert states(slurm.wait(array)) == [failed if part in (3, 4, 7) else packed for part in range(PARTS)]
    assert states(slurm.wait(merge)) == [("FAILED", "5:0", 0)]
    output = (case.folder / f"slurm-{merge}.out").read_text()
    assert "missing of 8 parts: 3,4,7" in output and "sbatch --array=3,4,7 " in output
    assert "Input/output error" in (case.folder / f"slurm-{array}_3.out").read_text()
    assert case.missing() == "3,4,7"
    done = case.launch("slurm", "--parts", PARTS, "--in-flight", 1, "--", "--time=10", env=slurm.environment)
    assert "parts 3,4,7 of 8" in done.stdout
    array, merge = (line.split()[2].rstrip(":") for line in done.stdout.splitlines())
    assert [(job["ArrayTaskId"], job["JobState"], job["TimeLimit"]) for job in slurm.wait(array)] == [
        (part, "COMPLETED", "00:10:00") for part in "347"]
    assert states(slurm.wait(merge)) == [("COMPLETED", "0:0", 0)]
    case.check()


def test_a_task_that_an_administrator_requeues(slurm, case):  # noqa: F811
    """As when a node is drained: it is ended in the middle and starts again."""
    array, merge = submit(slurm, case, "--program", case.faulty(1, STOP_AT=9))
    wait_for(lambda: (case.folder / "attempts").exists() and len(case.attempts()) == PARTS)
    slurm.run("scontrol", "requeue", f"{array}_1")
    tasks = slurm.wait(array)
    assert states(tasks)[1] == ("COMPLETED", "0:0", 1)
    assert states(slurm.wait(merge)) == [("COMPLETED", "0:0", 0)]
    case.check()


@pytest.mark.parametrize("killed", [False, True])
def test_waiting(slurm, case, killed):  # noqa: F811
    options = ["--wait", "--retries", 0, "--program", case.faulty(6, times=1 if killed else 0, KILL_AT=9)]
    done = case.launch("slurm", "--parts", PARTS, *options, code=5 if killed else 0, env=slurm.environment)
    if killed:
        assert "1 of 8 parts not packed: 6: array job " in done.stderr and "exit code 137" in done.stderr
        assert case.missing() == "6"
        case.launch("slurm", "--parts", PARTS, *options, env=slurm.environment)
    case.check()


def test_slurm_refuses(slurm, case):  # noqa: F811
    done = case.launch("slurm", "--parts", PARTS, "--", "--partition=none", code=1, env=slurm.environment)
    assert "Invalid partition" in done.stderr
    assert not case.out.exists()
