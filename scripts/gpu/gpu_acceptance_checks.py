"""The part of gpu_acceptance.py that asks whether batches on the device are right. Run as a program, it is one short epoch for
compute-sanitizer."""
import ctypes
import itertools
import os
import signal
import sys
import warnings

import numpy as np

import bale
from bale import transforms as T
from bale._cli import program_path

try:
    import torch
except ImportError:
    torch = None

OPTIONS = {"batch_size": 16, "seed": 3, "workers": 2}


def program():
    return program_path()


class FakeDevice:
    """Reads memory of tests/support/fake_cuda, in which nothing is ready before a stream says so."""

    def __init__(self):
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._driver.fake_cuda_read.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64]
        self._driver.fake_cuda_findings.restype = ctypes.c_char_p

    def array(self, exported):
        interface = exported.__cuda_array_interface__
        dtype = np.dtype(interface["typestr"])
        memory = np.empty(int(np.prod(interface["shape"])) * dtype.itemsize, "u1")
        assert self._driver.fake_cuda_read(memory.ctypes.data, interface["data"][0], memory.size, interface["stream"]) == 0
        return np.lib.stride_tricks.as_strided(memory.view(dtype), interface["shape"], interface["strides"])

    def check(self):
        assert self._driver.fake_cuda_findings() == b"", self._driver.fake_cuda_findings()


class TorchDevice:
    def array(self, exported):
        tensor = torch.from_dlpack(exported)
        if tensor.dtype == torch.bfloat16:
            tensor = tensor.view(torch.int16)
        return tensor.cpu().numpy()

    def check(self):
        torch.cuda.synchronize()


def bits(array):
    """For comparing bit for bit: bfloat16 comes as uint16 from one side and as int16 from the other."""
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.dtype.itemsize}")


def compare(device, host_batches, device_batches):
    for expected, batch in itertools.zip_longest(host_batches, device_batches):
        assert expected is not None and batch is not None, "other numbers of batches"
        assert np.array_equal(bits(device.array(batch.images)), bits(expected.images)), f"pixels of batch {expected.index}"
        assert np.array_equal(device.array(batch.labels), expected.labels), f"labels of batch {expected.index}"


def pair(spec, transform, **options):
    options = {**OPTIONS, "transform": transform, **options}
    host = bale.Loader(spec, **{name: value for name, value in options.items() if name != "device"})
    return host, bale.Loader(spec, **{"device": "cuda", **options})


def same_as_host(dtype, layout, size):
    def check(spec, device):
        host, loader = pair(spec, T.train(size, dtype=dtype, layout=layout, normalize=dtype != "uint8"))
        with host, loader:
            for _ in range(2):
                compare(device, host, loader)
    return check


def workers_convert(spec, device):
    host, loader = pair(spec, T.train(64, dtype="float16", layout="nchw", normalize=True), device=bale.Cuda(convert=False))
    with host, loader:
        compare(device, host, loader)


def kept(spec, device):
    host, loader = pair(spec, T.train(64))
    with host, loader:
        batches = list(loader)
        compare(device, host, batches)


def resumed(spec, device):
    host, loader = pair(spec, T.train(64))
    with host, loader:
        next(iter(loader))
        state = loader.state_dict()
        host.load_state_dict(state)
        loader.load_state_dict(state)
        compare(device, host, loader)


def mixed(spec, device):
    mix = T.Mix(mixup=0.8, cutmix=1.0)
    host, loader = pair(spec, T.train(64, dtype="float32", layout="nchw", normalize=True), mix=mix)
    with host, loader:
        compare(device, host, loader)


def worker_killed(spec, device):
    host, loader = pair(spec, T.train(64))
    with host, loader:
        batches = iter(loader)
        first = next(batches)
        if loader.worker_pids:
            os.kill(loader.worker_pids[0], signal.SIGKILL)
        compare(device, host, itertools.chain([first], batches))


def other_stream(spec, device):
    host, loader = pair(spec, T.train(64))
    stream = torch.cuda.Stream()
    with host, loader:
        for expected, batch in zip(host, loader):
            with torch.cuda.stream(stream):
                images = torch.from_dlpack(batch.images) + 0
                del batch
            stream.synchronize()
            assert np.array_equal(images.cpu().numpy(), expected.images)


def graph_refused(spec, device):
    with bale.Loader(spec, device="cuda", transform=T.train(64), **OPTIONS) as loader:
        batches = iter(loader)
        next(batches)
        torch.cuda.synchronize()
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        refused = None
        with torch.cuda.stream(stream):
            graph.capture_begin()
            try:
                import bale.torch as bt
                next(iter(bt.Loader(spec, 16, device="cuda", workers=1, transform=T.train(64))))
            except Exception as error:  # noqa: BLE001 - any refusal is right, silence is not
                refused = error
            finally:
                graph.capture_end()
        assert refused is not None, "a batch was delivered into a graph"


CHECKS = {f"{dtype}, {layout}, {size}": same_as_host(dtype, layout, size)
          for dtype, layout, size in itertools.product(("uint8", "float16", "float32"), ("nhwc", "nchw"), (64, 33))}
CHECKS |= {"converted by workers": workers_convert, "all batches kept": kept, "resumed": resumed, "mixup and cutmix": mixed,
           "a worker is killed": worker_killed}
WITH_TORCH = {"bfloat16, nchw, 64": same_as_host("bfloat16", "nchw", 64), "another stream": other_stream, "a captured graph": graph_refused}


def decoding(spec, is_fake):
    """How far images that the device decodes (nvJPEG) are from those of the workers, in 8-bit steps. The rows must be the same."""
    device = FakeDevice() if is_fake else TorchDevice()
    options = {**OPTIONS, "transform": T.train(224), "tail": "uneven", "reading": bale.Reading(persistent_workers=False)}
    differences, counters = [], {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with bale.Loader(spec, **options) as host, bale.Loader(spec, device=bale.Cuda(decode="device"), **options) as loader:
            for expected, batch in zip(host, loader, strict=True):
                assert np.array_equal(device.array(batch.labels), expected.labels), f"labels of batch {expected.index}"
                counters = loader.counters  # after the last batch nothing of the next epoch is decoded yet
                differences.append(np.abs(device.array(batch.images).astype(int) - expected.images.astype(int)))
        fallbacks = [str(one.message) for one in caught if "does not decode" in str(one.message)]
    device.check()
    values = np.concatenate([one.ravel() for one in differences])
    return {"share_decoded_by_the_device": round(counters["decoded_on_device"] / counters["samples"], 3),
            "mean_difference": round(float(values.mean()), 4), "largest_difference": int(values.max()),
            "share_of_values_that_differ": round(float((values > 0).mean()), 4), "refusal": fallbacks[0] if fallbacks else None}


def run(spec, is_fake):
    """{check: "ok", "not run: ..." or what is wrong}."""
    device = FakeDevice() if is_fake else TorchDevice()
    results = {}
    for name, check in {**CHECKS, **WITH_TORCH}.items():
        if is_fake and name in WITH_TORCH:
            results[name] = "not run: needs PyTorch and a GPU"
            continue
        try:
            check(str(spec), device)
            device.check()
            results[name] = "ok"
        except Exception as error:  # noqa: BLE001 - the page says what is wrong with each
            results[name] = f"{type(error).__name__}: {error}".replace("|", "/").replace("\n", " ")
    return results


if __name__ == "__main__":
    same_as_host("float16", "nchw", 64)(sys.argv[1], TorchDevice())
