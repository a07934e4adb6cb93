"""Pixels for files of images (picture_files.py, picture_tiffs.py)."""
import numpy as np
from image_support import picture
from PIL import Image

WIDTH, HEIGHT = 37, 23  # no multiple of anything


def photo(channels=3):
    image = picture(WIDTH, HEIGHT, channels)
    return Image.fromarray(image if channels > 1 else image[:, :, 0])


def colors(count, seed=0):
    """A picture with a palette of so many colors."""
    random = np.random.default_rng(seed)
    image = Image.fromarray(random.integers(0, count, (HEIGHT, WIDTH), dtype=np.uint8), "P")
    image.putpalette(random.integers(0, 256, count * 3, dtype=np.uint8).tobytes())
    return image


def wide(seed=0, top=65536):
    return np.random.default_rng(seed).integers(0, top, (HEIGHT, WIDTH), dtype=np.uint32).astype(np.uint16)


def noise(length, seed=0):
    return np.random.default_rng(seed).integers(0, 256, length, dtype=np.uint8).tobytes()


def stride(bits):
    return (WIDTH * bits + 31) // 32 * 4
