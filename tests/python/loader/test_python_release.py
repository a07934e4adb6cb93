"""The end of a batch: the next one is opened in its slot without the GIL, whoever lets go of it and whenever."""
import pytest
from PIL import Image
from python_support import run_script


@pytest.fixture(scope="module")
def pack(bale, tmp_path_factory):
    """Two small images: batches of many rows are soon made."""
    root = tmp_path_factory.mktemp("release")
    for name in ("a", "b"):
        (root / "in" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8), (50, 100, 150)).save(root / "in" / name / "1.jpg")
    bale.pack(root / "in", root / "pack")
    return root / "pack"


HEAD = """
import gc, sys, threading, time
import bale
def loader(batch_size, **options):
    return bale.Loader(sys.argv[1], batch_size, workers=1, order=bale.Order(repeats=100_000), transform=bale.transforms.raw(), **options)
"""


def test_other_threads_run_while_a_batch_ends(pack):
    """Python switches threads only where the GIL is given back: a thread can then count only what happens in between."""
    run_script(HEAD + """
ticks, stop = 0, False
def tick():
    global ticks
    while not stop:
        ticks += 1
        time.sleep(0.0001)
sys.setswitchinterval(1000)
threading.Thread(target=tick, daemon=True).start()
during = 0
with loader(8192) as batches:
    for batch in batches:
        before = ticks
        batch = None
        during += ticks - before
        if during > 5 or batches.counters["batches"] == 24:
            break
stop = True
assert during > 0, during
""", pack)


@pytest.mark.parametrize("what", [
    "kept = [batch for batch, _ in zip(loader(8), range(6))]",                      # at the end of the interpreter
    "batches = iter(loader(8)); kept = next(batches); del batches",
    "cycle = [next(iter(loader(8)))]; cycle.append(cycle); del cycle; gc.collect()",  # by the collector
    "opened = loader(8); kept = next(iter(opened)).images; opened.close(); del opened, kept",
    """
def drop(held):
    while held:
        held.pop()
opened = loader(64)
for _ in range(20):
    held = [batch for batch, _ in zip(opened, range(4))]
    threads = [threading.Thread(target=drop, args=(held,)) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
""",
    """
def forever():
    while True:
        for batch in loader(8): pass
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
""",
    """
try:
    for batch in loader(8):
        raise KeyError("an error is on its way")
except KeyError as error:
    del batch
""",
], ids=["at exit", "view", "cycle", "closed", "threads", "daemon", "error"])
def test_released_by_any_thread(pack, what):
    assert run_script(HEAD + what + '\nprint("done")\n', pack) == "done\n"
