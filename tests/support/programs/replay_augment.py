"""Does to images what was drawn for them, by other means: torchvision on PIL images where this Python has it, else Pillow
alone by torchvision's definitions. Runs under any Python with numpy and Pillow, so as a program of its own.

A line of stdin is a job, a JSON object with `mode` and what that needs; answered by 8 bytes with the length of what
follows, and that (about: JSON, else raw values).
  about   {}                                                            -> {"pillow": VERSION, "torchvision": VERSION or null}
  train   {size: [W, H], filter, images: [{file, crop, flip, ...}]}     -> uint8 pixels
  eval    {size, short, filter, dtype, layout, normalize, images}       -> values
  whole   {images}                                                      -> uint8 pixels as they are decoded
  params  {image: [W, H], count, seed, jitter: [b, c, s, h]}            -> float64 rows x, y, w, h, order (4), factors (4)
"""
import json
import struct
import sys

import numpy as np
import PIL
from PIL import Image, ImageEnhance

try:
    import torch
    import torchvision
    from torchvision.transforms import functional as F
except ImportError:
    torchvision = None

MEAN = [0.485, 0.456, 0.406]
STDDEV = [0.229, 0.224, 0.225]
RESAMPLING = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


def adjust_hue(image, turn):
    """torchvision/transforms/_functional_pil.py."""
    hue, saturation, value = image.convert("HSV").split()
    turned = np.array(hue, dtype=np.uint8) + np.int32(turn * 255).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert("RGB")


if torchvision:
    MODES = {name: torchvision.transforms.InterpolationMode(name) for name in RESAMPLING}
    STEPS = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
else:
    STEPS = [
        lambda image, factor: ImageEnhance.Brightness(image).enhance(factor),
        lambda image, factor: ImageEnhance.Contrast(image).enhance(factor),
        lambda image, factor: ImageEnhance.Color(image).enhance(factor),
        adjust_hue,
    ]


def load(path):
    with Image.open(path) as image:
        return image.convert("RGB")


def train(job, image):
    picture = load(image["file"])
    width, height = job["size"]
    x, y, w, h = image["crop"]
    if torchvision:
        picture = F.resized_crop(picture, y, x, h, w, [height, width], MODES[job["filter"]])
        picture = F.hflip(picture) if image["flip"] else picture
    else:
        picture = picture.crop((x, y, x + w, y + h)).resize((width, height), RESAMPLING[job["filter"]])
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if image["flip"] else picture
    if image["jitter"]:
        for step in image["order"]:
            picture = STEPS[step](picture, image["factors"][step])
    if image["gray"]:
        if torchvision:
            picture = F.rgb_to_grayscale(picture, 3)
        else:
            picture = picture.convert("L").convert("RGB")
    return np.asarray(picture)


def resize_and_crop(picture, short, size, resampling):
    """torchvision's Resize(short) and CenterCrop(size)."""
    width, height = picture.size
    long = int(short * max(width, height) / min(width, height))
    picture = picture.resize((short, long) if width <= height else (long, short), resampling)
    left = int(round((picture.width - size[0]) / 2.0))
    top = int(round((picture.height - size[1]) / 2.0))
    return picture.crop((left, top, left + size[0], top + size[1]))


def to_bfloat16(values):
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def evaluate(job, image):
    picture = load(image["file"])
    size = job["size"]
    if torchvision:
        resize = torchvision.transforms.Resize(job["short"], interpolation=MODES[job["filter"]])
        picture = F.center_crop(resize(picture), [size[1], size[0]])
    else:
        picture = resize_and_crop(picture, job["short"], size, RESAMPLING[job["filter"]])
    pixels = np.asarray(picture)
    if job["dtype"] == "uint8":
        return pixels.transpose(2, 0, 1) if job["layout"] == "nchw" else pixels
    if torchvision:
        values = F.to_tensor(picture)
        values = F.normalize(values, MEAN, STDDEV) if job["normalize"] else values
        values = values if job["layout"] == "nchw" else values.permute(1, 2, 0).contiguous()
        values = values.to(getattr(torch, job["dtype"]))
        return values.view(torch.int16).numpy() if job["dtype"] == "bfloat16" else values.numpy()
    values = pixels.astype(np.float32) / np.float32(255)
    if job["normalize"]:
        values = (values - np.array(MEAN, np.float32)) / np.array(STDDEV, np.float32)
    values = values.transpose(2, 0, 1) if job["layout"] == "nchw" else values
    return to_bfloat16(values) if job["dtype"] == "bfloat16" else values.astype(job["dtype"])


def params(job):
    from torchvision.transforms import ColorJitter, RandomResizedCrop

    torch.manual_seed(job["seed"])
    image = Image.new("L", job["image"])
    crop = RandomResizedCrop(224)
    jitter = ColorJitter(*job["jitter"])
    ranges = (jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue)
    rows = np.empty((job["count"], 12))
    for row in rows:
        y, x, h, w = crop.get_params(image, crop.scale, crop.ratio)
        order, *factors = jitter.get_params(*ranges)
        row[:] = [x, y, w, h, *order.tolist(), *factors]
    return rows


def answer(job):
    if job["mode"] == "about":
        about = {"pillow": PIL.__version__, "torchvision": torchvision and torchvision.__version__}
        return json.dumps(about).encode()
    if job["mode"] == "params":
        return params(job).tobytes()
    work = {"train": train, "eval": evaluate, "whole": lambda _, image: np.asarray(load(image["file"]))}[job["mode"]]
    return b"".join(np.ascontiguousarray(work(job, image)).tobytes() for image in job["images"])


def main():
    for line in sys.stdin:
        result = answer(json.loads(line))
        sys.stdout.buffer.write(struct.pack("<q", len(result)) + result)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
