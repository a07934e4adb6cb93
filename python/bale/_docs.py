"""What docstrings have in common: parameters and sections are written here once. help() and the site show whole docstrings; a test
compares them with the code."""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, replace
from typing import TypeVar

_Described = TypeVar("_Described", bound="Callable[..., object]")

_ORDER = ("Parameters", "Attributes", "Returns", "Raises", "Warns", "Notes", "Examples")
_DEFAULTS: dict[object, str] = {(3 / 4, 4 / 3): "(3 / 4, 4 / 3)"}  # of which repr() says less


@dataclass(frozen=True)
class Shared:
    """What docstrings of one kind have in common. As a decorator of a function, or of a class by its __init__, it adds the parameters
    that a docstring leaves out, in their order; `returns` if there is no section Returns; and `raises`."""

    parameters: Mapping[str, tuple[str, str]]  # type and text, by name
    returns: str = ""
    raises: str = ""

    def __call__(self, one: _Described) -> _Described:
        maker = vars(one).get("__init__", one)
        given = inspect.signature(maker).parameters.values()
        one.__doc__ = self.completed(one.__doc__, {item.name: item.default for item in given if item.name != "self"})
        return one

    def completed(self, text: str | None, defaults: Mapping[str, object]) -> str | None:
        """The whole docstring of a function with these parameters."""
        if text is None:  # as with python -OO
            return None
        head, *rest = re.split(r"\n\n(\w+)\n-{3,}\n", inspect.cleandoc(text))
        sections = dict(zip(rest[::2], rest[1::2], strict=True))
        written = {name: entry for entry in re.findall(r"^\S.*(?:\n    .*|\n(?=\n    ))*", sections.get("Parameters", ""), flags=re.M)
                   for name in entry.partition(" : ")[0].lstrip("*").split(", ")}
        entries = [written.get(name) or self._entry(name, default) for name, default in defaults.items()]
        sections["Parameters"] = "\n".join(dict.fromkeys(entries))
        sections.setdefault("Returns", self.returns)
        if defaults and self.raises:
            sections["Raises"] = "\n".join(filter(None, (self.raises, sections.get("Raises"))))
        return "\n\n".join([head, *(f"{title}\n{'-' * len(title)}\n{sections[title].rstrip()}" for title in _ORDER if sections.get(title))])

    def _entry(self, name: str, default: object) -> str:
        kind, text = self.parameters[name]
        shown = "" if default is inspect.Parameter.empty else f", default {_DEFAULTS.get(default) or repr(default)}"
        return f"{name} : {kind}{shown}\n    " + text.replace("\n", "\n    ")


def members_of(cls: type) -> dict[str, object]:
    """Parameters of a class that becomes a dataclass, with their defaults."""
    members: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        for name in inspect.get_annotations(base):
            value = vars(base).get(name, inspect.Parameter.empty)
            members[name] = value.default if isinstance(value, Field) else value
            if isinstance(value, Field) and not value.init:
                del members[name]
    return members


_TRANSFORMS = {
    "antialias": ("bool or None", "Accepted and ignored: PIL images are always resized with antialiasing."),
    "center": ("(float, float) or None", "(x, y) in pixels from the top left. None: the middle."),
    "degrees": ("float or (float, float)", "Range of the angle; a number d means (-d, d)."),
    "dtype": ("str or dtype", 'Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype. Floats are value / 255.'),
    "fill": ("int, (int, int, int) or None", "Color of new pixels, a number or (red, green, blue), 0 to 255. None: black."),
    "gray": ("float", "Probability that the image becomes gray."),
    "hflip": ("float", "Probability that the image is mirrored."),
    "inplace": ("bool", "Accepted and ignored."),
    "interpolation": ("str or enum", '"nearest", "bilinear" or "bicubic"; resizes also take "box", "hamming" and "lanczos". '
                      "Also torchvision's or\nPillow's constant."),
    "layout": ("str", 'Memory layout of the batch\'s pixels: "nhwc" or "nchw".'),
    "local_crops": ("int", "Number of local views."),
    "local_size": ("int or (int, int)", "Size of the local views in pixels: a side, or (height, width)."),
    "mean": ("sequence of float", "Mean of each channel, of values in [0, 1]."),
    "normalize": ("bool, (mean, std) or None", "True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with\n"
                  'mode="L", four for "RGBA"). Needs a float dtype.'),
    "num_magnitude_bins": ("int", "Number of magnitudes."),
    "p": ("float", "Probability that an image is changed."),
    "padding_mode": ("str", '"constant" (the color `fill`), "edge", "reflect" or "symmetric".'),
    "pillow": ("str or int", '"13" or "12": the version of Pillow whose rounding is used.'),
    "ratio": ("(float, float)", "Range of the crop's width / height."),
    "scale": ("(float, float)", "Range of the crop's area, as a share of the image's."),
    "size": ("int or (int, int)", "Side in pixels, or (height, width)."),
    "std": ("sequence of float", "Standard deviation of each channel, of values in [0, 1]."),
    "transforms": ("sequence of Operation", "Transforms of bale.transforms."),
}
_BAD_VALUES = """ValueError
    If an argument is out of range, or arguments contradict each other.
TypeError
    If an argument has a type that it cannot have."""
_BAD_OPTIONS = """ValueError
    If an option is out of range, or options contradict each other."""

operation = Shared(_TRANSFORMS, raises=_BAD_VALUES)
makes_list = Shared(_TRANSFORMS, "Compose\n    For Loader(transform=...).", _BAD_VALUES)
makes_views = Shared(_TRANSFORMS, "list of Compose\n    One per view, for Loader(views=...).", _BAD_VALUES)

loader = Shared({
    "batch_size": ("int", "Samples per batch and rank."),
    "workers": ("int or None", "Number of worker processes. None: one per core that this rank has. 0: decode in the caller."),
    "tail": ("{'pad', 'drop', 'uneven'}", 'The incomplete end of an epoch: "pad" repeats samples, "drop" leaves it out, "uneven" masks the missing rows.'),
    "threads": ("bool", "Decode in threads of this process instead of worker processes."),
    "prefetch": ("int", "Number of batches in the ring, for all workers together, including those that you hold."),
    "transform": ("transform or None", "One of bale.transforms, or one of torchvision or timm, which is translated (bale.transforms.translate). None:\n"
                  "bale.transforms.train(). Of a mixture also a dict with one for each source, which make images of one form."),
    "views": ("sequence of transforms or None", "Instead of `transform`: each image is decoded once and made into one image per view, with draws of its own:\n"
              "`views=[global_crop] * 2 + [local_crop] * 6`. Images are then a list with one array per view. Not with a device."),
    "on_bad_sample": ("{'fail', 'skip', 'substitute'}", 'What happens to a sample that cannot be read or decoded: "fail" raises bale.Error, "skip" gives a masked row of zeros,\n'
                      '"substitute" gives another sample. `bad_samples` lists them.'),
}, raises=_BAD_OPTIONS)

torch_dataset = Shared({
    "spec": ("path, sequence of paths or bale.Dataset", "A packed dataset, as bale.Dataset takes it, or a bale.Dataset."),
    "transform": ("callable or None", "Applied to the image."),
    "target_transform": ("callable or None", "Applied to the target."),
    "transforms": ("callable or None", "Instead of these two: applied to both, transforms(image, target), as in torchvision's VisionDataset. A\n"
                   "v2.Compose that begins with bale.torch.to_tv_tensors crops image and mask alike."),
    "fields": ("sequence of str or None", 'Names of the image and its targets; several targets become a tuple. "jpg;png" is the first of these that a\n'
               "sample has; \"cls\" is the label, \"__key__\" the sample's key, \"__index__\" its position. None: the image and its\n"
               "label."),
    "field": ("str or None", "Name of the image, with the label as target. None: each sample's first field with an image's name."),
    "label_field": ("str or None", 'Name of the field of the label, such as "label.cls". None: the labels of the dataset.'),
    "decode": ("{'pil', 'tensor', 'bytes'}", '"pil": images in RGB, as ImageFolder loads them. "tensor": uint8 C x H x W. "bytes": every field as stored.\n'
               "Unless \"bytes\": an image that is a target keeps its stored mode (a mask's class numbers), `json` is decoded,\n"
               "`txt` is a str, `npy` an array, a label an int, -100 if the sample has none (torch's ignore_index)."),
    "verify_checksums": ("bool", "Compare the checksum of each field before it is returned."),
    "mode": ("{'RGB', 'L', 'RGBA', 'I;16'}", "What images are converted to, by Pillow's names; \"I;16\" only from images of 16-bit gray. Not of images that are\n"
             "targets."),
}, raises="""ValueError
    If options contradict each other, or no sample has one of the fields.""")

of_sample = Shared({"i": ("int", "Position of the sample.")}, raises="IndexError\n    If there is no sample at this position.")
of_field = Shared({"name": ("str", "Name of the field.")}, raises="KeyError\n    If there is no such field.")
reporting = Shared({
    "dataset": ("path", "The directory of the packed dataset, or its s3:// name."),
    "dry_run": ("bool", "Change nothing."),
    "message": ("str or None", "What `bale log` says of the new version."),
    "progress": ("bool or None", "As for pack()."),
}, "dict\n    The report, as of pack().")
changing = replace(reporting, parameters={
    **reporting.parameters,
    "from_file": ("path or None", "A file with one key per line, or with lines of `bale log --removed`."),
    "labels": ("path or mapping", "A CSV, TSV or JSONL file with the columns key and label: names of classes, else numbers.\nOr by key: an int is a number, a str as in a file."),
    "missing": ("{'keep', 'error'}", "Samples that get nothing keep what they have, or are an error."),
})

_LAUNCHERS = {
    "jobs": ("int", "Shards that a part writes at a time, and processors that its task asks for."),
    "parts": ("int or None", "Number of parts. None: one per GiB of payload, at least 16, at most 1,000 and at most one per `jobs` shards."),
    "plan": ("path", "What bale.plan() wrote."),
    "program": ("path or None", "The program `bale`. None: that of the package on each machine."),
    "progress": ("bool or None", "Show how many parts are packed. None: in a terminal or a notebook."),
}
_MERGED = "dict\n    The report of bale.merge()."
launcher = Shared(_LAUNCHERS, _MERGED, """bale.Error
    A part failed. The message has its reason, the parts that are missing and the command that packs them. What the other
    parts packed is kept.""")
slurm_submitter = Shared({
    **_LAUNCHERS,
    "in_flight": ("int or None", "Tasks of the array that run at a time. None: as many as Slurm allows."),
    "program": ("path or None", "The program `bale` on the nodes. None: that of this package, under the same path."),
    "retries": ("int", "How often a task that fails is requeued."),
})
slurm_launcher = replace(slurm_submitter, returns=_MERGED)
