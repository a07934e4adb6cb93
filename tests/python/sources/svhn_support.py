"""What SVHN's MAT-files hold, and a writer of such files that can make them wrong."""
import struct
import zlib

import numpy as np


def svhn_arrays():
    """X, height x width x 3 x N, and y, N x 1, of 12 images that are not square."""
    row, column, channel, number = np.indices((8, 6, 3, 12))
    images = (row * 29 + column * 7 + channel * 80 + number * 11) % 256
    labels = np.arange(12).reshape(-1, 1) % 10 + 1
    return images.astype(np.uint8), labels.astype(np.uint8)


def as_rows(images, labels):
    """The same as bale packs it: N x H x W x C, and digits."""
    return images.transpose(3, 0, 1, 2), labels[:, 0] % 10


def element(kind, data):
    if 0 < len(data) <= 4:
        return struct.pack("<HH", kind, len(data)) + data.ljust(4, b"\0")
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


TYPES = {"int8": 1, "uint8": 2, "int16": 3, "uint16": 4, "int32": 5, "uint32": 6, "float32": 7, "float64": 9}
CLASSES = {"float64": 6, "float32": 7, "int8": 8, "uint8": 9, "int16": 10, "uint16": 11, "int32": 12, "uint32": 13}


def matrix(name, array, stored=None):
    """`stored`: the type on disk, which may be smaller than the array's, as MATLAB writes whole numbers."""
    values = array.astype(stored or array.dtype)
    flags = element(6, struct.pack("<II", CLASSES[str(array.dtype)], 0))
    shape = element(5, struct.pack(f"<{array.ndim}i", *array.shape))
    return element(14, flags + shape + element(1, name.encode()) + element(TYPES[str(values.dtype)], values.tobytes(order="F")))


def compressed(matrix_bytes):
    data = zlib.compress(matrix_bytes)
    return struct.pack("<II", 15, len(data)) + data


HEADER = b"MATLAB 5.0 MAT-file, written by a test".ljust(124) + struct.pack("<HH", 0x0100, ord("M") << 8 | ord("I"))
