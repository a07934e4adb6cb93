"""Where NVIDIA's nvJPEG is, for decode="device"."""
from __future__ import annotations

import importlib.util
import os
import pathlib


def library_path() -> str:
    """$BALE_NVJPEG, else the newest library of PyPI's packages (nvidia-nvjpeg-cu12, nvidia-nvjpeg). "": neither is there, so
    it is looked for by name."""
    given = os.environ.get("BALE_NVJPEG")
    if given:
        return given
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else [pathlib.Path(folder) for folder in spec.submodule_search_locations or []]
    found = [path for folder in folders for path in folder.glob("*/lib/libnvjpeg.so.1[23]")]
    return str(max(found, key=lambda path: path.suffix)) if found else ""
