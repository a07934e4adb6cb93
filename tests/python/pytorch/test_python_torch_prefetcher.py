"""bale.torch.Prefetcher: what comes out, the loader's state behind it, and on a device the order of copies, waits and
letting go, which a device that only notes down what it is asked shows."""
import pytest
from torch_support import torch  # noqa: F401 - a fixture

PACK_OPTIONS = ["--shard-samples", "15"]
HEAD = """
    import collections, sys, weakref
    import torch
    import torch.utils.data
    import bale
    import bale.torch as bt
    import bale.torch._prefetcher as prefetcher

    PACK = sys.argv[1]

    def small(batch_size=8, **options):
        return bt.Loader(PACK, batch_size, **{"workers": 1, "seed": 5, "transform": bale.transforms.train(32), **options})
"""

# Tensors on the "device" lie on the host. An event is over once somebody waits for it, or at once where `quick` is set.
DEVICE = """
    class Stream:
        def __init__(self, device=None):
            self.name = "side"
        def wait_stream(self, other):
            log.append(("wait_stream", self.name, other.name))
        def wait_event(self, event):
            log.append(("wait", self.name, event.number))

    class Event:
        count = 0
        about_to_be_over = staticmethod(lambda number: None)
        def __init__(self):
            Event.count += 1
            self.number, self.over, self.recorded = Event.count, False, False
        def record(self, stream):
            self.recorded = True
            log.append(("record", stream.name, self.number))
        def query(self):
            assert self.recorded
            if Streams.quick:
                self.finish()
            return self.over
        def synchronize(self):
            assert self.recorded
            self.finish()
            log.append(("synchronize", self.number))
        def finish(self):
            if not self.over:
                Event.about_to_be_over(self.number)
            self.over = True

    class Streams:
        Stream, Event = Stream, Event
        quick = False
        main = Stream()
        main.name = "main"
        current = main
        @classmethod
        def current_stream(cls, device):
            return cls.current
        @staticmethod
        def stream(stream):
            class Within:
                def __enter__(self):
                    Streams.current, self.before = stream, Streams.current
                def __exit__(self, *_):
                    Streams.current = self.before
            return Within()

    class OnDevice(torch.Tensor):
        def record_stream(self, stream):
            log.append(("record_stream", stream.name))

    real_to = torch.Tensor.to
    def to(self, *args, **kwargs):
        if args and args[0] == torch.device(KIND):
            assert kwargs == {"non_blocking": True}
            log.append(("copy", Streams.current.name))
            return torch.Tensor.clone(self).as_subclass(OnDevice)
        return real_to(self, *args, **kwargs)
    torch.Tensor.to = to
    log = []
    setattr(torch, KIND, Streams)
"""


def device_of(kind):
    """A device of that kind of torch's, which has streams as torch.cuda and torch.xpu do."""
    return f"\n    KIND = {kind!r}" + DEVICE


@pytest.fixture(scope="module")
def run(pack, torch):
    return lambda script, head=HEAD: torch(head + script, pack)


def test_pixels_are_those_of_the_transforms(run):
    """Normalized here, or by the loader's workers: the same bits."""
    run("""
    for dtype, normalize in ((torch.float32, True), (torch.float16, True), (torch.bfloat16, ((0.5,) * 3, (0.25, 0.5, 1)))):
        name = str(dtype).split(".")[1]
        transform = bale.transforms.train(32, dtype=name, normalize=normalize)
        with small() as loader, small(transform=transform) as expected:
            ahead = bt.Prefetcher(loader, "cpu", normalize=normalize, dtype=dtype)
            assert len(ahead) == 5
            for (images, labels), (others, _) in zip(ahead, expected):
                assert images.dtype == dtype and images.is_contiguous(memory_format=torch.channels_last)
                assert torch.equal(images, others) and labels.dtype == torch.int64
    with small(transform=bale.transforms.train(32, layout="nchw")) as loader, small(
            transform=bale.transforms.train(32, dtype="float16")) as expected:
        for (images, _), (others, _) in zip(bt.Prefetcher(loader, "cpu", dtype=torch.float16), expected):
            assert torch.equal(images, others)
    with small(transform=bale.transforms.ragged()) as loader:
        images, labels = next(iter(bt.Prefetcher(loader, "cpu", normalize=True)))
        assert len(images) == 8 and all(image.shape[0] == 3 and image.dtype == torch.float32 for image in images)
    with small() as loader:
        images, _ = next(iter(bt.Prefetcher(loader, "cpu")))     # nothing to do: the slot itself
        assert images.dtype == torch.uint8
    """)


def test_batches_of_any_form(run):
    run("""
    Pair = collections.namedtuple("Pair", "image mask")
    image = torch.randint(0, 256, (2, 5, 6, 3), dtype=torch.uint8)
    mask = torch.randint(0, 256, (2, 3, 5, 6), dtype=torch.uint8)
    channels_first = image.movedim(-1, 1)
    expected = channels_first / 255

    def only(batch, **options):
        [got] = bt.Prefetcher([batch], "cpu", **{"dtype": torch.float32, **options})
        return got

    assert torch.equal(only(image), expected) and torch.equal(only(channels_first), expected)
    got = only(Pair(image, mask))
    assert type(got) is Pair and torch.equal(got.image, expected) and got.mask is mask
    got = only([image, {"mask": mask, "names": ["a", "b"]}, None, 3])
    assert type(got) is list and torch.equal(got[0], expected) and got[1]["mask"] is mask and got[1]["names"] == ["a", "b"]
    assert got[2:] == [None, 3]
    got = only({"image": image, "mask": mask})
    assert torch.equal(got["image"], expected) and got["mask"] is mask
    got = only({"id": torch.tensor([1, 2]), "photo": image}, images="photo")
    assert torch.equal(got["photo"], expected) and got["id"].dtype == torch.int64
    got = only((mask, image), images=1)
    assert got[0] is mask and torch.equal(got[1], expected)
    assert torch.equal(only(expected, dtype=torch.float16), expected.half())

    raises(ValueError, "give `images`", lambda: only((torch.arange(3), image)))
    raises(ValueError, "not uint8", lambda: only(expected, normalize=True))
    raises(ValueError, "nothing at images='x'", lambda: only({"image": image}, images="x"))
    raises(ValueError, "nothing at images=2", lambda: only((image, mask), images=2))
    raises(ValueError, "no images of 3 channels", lambda: only(torch.zeros(2, 4, 4, 4, dtype=torch.uint8)))
    raises(ValueError, "not a floating point", lambda: bt.Prefetcher([], "cpu", dtype=torch.int32))
    raises(ValueError, "three numbers", lambda: bt.Prefetcher([], "cpu", normalize=((1, 2), (3, 4))))
    """)


def test_it_looks_like_its_loader(run):
    run("""
    with small() as loader:
        ahead = bt.Prefetcher(loader, "cpu")
        assert ahead.dataset is loader.dataset and ahead.batch_size == 8 and ahead.drop_last is False and ahead.rank == 0
        assert ahead.sampler.num_replicas == 1 and ahead.num_workers == 1 and ahead.batch_sampler is None
        ahead.sampler.set_epoch(3)
        assert loader.epoch == 3 == ahead.epoch
        ahead.set_epoch(4)
        assert ahead.state_dict() == loader.state_dict() and loader.epoch == 4
        ahead.load_state_dict({**loader.state_dict(), "epoch": 5, "position": 16})
        assert len(ahead) == 5 and sum(1 for _ in ahead) == 3
    assert isinstance(ahead, bt.Prefetcher) and hasattr(type(ahead), "state_dict")

    class Told:
        def __init__(self):
            self.epochs = []
        def set_epoch(self, epoch):
            self.epochs.append(epoch)

    class Numbers(Told, torch.utils.data.Dataset):
        def __len__(self):
            return 6
        def __getitem__(self, i):
            return torch.tensor(i)

    class Order(Told, torch.utils.data.SequentialSampler):
        def __init__(self, data):
            Told.__init__(self)
            torch.utils.data.SequentialSampler.__init__(self, data)

    data = Numbers()
    plain = torch.utils.data.DataLoader(data, 4, sampler=Order(data))
    ahead = bt.Prefetcher(plain, "cpu")
    ahead.set_epoch(7)
    assert ahead.sampler.epochs == data.epochs == [7] and [len(batch) for batch in ahead] == [4, 2]
    assert not hasattr(ahead, "state_dict") and not hasattr(ahead, "load_state_dict") and not hasattr(ahead, "nonsense")
    bt.Prefetcher([], "cpu").set_epoch(1)
    raises(TypeError, "len", lambda: len(bt.Prefetcher(iter([]), "cpu")))
    """)


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
@pytest.mark.parametrize("quick", [False, True])
def test_streams_and_events(run, quick, kind):
    """Per batch: copied on the side stream, then its event; the work's stream waits for that before it gets the batch, and
    marks the memory as its own; the next copy is under way by then; the host's batch stays until its event is over."""
    run(f"\n    QUICK = {quick}" + """
    Streams.quick = QUICK
    host = []

    class Host(torch.Tensor):
        pass

    def alive():
        return [i for i, image in enumerate(host) if image() is not None]

    def is_kept(number):
        assert number - 1 in alive(), "let go of before its copy was over"
    Event.about_to_be_over = is_kept

    def batches():
        for i in range(5):
            assert alive() == ([] if QUICK or i == 0 else [i - 1]), "a batch more than a ring of two slots can spare"
            image = torch.full((2, 3, 4, 4), i, dtype=torch.uint8).as_subclass(Host)
            host.append(weakref.ref(image))
            log.append(("host", i))
            yield image, torch.tensor([i, i])
            del image

    ahead = bt.Prefetcher(batches(), KIND, dtype=torch.float32)
    for i, (images, labels) in enumerate(ahead):
        assert labels.tolist() == [i, i] and torch.equal(images.as_subclass(torch.Tensor), torch.full((2, 3, 4, 4), i / 255))
        log.append(("work", i))
    assert alive() == []

    for i in range(5):
        number = i + 1
        place = [log.index(step) for step in (("host", i), ("record", "side", number), ("wait", "main", number), ("work", i),
                                              ("synchronize", number))]
        assert place[:4] == sorted(place[:4]) and place[4] > place[1]
        copies = log[place[0] + 1:place[1]]
        assert copies == [("copy", "side")] * 2
        assert log[place[2] + 1:place[3]] == [("record_stream", "main")] * 2
        if i < 4:
            assert log.index(("record", "side", number + 1)) < place[3]      # the next one is under way
        if i < 3:
            assert log.index(("host", i + 2)) > place[3]                     # and no more than that
    """, HEAD + device_of(kind))


WITHOUT_STREAMS = """
    class OnDevice(torch.Tensor):
        pass
    real_to, copies = torch.Tensor.to, []
    def to(self, *args, **kwargs):
        if args and args[0] == torch.device(KIND):
            copies.append(kwargs)
            return torch.Tensor.clone(self).as_subclass(OnDevice)
        return real_to(self, *args, **kwargs)
    torch.Tensor.to = to
    with small() as loader, small() as expected:
        for number, ((images, labels), (others, theirs)) in enumerate(zip(bt.Prefetcher(loader, KIND), expected, strict=True)):
            assert isinstance(images, OnDevice) and torch.equal(images.as_subclass(torch.Tensor), others)
            assert torch.equal(labels.as_subclass(torch.Tensor), theirs)
            assert len(copies) == 2 * (number + 1)      # none ahead
    assert len(copies) == 10 and not any(options["non_blocking"] for options in copies)
"""
STREAMS = DEVICE.partition("    class OnDevice")[0]


@pytest.mark.parametrize("kind, module", [
    ("mps", ""),
    ("mps", STREAMS + "\n    torch.mps = Streams"),                                      # as PyTorch 2.15 may have them
    ("hpu", STREAMS + "\n    del Streams.stream\n    torch.hpu = Streams"),
    ("xpu", STREAMS + "\n    Streams.is_available = staticmethod(lambda: False)\n    torch.xpu = Streams"),
    ("vulkan", ""),
])
def test_a_device_without_streams(run, kind, module):
    """No module, one that lacks a part or has no device, or copies that must not be ahead: they are made when they are asked for."""
    run(f"\n    KIND = {kind!r}" + module + WITHOUT_STREAMS)


def test_tensors_without_record_stream(run):
    """As those of torch.xpu were: then copies wait for the work before them, whose memory they may get."""
    run("""
    def record_stream(self, stream):
        log.append(("refused",))
        raise NotImplementedError("Could not run 'aten::record_stream'")
    OnDevice.record_stream = record_stream
    for epoch in range(2):
        with small() as loader, small() as expected:
            for (images, labels), (others, theirs) in zip(bt.Prefetcher(loader, KIND), expected, strict=True):
                assert torch.equal(images.as_subclass(torch.Tensor), others)
        copies = [at for at, step in enumerate(log) if step[0] == "copy"][::2]
        waits = [log[at - 1] == ("wait_stream", "side", "main") for at in copies]
        assert waits == ([False] * 2 + [True] * 3 if epoch == 0 else [True] * 5), waits
        log_before, log[:] = list(log), []
        assert log_before.count(("refused",)) == (1 if epoch == 0 else 0)
    """, HEAD + device_of("xpu"))


def test_what_is_page_locked_for(run):
    run("""
    import types
    from bale.torch._copy_stream import can_pin
    def accelerator(kind):
        here = kind is not None
        return types.SimpleNamespace(is_available=lambda: here, current_accelerator=lambda: torch.device(kind) if here else None)
    torch.cuda.is_available = lambda: False
    if hasattr(torch, "accelerator"):
        del torch.accelerator
    assert not can_pin() and not small(pin_memory=True)._convert.pin
    for kind, can in ((None, False), ("mps", False), ("xpu", True), ("cpu", False)):
        torch.accelerator = accelerator(kind)
        assert can_pin() == can and small(pin_memory=True)._convert.pin == can and not small()._convert.pin, kind
    torch.accelerator = accelerator(None)
    torch.cuda.is_available = lambda: True
    assert can_pin() and small(pin_memory=True)._convert.pin
    """)


def test_what_a_broken_off_loop_leaves(run):
    run("""
    with small(4, prefetch=2) as loader:       # as few slots as there can be
        ahead = bt.Prefetcher(loader, "cuda", normalize=True)
        seen = [labels.tolist() for _, labels in ahead]
        assert len(seen) == 10
        loader.set_epoch(0)
        iterator = iter(ahead)
        next(iterator), next(iterator)
        iterator.close()
        recorded = {step[-1] for step in log if step[0] == "record"}
        assert recorded == {step[-1] for step in log if step[0] == "synchronize"}
        ahead.set_epoch(0)
        assert [labels.tolist() for _, labels in ahead] == seen
        ahead.set_epoch(0)
        old = iter(ahead)
        next(old)
        assert next(iter(ahead))[1].tolist() != seen[0]
        raises(RuntimeError, "void", lambda: next(old))

    # An error of the loader, or of the copy, comes after the batch before it, and nothing is let go early.
    def broken(last):
        yield torch.zeros(1, 3, 2, 2, dtype=torch.uint8)
        yield torch.ones(1, 3, 2, 2, dtype=torch.uint8)
        if last is None:
            raise OSError("gone")
        yield last
    for last, error, words in ((None, OSError, "gone"), (torch.zeros(2, 2), ValueError, "not uint8")):
        iterator = iter(bt.Prefetcher(broken(last), "cuda", normalize=True))
        next(iterator), next(iterator)
        raises(error, words, lambda: next(iterator))
        assert {step[-1] for step in log if step[0] == "record"} == {step[-1] for step in log if step[0] == "synchronize"}

    # What is on a device already was made by the work's stream, so the side waits for that.
    log.clear()
    next(iter(bt.Prefetcher([torch.zeros(1)], "cuda")))
    assert log[0] == ("copy", "side")
    log.clear()
    next(iter(bt.Prefetcher([torch.zeros(1, device="meta")], "cuda")))
    assert log[:2] == [("wait_stream", "side", "main"), ("copy", "side")]
    """, HEAD + device_of("cuda"))


def test_the_state_is_after_the_batch_that_was_given(run):
    run("""
    with small(4) as loader, small(4) as plain:
        ahead = bt.Prefetcher(loader, "cuda")
        assert ahead.state_dict() == plain.state_dict()
        for epoch in range(2):
            iterator = iter(plain)
            for images, labels in ahead:
                assert next(iterator)[1].tolist() == labels.tolist()
                assert ahead.state_dict() == plain.state_dict()
                state = ahead.state_dict()
            assert next(iterator, None) is None and ahead.state_dict() == plain.state_dict()
        # Broken off: what was read ahead counts as not taken.
        for number, (_, labels) in enumerate(ahead):
            if number == 3:
                break
        state = ahead.state_dict()
        assert state["position"] == 16 and loader.state_dict()["position"] == 20
        ahead.sampler.set_epoch(2)
        assert ahead.state_dict()["position"] == 0
        rest = [labels.tolist() for number, (_, labels) in enumerate(ahead) if number > 3]
    with small(4) as loader:
        ahead = bt.Prefetcher(loader, "cuda")
        ahead.load_state_dict(state)
        ahead.set_epoch(state["epoch"])
        assert [labels.tolist() for _, labels in ahead] == rest and len(rest) == 6
    """, HEAD + device_of("cuda"))
