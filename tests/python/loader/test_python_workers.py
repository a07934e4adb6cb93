"""Worker processes that cannot start, do not stay, or have less of a system than usual: training continues if it can, and ends
with a message that says why and what to do if it cannot."""
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import textwrap
import threading
import time

import pytest
from conftest import BUILD, SHIM
from python_support import ENVIRONMENT, command, is_gone, run_script, worker_pids

import bale as bl
from bale import transforms

WORKER = BUILD / "bin" / "bale-worker"
OPTIONS = {"workers": 2, "seed": 5, "transform": transforms.train(32)}
HEAD = """
    import ctypes, errno, os, signal, sys, threading, time
    import bale
    options = dict(workers=2, seed=5, transform=bale.transforms.train(32))

    def digests(loader):
        return [batch.images.tobytes() for batch in loader]

    def digests_with_two_kills(loader):
        found = []
        for step, batch in enumerate(loader):
            found.append(batch.images.tobytes())
            if step in (1, 5):
                replaced = loader.counters["workers_replaced"]
                os.kill(loader.worker_pids[0], signal.SIGKILL)
                while loader.counters["workers_replaced"] == replaced or len(loader.worker_pids) < 2:
                    time.sleep(0.005)
        return found
"""


@pytest.fixture(scope="module")
def expected(pack):
    with bl.Loader(pack, 4, **{**OPTIONS, "workers": 0}) as loader:
        return [batch.images.tobytes() for batch in loader]


def program(path, text):
    """A program in the worker's place; it counts its starts in the file STARTS next to it."""
    path.write_text(f'#!/bin/sh\necho start >> "{path.parent}/STARTS"\n{text}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def starts(folder):
    path = folder / "STARTS"
    return len(path.read_text().splitlines()) if path.exists() else 0


# --- workers that die before their first row

@pytest.mark.parametrize("end, reported", [
    ("echo 'libjpeg.so.62: cannot open shared object file' >&2; exit 127",
     "ended with code 127 before it had started: libjpeg.so.62: cannot open shared object file"),
    ("exit 0", "ended with code 0 before it had started"),
    ("kill -9 $$", r"was ended by signal 9 \(Killed\) before it had started"),
    ("kill -SYS $$", r"was ended by signal 31 \(Bad system call\) before it had started"),
])
@pytest.mark.parametrize("ignores", [False, True], ids=["", "SIGCHLD ignored"])
def test_workers_that_do_not_start(pack, tmp_path, monkeypatch, end, reported, ignores):
    monkeypatch.setenv("BALE_WORKER", str(program(tmp_path / "worker", end)))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN if ignores else signal.SIG_DFL)
    try:
        with bl.Loader(pack, 4, **OPTIONS) as loader:
            with pytest.raises(bl.Error, match=r"threads=True") as caught:
                next(iter(loader))
            assert starts(tmp_path) <= 16
            time.sleep(0.5)
            assert starts(tmp_path) <= 32  # until it is called once more
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert caught.value.code == "io" and str(tmp_path / "worker") in str(caught.value)
    if not ignores:
        caught.match(reported)
    else:
        caught.match("SIGCHLD")


def test_a_loader_continues_when_workers_start_again(pack, expected, tmp_path, monkeypatch):
    broken = program(tmp_path / "worker", f'test -e "{tmp_path}/mended" && exec "{WORKER}" "$@"; exit 3')
    monkeypatch.setenv("BALE_WORKER", str(broken))
    with bl.Loader(pack, 4, **OPTIONS) as loader:
        with pytest.raises(bl.Error, match="ended with code 3"):
            next(iter(loader))
        (tmp_path / "mended").touch()
        deadline = time.monotonic() + 60
        found = None
        while found is None and time.monotonic() < deadline:
            with contextlib.suppress(bl.Error):
                found = [batch.images.tobytes() for batch in loader]
    assert found == expected


def test_one_worker_that_does_not_start_stops_nobody(pack, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("BALE_WORKER", str(program(tmp_path / "worker", f'test "$2" = 1 && exit 3; exec "{WORKER}" "$@"')))
    with bl.Loader(pack, 4, **OPTIONS) as loader:
        for epoch in range(3):
            assert [batch.images.tobytes() for batch in loader] == expected or epoch
            time.sleep(0.5)
    assert starts(tmp_path) > 2  # it was tried again


def test_workers_that_start_slowly_are_waited_for_while_others_fail(pack, expected, tmp_path, monkeypatch):
    """Worker 0 starts only after worker 1 has failed more than five times, which ends a loader without any other worker."""
    wait = f'while test "$(wc -l < "{tmp_path}/STARTS")" -lt 8; do sleep 0.05; done'
    monkeypatch.setenv("BALE_WORKER", str(program(tmp_path / "worker", f'test "$2" = 1 && exit 3; {wait}; exec "{WORKER}" "$@"')))
    with bl.Loader(pack, 4, **OPTIONS) as loader:
        assert [batch.images.tobytes() for batch in loader] == expected


@pytest.mark.parametrize("ignore", ["signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
                                    "signal.signal(signal.SIGCHLD, lambda *_: reap())",
                                    "signal.signal(signal.SIGCHLD, signal.SIG_IGN), refuse(['pidfd_open'], errno.ENOSYS)"])
def test_a_trainer_that_ignores_sigchld_or_takes_all_statuses(pack, ignore):
    """Workers work, are replaced when they are killed, and end with the loader. Also on kernels before 5.3."""
    out = with_refused(f"""
    def reap():
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
    {ignore}
    with bale.Loader(sys.argv[1], 4, **{{**options, "workers": 0}}) as loader:
        expected = digests(loader)
    with bale.Loader(sys.argv[1], 4, prefetch=2, **options) as loader:
        assert digests_with_two_kills(loader) == expected and loader.counters["workers_replaced"] == 2, loader.counters
        assert not loader.bad_samples
        pids = loader.worker_pids
    print(*pids)
    """, pack)
    pids = out.split()
    assert len(pids) == 2 and all(is_gone(int(pid)) for pid in pids)


# --- a system that lacks something

@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2), (0, 1, 2, 3, 4, 5)], ids=str)
def test_standard_descriptors_that_are_closed(pack, tmp_path, closed):
    """As daemons have them."""
    result = tmp_path / "result"
    script = HEAD + f"""
    for number in {closed}:
        try:
            os.close(number)
        except OSError:
            pass
    found = []
    for workers in (0, 2):
        with bale.Loader(sys.argv[1], 4, **{{**options, "workers": workers}}) as loader:
            found.append(digests(loader))
            assert loader.counters["workers_replaced"] == 0
    with open(sys.argv[2], "w") as file:
        file.write(str(found[0] == found[1] and len(found[0]) == 10))
    os._exit(0)
    """
    subprocess.run(command(script, pack, result), env=ENVIRONMENT, timeout=60, stdin=subprocess.DEVNULL)
    assert result.read_text() == "True"


# A seccomp profile that refuses system calls by number with an error; it is inherited by workers.
REFUSE = """
    import struct
    SYSCALLS = {"x86_64": {"memfd_create": 319, "pidfd_open": 434, "close_range": 436},
                "aarch64": {"memfd_create": 279, "pidfd_open": 434, "close_range": 436}}
    def refuse(names, error):
        numbers = SYSCALLS[os.uname().machine]
        program = [(0x20, 0, 0, 0)]  # load the number
        for name in names:
            program += [(0x15, 0, 1, numbers[name]), (0x06, 0, 0, 0x00050000 | error)]
        program.append((0x06, 0, 0, 0x7FFF0000))
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
        filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
        if libc.prctl(22, 2, ctypes.byref(filter), 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
            print("no seccomp")
            raise SystemExit
"""


def with_refused(script, *args, **options):
    out = run_script(HEAD + REFUSE + script, *args, **options)
    if out == "no seccomp\n":
        pytest.skip("no seccomp filters here")
    return out


@pytest.mark.parametrize("names", [["pidfd_open"], ["memfd_create"], ["pidfd_open", "memfd_create"]], ids=" ".join)
@pytest.mark.parametrize("error", ["ENOSYS", "EPERM"])
def test_system_calls_that_are_refused(pack, names, error):
    out = with_refused(f"""
    with bale.Loader(sys.argv[1], 4, **{{**options, "workers": 0}}) as loader:
        expected = digests(loader)
    refuse({names}, errno.{error})
    with bale.Loader(sys.argv[1], 4, prefetch=2, **options) as loader:
        assert digests_with_two_kills(loader) == expected and loader.counters["workers_replaced"] == 2, loader.counters
        pids = loader.worker_pids
        with open("/proc/self/maps") as maps:  # a file of no name
            shared = [line.rstrip() for line in maps if "/dev/shm/" in line]
        assert bool(shared) == {"memfd_create" in names} and all(line.endswith(" (deleted)") for line in shared), shared
    with bale.Loader(sys.argv[1], 4, threads=True, **options) as loader:
        assert digests(loader) == expected
    print(*pids)
    """, pack)
    pids = out.split()
    assert len(pids) == 2 and all(is_gone(int(pid)) for pid in pids)


@pytest.mark.parametrize("refused", [[], ["close_range"]], ids=["close_range", "kernel before 5.9"])
def test_workers_keep_no_descriptor_of_the_program(pack, refused):
    """The other end of a pipe sees its end when the program closes it, although workers live."""
    out = with_refused(f"""
    refuse({refused}, errno.ENOSYS)
    import fcntl, select
    end, low = os.pipe()
    kept = fcntl.fcntl(low, fcntl.F_DUPFD, 100)  # inheritable, and above the descriptors that workers are given
    os.close(low)
    with bale.Loader(sys.argv[1], 4, **options) as loader:
        digests(loader)
        pids = loader.worker_pids
        os.close(kept)
        ended = select.select([end], [], [], 60)[0]  # a worker that had nothing to do may still be starting
        print(os.read(end, 1) if ended else "kept", len(pids), len(loader.worker_pids))
    """, pack)
    assert out == "b'' 2 2\n"


@pytest.mark.parametrize("limit", [16, 64])
def test_no_descriptor_above_those_of_workers(pack, limit):
    """No worker is given another file for the ring, the indexes or its program."""
    out = with_refused(f"""
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))
    taken = []
    while True:
        try:
            taken.append(os.dup(0))
        except OSError:
            break
    for fd in taken:
        if fd < 16:
            os.close(fd)
    try:
        digests(bale.Loader(sys.argv[1], 4, **options))
    except bale.Error as error:
        print(error.code, error)
    """, pack)
    assert out.startswith("io ") and "Too many open files" in out


def test_no_memory_to_share_at_all(pack):
    """Threads need none, and the message names them."""
    out = with_refused("""
    import resource
    refuse(["memfd_create"], errno.EPERM)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        bale.Loader(sys.argv[1], 4, **options)
    except bale.Error as error:
        assert error.code == "io"
        print(error)
    with bale.Loader(sys.argv[1], 4, threads=True, **options) as loader:
        print(len(digests(loader)))
    """, pack)
    message, batches = out.splitlines()
    assert "memfd_create: Operation not permitted" in message and "/dev/shm" in message and "threads=True" in message
    assert batches == "10"


@pytest.mark.parametrize("threads", [False, True])
def test_too_little_memory_for_batches(pack, threads):
    """The message has the bytes and what to change."""
    out = run_script(HEAD + """
    import re, resource
    threads = bool(int(sys.argv[2]))
    size = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 30), resource.RLIM_INFINITY))
    for batch_size, side in ((100_000, 224), (1 << 19, 16000)):
        try:
            options["transform"] = bale.transforms.train(side, dtype="float32")
            bale.Loader(sys.argv[1], batch_size, threads=threads, **options)
        except bale.Error as error:
            print(error.code, error)
        except ValueError as error:
            print("invalid_argument", error)
    options["transform"] = bale.transforms.train(32)
    with bale.Loader(sys.argv[1], 4, threads=threads, **options) as loader:
        print(len(digests(loader)))
    """, pack, int(threads))
    small, large, batches = out.splitlines()
    advice = "; use a smaller batch_size or prefetch"
    found = re.match(r"out_of_memory cannot map (\d+) bytes of memory for batches.*" + advice, small)
    assert found and int(found[1]) > 4 * 100_000 * 224 * 224 * 12, small
    assert re.match(r"invalid_argument 4 batches of \d+ bytes do not fit in memory.*" + advice, large) and batches == "10"


BOUND = HEAD + """
    started = os.sched_getaffinity(0)
    if "OMP_PROC_BIND" in os.environ:
        ctypes.CDLL("libgomp.so.1")  # as `import torch` loads it
    else:
        os.sched_setaffinity(0, {min(started)})
    bound = os.sched_getaffinity(0)
    with bale.Loader(sys.argv[1], 4, **options) as loader, bale.Loader(sys.argv[1], 4, threads=True, **options) as other:
        next(iter(loader)), next(iter(other))
        of_workers = [os.sched_getaffinity(pid) for pid in loader.worker_pids]
        of_threads = [os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")]
    assert os.sched_getaffinity(0) == bound and of_workers == [of_workers[0]] * 2
    of_run = []
    def feed():
        with open(sys.argv[2], "w") as names:  # when the run has opened it
            of_run.extend(os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task"))
            names.write(sys.argv[3])
    threading.Thread(target=feed).start()
    bale.pack(None, sys.argv[2] + ".out", files_from=sys.argv[2])
    assert of_threads.count(of_workers[0]) >= 2 and of_workers[0] in of_run and bound in of_run
    print(len(started), len(bound), len(of_workers[0]), bale.Loader(sys.argv[1], 4)._native.made.workers)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one core")
def test_threads_that_openmp_bound(pack, photos, tmp_path):
    """OMP_PROC_BIND has `import torch` bind the main thread to a core. What a user binds stays bound."""
    cores = len(os.sched_getaffinity(0))
    os.mkfifo(tmp_path / "list")
    def found(**env):
        shutil.rmtree(tmp_path / "list.out", ignore_errors=True)
        return [int(number) for number in run_script(BOUND, pack, tmp_path / "list", next(photos.rglob("*.JPEG")), LOCAL_WORLD_SIZE="", **env).split()]
    assert found(OMP_PROC_BIND="true") == [cores, 1, cores, cores]
    assert found() == [cores, 1, 1, 1]


# --- the package is replaced while it is in use

@pytest.mark.parametrize("then", ["removed", "another", "not executable"])
def test_a_program_that_is_replaced_during_training(pack, expected, tmp_path, monkeypatch, then):
    path = tmp_path / "bin" / "bale-worker"
    path.parent.mkdir()
    shutil.copy(WORKER, path)
    monkeypatch.setenv("BALE_WORKER", str(path))
    with bl.Loader(pack, 4, reading=bl.Reading(persistent_workers=False), **OPTIONS) as loader:
        for epoch in range(2):
            found = []
            for step, batch in enumerate(loader):
                found.append(batch.images.tobytes())
                if epoch == 0 and step == 0:
                    path.unlink()
                    if then == "another":
                        program(path, "exit 9")
                    elif then == "not executable":
                        path.write_text("half of a package")
                if step == 1:
                    os.kill(worker_pids(loader)[0], signal.SIGKILL)
                    deadline = time.monotonic() + 20
                    while loader.counters["workers_replaced"] <= epoch and time.monotonic() < deadline:
                        time.sleep(0.01)
            assert epoch or found == expected
        assert len(found) == 10 and loader.counters["workers_replaced"] == 2


def test_workers_have_their_name(pack):
    with bl.Loader(pack, 4, **OPTIONS) as loader:
        next(iter(loader))
        pid = worker_pids(loader)[0]
        name = pathlib.Path(f"/proc/{pid}/comm")
        deadline = time.monotonic() + 20
        while name.read_text() != "bale-worker\n" and time.monotonic() < deadline:
            time.sleep(0.01)  # it has only just been started
        assert name.read_text() == "bale-worker\n"
        assert pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].endswith(b"/bin/bale-worker")
        names = {os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 3)}
        assert names == {os.devnull, "/memfd:bale ring (deleted)"}


# --- storage that does not answer

@pytest.fixture
def stalled(tmp_path, monkeypatch):
    """As long as this file exists, reads of the shard wait in workers that are started now."""
    path = tmp_path / "stalled"
    for name, value in {"LD_PRELOAD": SHIM, "BALE_SHIM_STALL": ".tar", "BALE_SHIM_STALL_WHILE": path}.items():
        monkeypatch.setenv(name, str(value))
    return path


def test_a_stall_of_the_storage_condemns_no_sample(pack, expected, stalled):
    """Of several times stall_timeout_s, with every worker in it."""
    stalled.touch()
    with bl.Loader(pack, 4, reading=bl.Reading(stall_timeout_s=1), on_bad_sample="skip", **OPTIONS) as loader:
        timer = threading.Timer(3.5, stalled.unlink)
        timer.start()
        found = [batch.images.tobytes() for batch in loader]
        timer.join()
        assert found == expected and loader.bad_samples == [] and loader.counters["workers_replaced"] == 0


@pytest.mark.parametrize("threads", [False, True])
def test_storage_that_does_not_answer_is_reported(pack, stalled, threads):
    """With a sample that waits; who calls again goes on waiting, and gets the same batches."""
    out = run_script(HEAD + """
    with bale.Loader(sys.argv[1], 4, threads=sys.argv[3] == "True", prefetch=2, reading=bale.Reading(storage_timeout_s=0.5), **options) as loader:
        iterator = iter(loader)
        taken = 1 + (next(iterator) is None)
        open(sys.argv[2], "w").close()
        errors = 0
        while errors < 2:
            try:
                next(iterator)
                taken += 1  # it was ready
            except bale.Error as error:
                assert error.code == "retryable"
                errors += 1
                print(error)
        os.unlink(sys.argv[2])
        print(taken + len(digests(iterator)), loader.bad_samples)
    """, pack, stalled, threads, timeout=30, LD_PRELOAD=str(SHIM), BALE_SHIM_STALL=".tar", BALE_SHIM_STALL_WHILE=str(stalled))
    first, second, end = out.splitlines()
    assert re.search(r"\.tar: no data for this sample after 0.5 s \(key .*\)", first), first
    assert "no data for this sample" in second and end == "10 []"


# --- how many there are if nobody says


@pytest.mark.parametrize("are_late", [False, True])
def test_workers_end_when_their_process_becomes_another_program(pack, tmp_path, are_late):
    """Also those that have not begun to work."""
    late = program(tmp_path / "worker", f'sleep 0.3\nexec "{WORKER}" "$@"')
    (tmp_path / "look.py").write_text(textwrap.dedent("""
        import os, time
        end = time.monotonic() + 60
        try:
            while time.monotonic() < end:
                os.waitpid(-1, os.WNOHANG)
                time.sleep(0.02)
            print("alive")
        except ChildProcessError:
            print("gone")
        """))
    out = run_script(HEAD + """
    import pathlib, threading
    loader, folder, are_late = bale.Loader(sys.argv[1], 4, **options), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    thread = threading.Thread(target=lambda: next(iter(loader)), daemon=True)
    thread.start()
    while are_late and not ((folder / "STARTS").exists() and len((folder / "STARTS").read_text().splitlines()) == 2):
        time.sleep(0.01)
    if not are_late:
        thread.join()
    os.execv(sys.executable, [sys.executable, folder / "look.py"])
    """, pack, tmp_path, int(are_late), **({"BALE_WORKER": str(late)} if are_late else {}))
    assert out == "gone\n"


def test_signals_to_the_process_group_condemn_no_sample(pack, expected):
    """As Slurm's --signal=USR1@90 and a terminal send them."""
    out = run_script(HEAD + """
    os.setpgrp()
    signals = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGQUIT, signal.SIGRTMIN]
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    found = []
    with bale.Loader(sys.argv[1], 4, prefetch=2, **options) as loader:
        for step, batch in enumerate(loader):
            found.append(batch.images.tobytes())
            os.killpg(0, signals[step % len(signals)])
            time.sleep(0.02)
        assert not loader.bad_samples and loader.counters["workers_replaced"] > 0
    import hashlib
    print(hashlib.sha256(b"".join(found)).hexdigest())
    """, pack)
    assert out.strip() == hashlib.sha256(b"".join(expected)).hexdigest()
