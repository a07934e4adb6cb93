"""The fake CUDA driver of the C++ tests (tests/support/fake_cuda), for scripts in processes of their own. It is found as the
real one is, by its name."""

from conftest import BUILD

FOLDER = BUILD / "tests" / "fake_cuda"
ENVIRONMENT = {"LD_LIBRARY_PATH": str(FOLDER)}

# For scripts: `fake`, the driver; `read(array, dtype)`, what is on the device by then; `check()`, nothing went wrong.
PRELUDE = '''
import numpy
fake = ctypes.CDLL("libcuda.so.1")
fake.fake_cuda_read.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64]
fake.fake_cuda_findings.restype = ctypes.c_char_p

def read_memory(address, shape, strides, dtype, stream=1):
    """What work on that stream would find, as an array of the host."""
    dtype = numpy.dtype(dtype)
    size = int(numpy.prod(shape)) * dtype.itemsize
    memory = numpy.empty(size, "u1")
    assert fake.fake_cuda_read(memory.ctypes.data, address, size, stream) == 0, fake.fake_cuda_findings()
    return numpy.lib.stride_tricks.as_strided(memory.view(dtype), shape, strides)

def read(array):
    interface = array.__cuda_array_interface__
    assert interface["version"] == 3 and interface["data"][1] is False
    return read_memory(interface["data"][0], interface["shape"], interface["strides"], interface["typestr"],
                       interface["stream"])

def check():
    assert fake.fake_cuda_findings() == b"", fake.fake_cuda_findings()
'''
