"""Made pictures with known duplicates and defects."""
import io

import numpy
from PIL import Image


def picture(seed, size=(320, 240)):
    """A picture of soft spots, another one for each seed."""
    noise = numpy.random.default_rng(seed).integers(0, 256, (8, 10, 3), dtype=numpy.uint8)
    return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC)


def jpeg(image, quality=90, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, **options)
    return out.getvalue()


def cropped(image, share, across=0.5, down=0.5):
    width, height = int(image.width * share), int(image.height * share)
    left, top = int((image.width - width) * across), int((image.height - height) * down)
    return image.crop((left, top, left + width, top + height))


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def fill(folder, seeds, classes=("cat", "dog")):
    for i, seed in enumerate(seeds):
        write(folder / classes[i % len(classes)] / f"{seed:03}.jpg", jpeg(picture(seed)))
    return folder
