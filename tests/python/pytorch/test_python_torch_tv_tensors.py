"""bale.torch.to_tv_tensors: images and masks for torchvision's v2 transforms; a clear error where torchvision is too old."""
from torch_support import torch  # noqa: F401 - a fixture


def test_images_and_masks(torch):
    """With torchvision 0.16 and newer its own classes; before it has none, and that is said."""
    torch("""
    import numpy as np
    import torch
    import torchvision
    from PIL import Image
    import bale.torch as bt

    photo = Image.fromarray(np.arange(12 * 8 * 3, dtype=np.uint8).reshape(12, 8, 3))
    mask = Image.fromarray(np.arange(96, dtype=np.uint8).reshape(12, 8))
    try:
        from torchvision import tv_tensors
    except ImportError:
        try:
            bt.to_tv_tensors(photo, mask)
        except ImportError as error:
            assert "needs torchvision 0.16 or newer" in str(error) and torchvision.__version__ in str(error)
            raise SystemExit
        raise SystemExit("no error")
    from torchvision.transforms import v2

    image, target = bt.to_tv_tensors(photo, mask)
    assert type(image) is tv_tensors.Image and image.shape == (3, 12, 8)
    assert type(target) is tv_tensors.Mask and torch.equal(target, torch.from_numpy(np.asarray(mask))[None])
    assert type(bt.to_tv_tensors(photo)) is tv_tensors.Image

    # Labels, numbers, dicts and fractions are not masks; what is in tuples and lists is looked at.
    image, (label, target, said), weights = bt.to_tv_tensors(photo, (3, mask, {"id": 1}), torch.ones(2, 2))
    assert label == 3 and type(target) is tv_tensors.Mask and said == {"id": 1} and type(weights) is torch.Tensor

    # A batch, as one tuple or list too, without a copy.
    images, masks = torch.zeros(4, 3, 12, 8, dtype=torch.uint8), torch.zeros(4, 12, 8, dtype=torch.int64)
    for given in ((images, masks), ([images, masks],), ((images, masks),)):
        made = bt.to_tv_tensors(*given)
        assert type(made[0]) is tv_tensors.Image and type(made[1]) is tv_tensors.Mask
        assert made[0].data_ptr() == images.data_ptr() and made[1].data_ptr() == masks.data_ptr()
    boxes = tv_tensors.BoundingBoxes(torch.tensor([[1, 2, 3, 4]]), format="XYXY", canvas_size=(12, 8))
    for labels in (torch.arange(4), torch.eye(4, 9, dtype=torch.int64), boxes):  # labels of each image of a batch are not masks
        assert bt.to_tv_tensors(images, labels)[1] is labels

    # The first of joint transforms: the flip of one is the flip of the other.
    joint = v2.Compose([bt.to_tv_tensors, v2.RandomHorizontalFlip(1), v2.RandomCrop(4)])
    one = Image.fromarray(np.repeat(np.asarray(mask)[:, :, None], 3, axis=2))
    for _ in range(5):
        image, target = joint(one, mask)
        assert image.shape == (3, 4, 4) and torch.equal(image[:1], target) and target[0, 0, 0] == target[0, 0, 1] + 1
    """)


def test_without_torchvision(torch):
    torch("""
    import sys
    import torch
    sys.modules["torchvision"] = None
    import bale.torch as bt
    try:
        bt.to_tv_tensors(torch.zeros(3, 2, 2))
    except ImportError as error:
        assert "needs torchvision 0.16 or newer" in str(error) and "there is none" in str(error)
    else:
        raise SystemExit("no error")
    """)
