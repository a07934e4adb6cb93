"""The fake CUDA driver of the C++ tests (tests/support/fake_cuda), for scripts in processes of their own. It is found as the
real one is, by its name."""

from conftest import BUILD
from python_support import RAISES

FOLDER = BUILD / "tests" / "fake_cuda"
# By its name: PyPI's nvJPEG, which may be installed, does not know this driver.
ENVIRONMENT = {"LD_LIBRARY_PATH": str(FOLDER), "BALE_NVJPEG": "libnvjpeg.so.12"}

# For scripts: `fake`, the driver; `read(array)`, what is on the device by then; `tensor(capsule)`, what a DLPack capsule says;
# `raises(kind, words, call)`, as it says; `check()`, nothing went wrong.
PRELUDE = RAISES + '''
import ctypes
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

class Managed(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
def tensor(capsule):
    managed = Managed.from_address(pointer_of(capsule, b"dltensor"))
    managed.capsule = capsule  # whose memory it is
    return managed

def check():
    assert fake.fake_cuda_findings() == b"", fake.fake_cuda_findings()
'''
