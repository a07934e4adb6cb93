"""Tensors of what the native loader delivers: rows as arrays, DLPack capsules, and where they are on a device."""
from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.utils.dlpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def tensor_of_array(array: NDArray[np.generic], is_bfloat16: bool) -> torch.Tensor:
    tensor = torch.from_numpy(array.view("int16") if is_bfloat16 else array)
    return tensor.view(torch.bfloat16) if is_bfloat16 else tensor


def cuda_device(device: torch.device | str | int) -> torch.device | None:
    """The CUDA device; None for the CPU, which scripts pass as `device=accelerator.device`."""
    chosen = torch.device(device)
    if chosen.type == "cpu":
        return None
    if chosen.type != "cuda":
        raise ValueError(f"device: {device!r} is neither a CUDA device nor the CPU; leave it out for tensors in ordinary memory")
    return chosen if chosen.index is not None else torch.device("cuda", torch.cuda.current_device())


def current_stream(device: torch.device | None) -> int:
    handle: int = torch.cuda.current_stream(device).cuda_stream
    return handle


def to_device(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """A copy for the current stream. From page-locked memory, because the host would otherwise wait for the work that is queued
    there."""
    copy: torch.Tensor = tensor.pin_memory().to(device, non_blocking=True)
    return copy


def tensor_of(exported: object) -> torch.Tensor:
    """The tensor of a DLPack capsule, or of an object that exports one."""
    tensor: torch.Tensor = torch.utils.dlpack.from_dlpack(exported)
    return tensor


def rows_up_to_the_last(mask: NDArray[np.bool_]) -> int:
    """Rows of a batch without the masked ones at its end."""
    counted = mask.nonzero()[0]
    return int(counted[-1]) + 1 if len(counted) else 0
