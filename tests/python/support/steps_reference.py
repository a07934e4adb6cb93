"""Steps on arrays by other means: torchvision's functional transforms on PIL images where this Python has it, else Pillow
alone by torchvision's definitions. Also a program, for a Python of its own: a line of stdin is a job, {"steps", "shape"},
followed by the pixels; answered by 12 bytes with the shape of the result, and its pixels.
"""
import json
import struct
import sys

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

try:
    from torchvision.transforms import functional as F
except ImportError:
    F = None

SAMPLING = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def fill_of(step, image):
    fill = step.get("fill", [0, 0, 0])
    return tuple(fill) if image.mode == "RGB" else fill[0]


def sampling_of(step, image, name="sampling", default="nearest"):
    return SAMPLING[step.get(name, default) if image.mode == "RGB" else "nearest"]


def crop(image, step):
    left, top = step["left"], step["top"]
    return image.crop((left, top, left + step["width"], top + step["height"]))


def pad(image, step):
    sides = [step["left"], step["top"], step["right"], step["bottom"]]
    mode = step.get("mode", "constant")
    if F:
        return F.pad(image, sides, fill_of(step, image), mode)
    if mode == "constant":
        return ImageOps.expand(image, tuple(sides), fill_of(step, image))
    array = np.asarray(image)
    around = [(sides[1], sides[3]), (sides[0], sides[2])] + [(0, 0)] * (array.ndim - 2)
    return Image.fromarray(np.pad(array, around, mode))


def resize(image, step):
    return image.resize((step["width"], step["height"]), sampling_of(step, image, "filter", "bilinear"))


def rotate(image, step):
    center = step.get("center")
    return image.rotate(step["angle"], sampling_of(step, image), step.get("expand", False), tuple(center) if center else None,
                        fillcolor=fill_of(step, image))


def affine(image, step):
    return image.transform(image.size, Image.Transform.AFFINE, step["matrix"], sampling_of(step, image),
                           fillcolor=fill_of(step, image))


def perspective(image, step):
    return image.transform(image.size, Image.Transform.PERSPECTIVE, step["coefficients"],
                           sampling_of(step, image, default="bilinear"), fillcolor=fill_of(step, image))


def hue(image, step):
    h, s, v = image.convert("HSV").split()
    turned = np.array(h, dtype=np.uint8) + np.int32(step["turn"] * 255).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned), s, v)).convert("RGB")


def solarize_add(image, step):
    add, threshold = step["add"], step.get("threshold", 128)
    return image.point([min(255, i + add) if i < threshold else i for i in range(256)] * 3)


def posterize(image, step):
    if step["bits"] == 0:  # Pillow 13 refuses it, torchvision's tensors and earlier versions do not
        return Image.new(image.mode, image.size)
    return ImageOps.posterize(image, step["bits"])


def gaussian_blur(image, step):
    array = np.asarray(image).astype(np.float64)
    weights = []
    for size, sigma in ((step["kernel_height"], step["sigma_y"]), (step["kernel_width"], step["sigma_x"])):
        at = np.arange(size) - (size - 1) / 2
        kernel = np.exp(-0.5 * (at / sigma) ** 2)
        weights.append(kernel / kernel.sum())
    for axis, kernel in enumerate(weights):
        margin = len(kernel) // 2
        padded = np.pad(array, [(margin, margin) if a == axis else (0, 0) for a in range(3)], "reflect")
        taken = [np.take(padded, range(i, i + array.shape[axis]), axis) for i in range(len(kernel))]
        array = sum(weight * part for weight, part in zip(kernel, taken))
    return Image.fromarray(np.clip(np.rint(array), 0, 255).astype(np.uint8))


def torch_gaussian_blur(image, step):
    return F.gaussian_blur(image, [step["kernel_width"], step["kernel_height"]], [step["sigma_x"], step["sigma_y"]])


def erase(image, step):
    if step.get("converted", True):
        return image
    array = np.array(image)
    array[step["top"] : step["top"] + step["height"], step["left"] : step["left"] + step["width"]] = step["value"]
    return Image.fromarray(array)


def mixture(image, step):
    total = np.float32(step["share"]) * np.asarray(image).astype(np.float32)
    for weight, chain in zip(step["weights"], step["chains"]):
        total += np.float32(weight) * np.asarray(run(image, chain)).astype(np.float32)
    return Image.fromarray(np.clip(total, 0, 255).astype(np.uint8))


GEOMETRY = {
    "Crop": crop,
    "Pad": pad,
    "Resize": resize,
    "HorizontalFlip": lambda image, step: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "VerticalFlip": lambda image, step: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
    "Rotate": rotate,
    "Affine": affine,
    "Perspective": perspective,
}
COLORS = {
    "Brightness": lambda image, step: ImageEnhance.Brightness(image).enhance(step["factor"]),
    "Contrast": lambda image, step: ImageEnhance.Contrast(image).enhance(step["factor"]),
    "Saturation": lambda image, step: ImageEnhance.Color(image).enhance(step["factor"]),
    "Sharpness": lambda image, step: ImageEnhance.Sharpness(image).enhance(step["factor"]),
    "Hue": hue,
    "Grayscale": lambda image, step: image.convert("L").convert("RGB"),
    "Invert": lambda image, step: ImageOps.invert(image),
    "Solarize": lambda image, step: ImageOps.solarize(image, step["threshold"]),
    "SolarizeAdd": solarize_add,
    "Posterize": posterize,
    "Equalize": lambda image, step: ImageOps.equalize(image),
    "AutoContrast": lambda image, step: ImageOps.autocontrast(image),
    "PermuteChannels": lambda image, step: Image.fromarray(np.asarray(image)[:, :, step["order"]]),
    "GaussianBlur": torch_gaussian_blur if F else gaussian_blur,
    "PillowGaussianBlur": lambda image, step: image.filter(ImageFilter.GaussianBlur(step["radius"])),
    "Erase": erase,
    "Mixture": mixture,
}


def run(image, steps):
    for step in steps:
        if step["name"] in GEOMETRY:
            image = GEOMETRY[step["name"]](image, step)
        elif image.mode == "RGB":
            image = COLORS[step["name"]](image, step)
    return image


def apply(steps, array):
    """The array after the steps, with as many dimensions."""
    image = Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)
    result = np.asarray(run(image, steps))
    return result.reshape(result.shape[0], result.shape[1], array.shape[2])


def main():
    for line in sys.stdin.buffer:
        job = json.loads(line)
        height, width, channels = job["shape"]
        pixels = sys.stdin.buffer.read(height * width * channels)
        result = apply(job["steps"], np.frombuffer(pixels, np.uint8).reshape(job["shape"]))
        sys.stdout.buffer.write(struct.pack("<3i", *result.shape) + result.tobytes())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
