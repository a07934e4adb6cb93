"""An exception between a batch and the loop that asked for it, as Ctrl-C raises it after any call: nothing is lost."""
import pytest
from torch_support import torch  # noqa: F401 - a fixture

HEAD = """
    import sys
    import bale
    import bale.torch as bt

    OPTIONS = {"batch_size": 2, "workers": 0, "seed": 3, "transform": bale.transforms.train(8)}
    MAKE = {
        "bale.Loader": lambda: bale.Loader(sys.argv[1], **OPTIONS),
        "bale.torch.Loader": lambda: bt.Loader(sys.argv[1], with_samples=True, **OPTIONS),
        "Prefetcher": lambda: bt.Prefetcher(bt.Loader(sys.argv[1], with_samples=True, **OPTIONS), "cpu", normalize=True),
    }

    def samples(batch):
        return batch.indices.tolist() if isinstance(batch, bale.Batch) else batch[2].indices.tolist()

    class Interrupt:
        '''Raises KeyboardInterrupt at the beginning of the n-th call of bale's Python, or at the end of one from there.'''
        def __init__(self, n):
            self.left = n
        def __call__(self, frame, event, arg):
            if event not in ("call", "c_return") or "/bale/" not in frame.f_code.co_filename:
                return
            self.left -= 1
            if self.left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt
"""


@pytest.fixture(scope="module")
def run(bale, tiny, tmp_path_factory, torch):
    pack = tmp_path_factory.mktemp("interrupts") / "pack"
    bale.pack(tiny, pack)
    return lambda script, *args: torch(HEAD + script, pack, *args)


@pytest.mark.parametrize("kind", ["bale.Loader", "bale.torch.Loader", "Prefetcher"])
def test_an_interrupt_anywhere_in_next_loses_no_batch(run, kind):
    """Its state is that of the batches the loop has, the same iterator continues with the next, and the next loop is the next epoch."""
    run("""
    make = MAKE[sys.argv[2]]
    loader, resumed = make(), make()
    loader.set_epoch(0)
    expected, following = ([samples(batch) for batch in loader] for _ in range(2))
    assert len(expected) == 3
    for taken in (0, 1):
        for n in range(1000):
            loader.set_epoch(0)
            batches = iter(loader)
            got = [samples(next(batches)) for _ in range(taken)]
            sys.setprofile(Interrupt(n))
            try:
                for batch in batches:
                    break
            except KeyboardInterrupt:
                pass
            else:
                break
            finally:
                sys.setprofile(None)
            resumed.load_state_dict(loader.state_dict())
            assert got + [samples(batch) for batch in resumed] == expected, (taken, n)
            assert got + [samples(batch) for batch in batches] == expected, (taken, n)
            assert [samples(batch) for batch in loader] == following, (taken, n)
        assert n > 5
    """, kind)
