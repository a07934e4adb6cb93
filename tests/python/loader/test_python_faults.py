"""Workers that die, signals, exceptions, forks and the interpreter's end: no hang, nothing left behind, one clear message."""
import os
import signal
import subprocess
import time

import pytest
from conftest import on_terminal
from python_support import ENVIRONMENT, command, is_gone, run_script, worker_pids

import bale as bl
from bale import transforms

OPTIONS = {"workers": 2, "seed": 5, "transform": transforms.train(32)}
HEAD = """
    import os, signal, sys, time
    import bale
    options = dict(workers=2, seed=5, transform=bale.transforms.train(32))

    def worker_pids(loader):  # they are started one after the other, and the first batch may come before the last of them
        while len(loader.worker_pids) < options["workers"]:
            time.sleep(0.005)
        return loader.worker_pids
"""


def all_gone(pids):
    """Within some seconds."""
    deadline = time.monotonic() + 20
    while not all(map(is_gone, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def pids_in(text):
    return [int(word) for word in text.split()]


def test_a_killed_worker_goes_unseen(pack):
    with bl.Loader(pack, 4, **OPTIONS) as loader:
        expected = [batch.images.tobytes() for _ in range(3) for batch in loader]
    with bl.Loader(pack, 4, prefetch=2, **OPTIONS) as loader:
        found = []
        for _ in range(3):
            for step, batch in enumerate(loader):
                found.append(batch.images.tobytes())
                if step % 4 == 0:
                    os.kill(worker_pids(loader)[0], signal.SIGKILL)
                    deadline = time.monotonic() + 20
                    while loader.counters["workers_replaced"] < len(found) // 4 and time.monotonic() < deadline:
                        time.sleep(0.01)
        assert found == expected and loader.counters["workers_replaced"] >= 3


def interrupted(script, *args):
    """Runs a script until it prints a line, sends SIGINT, and gives its exit code, output and errors."""
    process = subprocess.Popen(command(script, *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=ENVIRONMENT)
    first = process.stdout.readline()
    time.sleep(0.2)  # so that it is waiting; too early is not a failure either
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, first + out, err


def test_an_interrupt_ends_the_wait(pack):
    """Workers that are stopped never deliver: without a look at signals next() would wait until they stall."""
    code, out, err = interrupted(HEAD + """
    loader = bale.Loader(sys.argv[1], 4, prefetch=2, **options)
    iterator = iter(loader)
    batch = next(iterator)
    pids = worker_pids(loader)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    del batch
    try:
        print(*pids, flush=True)
        taken = 1
        while True:
            next(iterator)
            taken += 1  # of those that were ready
    except KeyboardInterrupt:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        print(taken + sum(1 for _ in iterator) == 10)  # and may continue
    """, pack)
    pids, went_on = out.splitlines()
    assert code == 0 and went_on == "True", err
    assert all_gone(pids_in(pids))


def test_a_handler_may_save_the_state(pack):
    """As a scheduler's SIGTERM asks for; what would change the loader under next() is refused, in threads too."""
    out = run_script(HEAD + """
    import threading
    loader = bale.Loader(sys.argv[1], 4, prefetch=2, **options)
    iterator = iter(loader)
    next(iterator)
    seen = []

    def refused(change):
        try:
            change()
        except ValueError as error:
            seen.append("next()" in str(error) or "another thread" in str(error))

    def handler(*_):
        seen.append(loader.state_dict()["position"] % 4)
        refused(loader.close)
        thread = threading.Thread(target=lambda: refused(loader.state_dict))
        thread.start()
        thread.join()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def when_it_waits():  # batches that are ready come at once
        seen = 0
        while seen < 20:
            time.sleep(0.01)
            frame, names = sys._current_frames()[threading.main_thread().ident], []
            while frame:
                names.append(frame.f_code.co_name)
                frame = frame.f_back
            seen = seen + 1 if "__next__" in names else 0
        os.kill(os.getpid(), signal.SIGALRM)

    pids = worker_pids(loader)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    signal.signal(signal.SIGALRM, handler)
    threading.Thread(target=when_it_waits).start()
    steps = 1 + sum(1 for _ in iterator)
    print(steps, seen)
    """, pack)
    assert out == "10 [0, True, True]\n"


@pytest.mark.parametrize("workers", [0, 2])
def test_an_interrupt_ends_a_program(pack, workers):
    code, out, err = interrupted(HEAD + f"""
    options["workers"] = {workers}
    with bale.Loader(sys.argv[1], 4, **options) as loader:
        next(iter(loader))
        print(*worker_pids(loader), flush=True)
        while True:
            for batch in loader:
                pass
    """, pack)
    assert code == -signal.SIGINT and err.count("KeyboardInterrupt") >= 1
    assert all_gone(pids_in(out))


@pytest.mark.parametrize("phase", ["next(iter(loader))", "pass", "sum(1 for _ in loader)"])
def test_ctrl_c_on_a_terminal(pack, phase):
    """The signal goes to workers, too: none of them may print anything, and all end with the trainer."""
    process, terminal = on_terminal(command(HEAD + f"""
    loader = bale.Loader(sys.argv[1], 4, **options)
    {phase}
    print(*loader.worker_pids, flush=True)
    while True:
        for batch in loader:
            pass
    """, pack), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    pids = pids_in(process.stdout.readline())
    os.write(terminal, b"\x03")
    _, err = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt"), err
    assert all_gone(pids)


def test_a_small_shared_memory_file_system_is_enough(pack):
    """Containers have 64 MB there: the ring is not a file in it, and of more than that all slots are filled."""
    script = """
    import os, sys, bale
    loader = bale.Loader(sys.argv[1], 40, workers=2, prefetch=12, transform=bale.transforms.train(224))
    for _ in range(3):
        held = []
        for _ in range(8):
            held += list(loader)
        assert len({batch.images.ctypes.data for batch in held}) == 8
        assert not os.listdir("/dev/shm")
        del held
    print(sum(batch.images.nbytes for batch in loader) * 12 > 64 << 20)
    """
    mount = 'mount --bind "$0" /mnt && mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"'  # the pack may lie in /dev/shm
    if subprocess.run(["unshare", "--mount", "sh", "-c", mount, pack, "true"], capture_output=True).returncode != 0:
        pytest.skip("no right to mount here")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mount, pack, *command(script, "/mnt")], capture_output=True,
                          text=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr


def test_an_exception_in_the_loop(pack):
    out = run_script(HEAD + """
    loader = bale.Loader(sys.argv[1], 4, **options)
    try:
        for images, labels in loader:
            raise LookupError("of the caller")
    except LookupError as caught:
        print(*worker_pids(loader))
    print(len(list(len(batch) for batch in loader)))
    raise SystemExit(3)
    """, pack, code=3)
    pids, steps = out.splitlines()
    assert steps == "10" and all_gone(pids_in(pids))


@pytest.mark.parametrize("end", ["pass", "raise SystemExit(0)", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)",
                                 "keep = loader, iterator, batch, images; keep_too = [keep]; keep_too.append(keep_too)"])
def test_the_end_with_a_live_loader(pack, end):
    """Batches and views of them held, a cycle among them; every worker ends, and nothing is printed about it."""
    done = subprocess.run(command(HEAD + f"""
    loader = bale.Loader(sys.argv[1], 4, **options)
    iterator = iter(loader)
    batch = next(iterator)
    images = batch.images
    print(*worker_pids(loader), flush=True)
    {end}
    """, pack), capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == (-signal.SIGKILL if "SIGKILL" in end else 0) and done.stderr == ""
    assert len(pids_in(done.stdout)) == 2 and all_gone(pids_in(done.stdout))


def test_a_dropped_loader_ends_its_workers(pack):
    loader = bl.Loader(pack, 4, **OPTIONS)
    next(iter(loader))
    pids = worker_pids(loader)
    del loader
    assert len(pids) == 2 and all_gone(pids)


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_a_fork_leaves_the_parents_loader_alone(pack, end):
    """The child gets an error when it uses the loader; its end, and that of its copies of batches, changes nothing."""
    out = run_script(HEAD + f"""
    import gc
    loader = bale.Loader(sys.argv[1], 4, **options)
    iterator = iter(loader)
    batch = next(iterator)
    before = batch.images.tobytes()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        assert batch.images.tobytes() == before
        try:
            next(iterator)
        except ValueError as error:
            print("made in another process" in str(error), flush=True)
        loader.close()
        del batch, iterator, loader
        gc.collect()
        {end}
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    assert batch.images.tobytes() == before
    del batch
    print(sum(len(b) for b in iterator), len(worker_pids(loader)), loader.counters["workers_replaced"])
    """, pack)
    assert out.splitlines() == ["True", "0", "36 2 0"]


@pytest.mark.parametrize("threads", [False, True])
def test_a_batch_that_a_child_holds_is_its_own(pack, threads):
    """Neither what the parent's workers make next nor what the other process writes changes it."""
    out = run_script(HEAD + f"""
    loader = bale.Loader(sys.argv[1], 4, threads={threads}, fields={{"label": bale.Field("cls", kind="bytes")}}, **options)
    iterator = iter(loader)
    dropped, kept = next(iterator), next(iterator)
    def shown(batch):
        return batch.images.tobytes(), batch.indices.tolist(), batch.draw(0), batch.fields["label"].data.tobytes()
    before, of_kept = shown(dropped), shown(kept)
    (readable, ready), child = os.pipe(), os.fork()
    if child == 0:
        os.close(ready)
        os.read(readable, 1)
        print(shown(dropped) == before, flush=True)
        kept.images[:] = 7
        os._exit(0)
    del dropped
    for epoch in range(2):
        print(sum(len(b) for b in loader), flush=True)
    os.close(ready)
    os.waitpid(child, 0)
    print(shown(kept) == of_kept)
    """, pack)
    assert out.splitlines() == ["40", "40", "True", "True"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_variable_that_cannot_be_read_is_an_error(bale, photos, tmp_path, monkeypatch, workers):
    bale.pack(photos, tmp_path / "gz", "--layout", "gz")
    monkeypatch.setenv("BALE_SPILL_BYTES", "10GiB")
    with bl.Loader(tmp_path / "gz", 4, on_bad_sample="skip", **{**OPTIONS, "workers": workers}) as loader:
        with pytest.raises(bl.Error, match='BALE_SPILL_BYTES is "10GiB"; set it to a number of bytes$'):
            next(iter(loader))
        assert not loader.bad_samples


def test_a_worker_program_that_cannot_run(pack, tmp_path, monkeypatch):
    monkeypatch.setenv("BALE_WORKER", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match="worker program is not there"):
        next(iter(bl.Loader(pack, 4, **OPTIONS)))
    monkeypatch.setenv("BALE_WORKER", "/bin/false")
    with pytest.raises(bl.Error, match="a worker ended with code 1") as caught:
        next(iter(bl.Loader(pack, 4, **OPTIONS)))
    assert caught.value.code == "io"
