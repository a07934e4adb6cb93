"""Soft labels: the targets of mixed images as one distribution over the classes per image."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from bale import transforms


class SoftLabels(NamedTuple):
    """Makes float32 tensors N x num_classes: torchvision's MixUp and CutMix without smoothing, timm's mixup_target with it."""

    num_classes: int
    smoothing: float

    def __call__(self, labels: torch.Tensor, partner_labels: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
        """Raises ValueError for a label of num_classes or more. Tensors on a device are not checked: that would wait for the
        device, whose own check ends the process."""
        shares = shares.unsqueeze(1)
        mixed: torch.Tensor = self._smoothed(labels) * shares + self._smoothed(partner_labels) * (1 - shares)
        return mixed

    def _smoothed(self, labels: torch.Tensor) -> torch.Tensor:
        """Rows without a label are zeros."""
        if not labels.is_cuda and len(labels) and int(labels.max()) >= self.num_classes:
            raise ValueError(f"mix: label {int(labels.max())} in a batch, but num_classes is {self.num_classes}")
        off = self.smoothing / self.num_classes
        labels = labels.unsqueeze(1)
        rows = torch.full((len(labels), self.num_classes), off, device=labels.device)
        rows.scatter_(1, labels.clamp(min=0), 1 - self.smoothing + off)
        smoothed: torch.Tensor = rows.masked_fill_(labels < 0, 0)
        return smoothed


def soft_labels_of(mix: transforms.Mix) -> SoftLabels | None:
    """None if the labels stay apart. Raises ValueError for options that are out of range or contradict each other."""
    if mix.num_classes is None:
        if mix.label_smoothing:
            raise ValueError("mix: label_smoothing needs num_classes, the number of classes of soft labels")
        return None
    if mix.num_classes < 1:
        raise ValueError(f"mix: num_classes {mix.num_classes} is below 1")
    if not 0 <= mix.label_smoothing <= 1:
        raise ValueError(f"mix: label_smoothing {mix.label_smoothing} is not within [0, 1]")
    return SoftLabels(mix.num_classes, mix.label_smoothing)
