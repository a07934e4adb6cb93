"""Mix: how the images of a batch are mixed. No transform of one image: it is given as Loader(mix=...)."""
from __future__ import annotations

from typing import NamedTuple


class Mix(NamedTuple):
    """Mixup and cutmix: Loader(mix=...), also on a device.

    Each image is mixed with the one before it in its batch, with the same parameters for the whole batch. Names are
    timm's.

    Parameters
    ----------
    mixup : float, default 0.0
        Alpha of mixup: shares are drawn from Beta(alpha, alpha). 0: none.
    cutmix : float, default 0.0
        Alpha of cutmix. 0: none.
    probability : float, default 1.0
        Probability that a batch is mixed.
    switch : float, default 0.5
        Probability of cutmix, if both are on.
    num_classes : int or None, default None
        Number of classes of soft labels, which bale.torch.Loader then returns: a float32 tensor N x num_classes; the
        share of an image without a label is zeros. None: labels, partner_labels and shares.
    label_smoothing : float, default 0.0
        Of soft labels, as by timm, 0 to 1.

    Notes
    -----
    The Loader checks the values, and raises ValueError.
    """

    mixup: float = 0.0  # alpha: shares are drawn from Beta(alpha, alpha); 0: none
    cutmix: float = 0.0
    probability: float = 1.0  # that a batch is mixed
    switch: float = 0.5
    num_classes: int | None = None  # None: labels, partner_labels and shares instead of soft labels
    label_smoothing: float = 0.0  # of soft labels
