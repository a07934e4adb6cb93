"""Daemon threads that load (every background prefetcher) at the interpreter's end: it ends with the program's own exit code,
prints nothing and leaves no worker behind."""
import subprocess
import sys

import fake_cuda_support
import pytest
from conftest import by_tier
from python_support import ENVIRONMENT, SYSTEM_PYTHON, command, is_gone

HEAD = """
    import atexit, queue, sys, threading, time
    at_the_end = []  # runs when the Loaders are closed: bale is imported later
    atexit.register(lambda: [work() for work in at_the_end])
    import bale
    going = threading.Event()
    pids = []

    def small(batch_size=4, **options):
        return bale.Loader(sys.argv[1], batch_size, seed=5, transform=bale.transforms.train(32), **options)

    def end_while(iterate):
        threading.Thread(target=iterate, daemon=True).start()
        assert going.wait(60)
        time.sleep(0.1)  # so that the thread is anywhere
        print(*pids, flush=True)
        raise SystemExit(3)
"""

ITERATE = """
    loader = small(OPTIONS)
    def iterate():
        while True:
            for batch in loader:
                pids[:] = loader.worker_pids
                going.set()
    end_while(iterate)
"""


def ends_quietly(script, *args, python=sys.executable, **env):
    done = subprocess.run(command(HEAD + script, *args, python=python), capture_output=True, text=True, timeout=60,
                          env={**ENVIRONMENT, **env}, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (3, "")
    assert all(is_gone(int(word)) for word in done.stdout.split())


@pytest.mark.parametrize("options", ["workers=2", "workers=2, threads=True", "workers=0", "batch_size=40, workers=1"])
def test_a_thread_that_iterates(pack, options):
    for _ in range(by_tier(2, 20)):
        ends_quietly(ITERATE.replace("OPTIONS", options), pack)


def test_a_thread_that_waits_for_a_worker_that_stands_still(pack):
    ends_quietly("""
    import os, signal
    loader = small(workers=1, prefetch=2)
    def iterate():
        for batch in loader:
            pids[:] = loader.worker_pids
            os.kill(pids[0], signal.SIGSTOP)
            going.set()
    end_while(iterate)
    """, pack)


def test_a_prefetcher_whose_queue_is_full(pack):
    """It continues when its Loader is closed already, and gets no message."""
    ends_quietly("""
    loader = small(workers=1)
    batches = queue.Queue(2)
    def fill():
        while True:
            for batch in loader:
                batches.put(loader.counters)
                if batches.full():
                    going.set()
    def empty_it():
        while not batches.empty():
            batches.get()
        time.sleep(0.2)
    at_the_end.append(empty_it)
    end_while(fill)
    """, pack)


def test_a_thread_that_reads_samples(pack):
    ends_quietly("""
    dataset = bale.Dataset(sys.argv[1])
    def read():
        while True:
            for sample in dataset:
                going.set()
    end_while(read)
    """, pack)


def test_a_thread_that_wants_the_gil_while_modules_are_removed(pack):
    """Python up to 3.13 ends the thread then, wherever it is."""
    ends_quietly("""
    class Slow:
        def __del__(self, sleep=time.sleep):
            sleep(0.3)
    slow = Slow()
    dataset = bale.Dataset(sys.argv[1])
    def read():
        while True:
            dataset.read_many(range(len(dataset)))
            going.set()
    end_while(read)
    """, pack)


def test_a_thread_that_iterates_on_a_device(pack):
    ends_quietly(ITERATE.replace("OPTIONS", 'workers=1, device="cuda"'), pack, **fake_cuda_support.ENVIRONMENT)


def test_a_thread_that_iterates_a_torch_loader(pack):
    ends_quietly("""
    import bale.torch
    loader = bale.torch.Loader(sys.argv[1], 4, workers=1, transform=bale.transforms.train(32))
    def iterate():
        while True:
            for images, labels in loader:
                pids[:] = loader.worker_pids
                going.set()
    end_while(iterate)
    """, pack, python=SYSTEM_PYTHON)
