"""bale.launch: parts on this machine and, with imitations of them, on Slurm, Ray, Spark and Kubernetes: the result is what one machine
packs, failed parts fail the launch, and only missing parts are packed. test_python_slurm.py and the like run the real engines."""
import os
import shlex
import signal
import subprocess
import sys
import threading
import time

import pytest
import yaml
from conftest import PROGRAM, REPO
from launch_support import PARTS, Case, case, stopped_parts  # noqa: F401 - a fixture
from python_support import ENVIRONMENT, PACKAGE, command, is_gone, run_script
from servers.network import wait_for

import bale as bl
import bale.launch

IMITATIONS = REPO / "tests" / "python" / "launch" / "imitations"
ENGINES = {"local": [], "ray": [], "spark": [], "slurm": ["--wait"]}


@pytest.fixture
def env(tmp_path):
    """Finds the imitations; and what sbatch's keeps."""
    (tmp_path / "slurm").mkdir()
    return {"PYTHONPATH": f"{PACKAGE}:{IMITATIONS}", "PATH": f"{IMITATIONS / 'bin'}:{os.environ['PATH']}", "RAY_IMITATION_AT_MOST": "4",
            "SLURM_IMITATION": str(tmp_path / "slurm")}


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_that_are_killed_are_tried_again(case, env, engine):  # noqa: F811
    program = case.faulty(2, 5, KILL_AT=9)
    done = case.launch(engine, "--parts", PARTS, "--program", program, *ENGINES[engine], env=env)
    case.check()
    assert case.attempts() == {part: 2 if part in (2, 5) else 1 for part in range(PARTS)}
    assert "merged: 40 samples in 20 shards" in done.stdout
    if engine in ("local", "ray"):
        assert f"{engine}: 8 of 8 parts packed" in done.stderr
    case.launch(engine, "--parts", PARTS, "--program", program, *ENGINES[engine], env=env)  # again: nothing is missing
    assert sum(case.attempts().values()) == PARTS + 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_that_fails_fails_the_launch(case, env, engine):  # noqa: F811
    """The others are packed if the engine continues; the command that is printed packs the rest."""
    program = case.faulty(2, 5, times=99, FAIL_AT=9, ERRNO=5)
    code = {"local": 1, "ray": 1}.get(engine, 5)
    done = case.launch(engine, "--parts", PARTS, "--program", program, *ENGINES[engine], code=code, env=env)
    array = case.missing()
    assert array == ("2-7" if engine == "spark" else "2,5")
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("bale: ")]
    count = 6 if engine == "spark" else 2
    assert f"{count} of 8 parts not packed: {array}: " in said
    reason = "array job 1 ended with exit code 1 (see slurm-1_*.out)" if engine == "slurm" else "part 2 of 8: "
    assert reason in said and ("Input/output error" in said) == (engine != "slurm")
    assert case.attempts()[2] == 4
    again = shlex.split(said.partition("run `")[2].rstrip("`"))
    assert again[:4] == ["python", "-m", "bale.launch", engine]
    subprocess.run([sys.executable, *again[1:]], check=True, env={**ENVIRONMENT, **env}, cwd=case.folder)
    case.check()


def test_one_part_per_shard_by_default(case):  # noqa: F811
    report = bale.launch.pack_locally(case.plan, progress=False)
    case.check()
    assert report["samples"] == 40 and report["outputs"][0]["shards"] == 20
    assert bale.launch.pack_locally(case.plan)["samples"] == 40  # it is there


@pytest.mark.parametrize("jobs, parts", [(3, 7), (50, 1)])
def test_parts_by_default_have_a_shard_per_job(case, jobs, parts, env):  # noqa: F811
    case.launch("slurm", "--jobs", jobs, env=env)
    case.check()
    options = (case.folder / "slurm" / "options-1").read_text().splitlines()
    assert f"--cpus-per-task={jobs}" in options
    assert f"--array={'0-%d' % (parts - 1) if parts > 1 else 0}" in options


def test_relative_plans_run_in_the_directory_of_the_launcher(bale, photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").symlink_to(photos)
    bale.ok("plan", "photos", "out", "-o", "x.plan", "--shard-samples", "9")
    assert bl.launch.pack_locally("x.plan")["samples"] == 40  # noqa: F823
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(ValueError, match="merge: .*relative to"):
        bl.launch.pack_locally("../x.plan")


@pytest.mark.parametrize("engine", ENGINES)
def test_skipped_samples_do_not_fail_a_part(bale, photos, fresh_copy, env, tmp_path, engine):
    folder = fresh_copy(photos)
    next(folder.rglob("*.JPEG")).write_bytes(b"no image")
    case = Case(bale, folder, tmp_path, "--on-error", "skip")
    case.launch(engine, "--parts", PARTS, *ENGINES[engine], code=4, env=env)
    case.check()


def test_parts_end_with_their_launcher(case):  # noqa: F811
    """They are stopped when it is killed, so they cannot end by themselves."""
    program = case.faulty(*range(PARTS), STOP_AT=9)
    script = "import sys, bale.launch\nbale.launch.pack_locally(sys.argv[1], 8, program=sys.argv[2], in_flight=2)"
    process = subprocess.Popen(command(script, case.plan, program), env=ENVIRONMENT)
    wait_for(lambda: len(stopped_parts(case.plan)) == 2)
    parts = stopped_parts(case.plan)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    wait_for(lambda: all(is_gone(pid) for pid in parts))
    bale.launch.pack_locally(case.plan, PARTS)
    case.check()


def test_parts_that_another_machine_shows_late(case):  # noqa: F811
    """As a network file system does: what succeeded is not reported as missing at once."""
    records, hidden = case.out / ".bale-partial", case.folder / "hidden"
    script = case.folder / "late"
    script.write_text(f'#!/bin/sh\n{PROGRAM} "$@" && [ -e {hidden}.done ] || mv {records} {hidden}\n')
    script.chmod(0o755)
    threading.Thread(target=lambda: (wait_for(hidden.exists), time.sleep(0.5), hidden.rename(records))).start()
    bale.launch.pack_locally(case.plan, 1, program=script)
    case.check()


def test_slurm_jobs(case, env, monkeypatch):  # noqa: F811
    """What is submitted: an array of the missing parts, and a merge after it, whose exit code says whether all is there."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    program = case.faulty(3, 4, 7, times=99, KILL_AT=9)
    jobs = bale.launch.submit_to_slurm(case.plan, PARTS, jobs=2, in_flight=3, retries=1, program=program, options=["--partition=cpu"])
    assert jobs == bale.launch.SlurmJobs("1", "2", PARTS, "0-7")
    kept = case.folder / "slurm"
    array, merge = ((kept / f"options-{job}").read_text().splitlines() for job in (1, 2))
    assert {"--array=0-7%3", "--requeue", "--cpus-per-task=2", "--partition=cpu", f"--chdir={os.getcwd()}"} <= set(array)
    assert {"--dependency=afterany:1", "--partition=cpu"} <= set(merge)
    assert (kept / "code-1").read_text() == "137" and case.attempts()[3] == 2
    assert (kept / "code-2").read_text() == "5" and "--array=3,4,7 " in (kept / "output-2").read_text()
    assert case.missing() == "3,4,7"
    assert bale.launch.submit_to_slurm(case.plan, PARTS) == bale.launch.SlurmJobs("3", "4", PARTS, "3,4,7")
    case.check()
    assert bale.launch.submit_to_slurm(case.plan, PARTS) == bale.launch.SlurmJobs(None, None, PARTS, "")


def test_slurm_refuses(case, env, tmp_path):  # noqa: F811
    for wait in ([], ["--wait"]):
        done = case.launch("slurm", *wait, "--", "--partition=none", code=1, env=env)
        assert "bale: sbatch: error: invalid partition specified: none" in done.stderr
        bare = {**env, "PATH": str(tmp_path)}
        assert "bale: sbatch not found" in case.launch("slurm", *wait, code=1, env=bare).stderr


def pods(manifest):
    """[words of the command] of the pods of a Job, as Kubernetes starts them: by (index, command)."""
    (job,) = yaml.safe_load_all(manifest)
    assert (job["apiVersion"], job["kind"], job["spec"]["completionMode"]) == ("batch/v1", "Job", "Indexed")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never" and job["spec"]["backoffLimitPerIndex"] == 3
    return [(index, container["command"]) for index in range(job["spec"]["completions"])], job


def test_kubernetes_pods(case):  # noqa: F811
    """A pod has its index in the environment and nothing else; parts that are missing get a Job of their own."""
    def run(pod, **env):
        index, words = pod
        path = f"{PROGRAM.parent}:{os.environ['PATH']}"
        return subprocess.run(words, env={"PATH": path, "JOB_COMPLETION_INDEX": str(index), **env}, capture_output=True).returncode
    options = ["--parts", PARTS, "--image", "example.org/bale:0.2", "--claim", "shared"]
    all_pods, job = pods(case.launch("kubernetes", *options, "--in-flight", 4).stdout)
    assert len(all_pods) == PARTS and job["spec"]["parallelism"] == 4 and job["metadata"]["name"] == "bale-x"
    assert [run(pod) for pod in all_pods if pod[0] not in (3, 5, 6)] == [0] * 5
    assert run(all_pods[3], LD_PRELOAD=str(PROGRAM.parents[1] / "tests" / "libbale_test_shim.so"), BALE_SHIM_FAIL_AT="9") == 1
    array = case.missing()
    assert array == "3,5,6"
    rest, job = pods(case.launch("kubernetes", *options, "--missing", array).stdout)
    assert len(rest) == 3 and job["spec"]["completions"] == 3
    assert [run(pod) for pod in rest] == [0, 0, 0]
    case.bale.ok("merge", case.plan)
    case.check()


@pytest.mark.parametrize("options", [{"missing": "8"}, {"missing": "3..5"}, {"missing": []}, {"missing": "5-3"}, {"jobs": 0}])
def test_kubernetes_refuses(options):
    with pytest.raises(ValueError, match="missing|at least 1"):
        bale.launch.kubernetes_manifest("/shared/x.plan", 8, image="i", claim="c", **options)
    with pytest.raises(ValueError, match="absolute path"):
        bale.launch.kubernetes_manifest("x.plan", 8, image="i", claim="c")


def test_bad_arguments(case, tmp_path):  # noqa: F811
    for options in ({"jobs": 0}, {"parts": 0}):
        with pytest.raises(ValueError, match="less than 1"):
            bale.launch.pack_locally(case.plan, **options)
    with pytest.raises(bl.Error, match="merge: .*no such file"):
        bale.launch.pack_locally(tmp_path / "nothing.plan")
    with pytest.raises(bl.Error, match="part [01] of 2: .*nothing: No such file"):
        bale.launch.pack_locally(case.plan, 2, program=tmp_path / "nothing")
    assert "only slurm takes options after --" in case.launch("local", "--", "--partition=x", code=2).stderr


@pytest.mark.parametrize("engine, package", [("ray", "ray"), ("spark", "pyspark")])
def test_an_engine_that_is_not_installed(case, engine, package):  # noqa: F811
    absent = case.folder / "absent"
    absent.mkdir()
    (absent / f"{package}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{package}'\", name='{package}')")
    done = case.launch(engine, code=1, env={"PYTHONPATH": f"{PACKAGE}:{absent}"})
    assert f"No module named '{package}': install {package}" in done.stderr


def test_engines_are_imported_when_they_are_used():
    out = run_script("""
        import sys, bale.launch
        print(sorted({"ray", "pyspark", "numpy", "torch"} & set(sys.modules)))
        assert "bale.launch._parts" in sys.modules
    """)
    assert out == "[]\n"
    assert run_script("import sys, bale\nprint('bale.launch' in sys.modules)") == "False\n"
