"""Images that tests make, as arrays and as files, and the PNG chunks that they add."""
import io
import struct
import zlib

import numpy as np
from PIL import Image


def picture(width, height, channels=3, seed=0):
    """Smooth gradients, hard edges and noise, so that every filter has something to get wrong."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    layers = [(x * 255 / max(width - 1, 1) + 40 * c) % 256 * 0.5 + ((x // 5 + y // 7 + c) % 2) * 90 +
              random.integers(0, 40, (height, width)) for c in range(channels)]
    return np.clip(np.stack(layers, axis=-1), 0, 255).astype(np.uint8)


def cmyk(width, height):
    bands = picture(width, height, channels=4)
    return Image.merge("CMYK", [Image.fromarray(np.ascontiguousarray(bands[:, :, i])) for i in range(4)])


def exif(orientation, byte_order="<"):
    tags = Image.Exif()
    tags[0x0112] = orientation
    tags[0x010E] = "a description that is to survive"
    tags[0x0131] = "software"
    tags.endian = byte_order
    return tags


def encoded(image, kind, **options):
    """What Pillow saves it as."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def jpeg(image, **options):
    return encoded(image, "JPEG", **{"quality": 92, **options})


def png(image, *chunks, **options):
    """Chunks go after IHDR, which ends 33 bytes into the file."""
    content = encoded(image, "PNG", **options)
    return content[:33] + b"".join(chunks) + content[33:]


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
