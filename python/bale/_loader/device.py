"""The options of a device, and the warnings about what the device or its driver refuses."""
from __future__ import annotations

import importlib.util
import os
import pathlib

from bale import _bale
from bale._loader.options import Cuda
from bale._types import Options
from bale._warnings import warn


def device_options(cuda: Cuda) -> Options | None:
    """The options of a _bale.CudaLoader; None without a device. Raises ValueError for options that contradict each other."""
    device, depth, hold, hflip, convert, decode = cuda
    if decode not in ("host", "device"):
        raise ValueError(f"decode: {decode!r} is neither 'host' nor 'device'")
    if device is None:
        if hflip:
            raise ValueError("hflip needs a device")
        if decode == "device":
            raise ValueError("decode='device' needs a device")
        return None
    return {"device": _ordinal(device), "depth": depth, "hold": hold, "device_hflip": hflip,
            "device_convert": convert, "decodes": decode == "device",
            "nvjpeg_library": nvjpeg_path() if decode == "device" else ""}


def _ordinal(device: str) -> int:
    kind, _, number = device.partition(":")
    if kind != "cuda" or not (number == "" or number.isdecimal()):
        raise ValueError(f"device: {device!r} is neither 'cuda' nor 'cuda:N'")
    return int(number or 0)


def nvjpeg_path() -> str:
    """Where NVIDIA's nvJPEG is: $BALE_NVJPEG, else the newest library of PyPI's packages (nvidia-nvjpeg-cu12, nvidia-nvjpeg). "": neither is there, so
    it is looked for by name."""
    given = os.environ.get("BALE_NVJPEG")
    if given:
        return given
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else [pathlib.Path(folder) for folder in spec.submodule_search_locations or []]
    found = [path for folder in folders for path in folder.glob("*/lib/libnvjpeg.so.1[23]")]
    return str(max(found, key=lambda path: path.suffix)) if found else ""


class Fallbacks:
    """Warns of what is done in a slower way, each once."""

    def __init__(self, loader_name: str, may_come_later: bool) -> None:
        """`may_come_later`: the device decodes, and may stop doing so. By the first batch, the driver has been asked for
        everything else."""
        self._loader_name = loader_name
        self._may_come_later = may_come_later
        self._known = False
        self._reported: set[str] = set()

    def warn(self, loader: _bale.CudaLoader) -> None:
        """To be called after a batch."""
        if self._known and not self._may_come_later:
            return
        self._known = True
        for fallback in loader.fallbacks():
            if fallback not in self._reported:
                self._reported.add(fallback)
                warn(f"{self._loader_name}: {fallback}", RuntimeWarning)
