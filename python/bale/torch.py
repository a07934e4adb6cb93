"""bale for PyTorch: Loader in place of DataLoader, Dataset in place of ImageFolder.

    import bale.torch as bt
    loader = bt.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    for images, labels in loader:   # N x C x H x W and int64, zero-copy views of a slot
        ...
"""
import io
import os

import torch
import torch.distributed
import torch.utils.data

import bale.dataset
import bale.loader


class Loader(bale.loader.Loader):
    """bale.Loader that gives (images, labels) as tensors, images N x C x H x W: channels_last where the transform's layout
    is "nhwc" (the default), contiguous where it is "nchw"; a list of tensors for ragged and raw. A tensor is a view of its
    slot and keeps it.

    rank, world_size   default: of torch.distributed where it is initialised, else $RANK and $WORLD_SIZE, else 0 of 1
    with_mask          give (images, labels, mask): for tail="uneven" and on_bad_sample="skip"
    pin                page-locked copies where CUDA is available; ignored elsewhere
    """

    def __init__(self, spec, batch_size=256, *, rank=None, world_size=None, with_mask=False, pin=False, **options):
        rank, world_size = rank_and_world_size(rank, world_size)
        super().__init__(spec, batch_size, rank=rank, world_size=world_size, **options)
        self.with_mask = with_mask
        self.pin = pin and torch.cuda.is_available()

    @property
    def sampler(self):
        return Sampler(self)

    def _convert(self, batch):
        if self.transform.kind in ("ragged", "raw"):
            images = [self._pinned(self._chw(_tensor(batch.image(i), self.transform), 0)) for i in range(len(batch))]
        else:
            images = self._pinned(self._chw(torch.from_dlpack(batch), 1))
        labels = self._pinned(torch.from_numpy(batch.labels))
        return (images, labels, torch.from_numpy(batch.mask)) if self.with_mask else (images, labels)

    def _chw(self, images, first):
        if self.transform.layout == "nchw" or images.dim() < first + 3:
            return images
        return images.movedim(-1, first)

    def _pinned(self, tensor):
        return tensor.pin_memory() if self.pin else tensor


class Sampler:
    """What training scripts look for in `loader.sampler`."""

    def __init__(self, loader):
        self._loader = loader
        self.rank, self.num_replicas = loader.rank, loader.world_size

    def set_epoch(self, epoch):
        self._loader.set_epoch(epoch)


class Dataset(torch.utils.data.Dataset):
    """(image, label) by position, as torchvision's ImageFolder gives them, for the ordinary DataLoader.

    decode             "pil": RGB images as ImageFolder loads them; "tensor": uint8 C x H x W; "bytes": as stored
    transform          of the image
    target_transform   of the label, which is -1 where the sample has none
    field              the field that holds the image; default: each sample's first one with an image's name
    """

    def __init__(self, spec, transform=None, target_transform=None, *, decode="pil", field=None,
                 verify_checksums=True):
        if decode not in ("pil", "tensor", "bytes"):
            raise ValueError(f"decode: {decode!r} is none of 'pil', 'tensor', 'bytes'")
        self.samples = bale.dataset.Dataset(spec, verify_checksums=verify_checksums)
        self.transform, self.target_transform = transform, target_transform
        self.decode = decode
        self.field = field

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        image = self.samples.read_image(i) if self.field is None else self.samples.read_field(i, self.field)
        if self.decode != "bytes":
            image = _decoded(image, self.decode)
        label = self.samples.label(i)
        label = -1 if label is None else label
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    @property
    def classes(self):
        return self.samples.classes

    @property
    def class_to_idx(self):
        return {name: i for i, name in enumerate(self.classes)}


def rank_and_world_size(rank=None, world_size=None):
    """The arguments where they are given, else of torch.distributed, else of the launcher's environment."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank and world_size: give both or none")
    if rank is not None:
        return rank, world_size
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1


def _tensor(array, transform):
    tensor = torch.from_numpy(array.view("int16") if transform.dtype == "bfloat16" else array)
    return tensor.view(torch.bfloat16) if transform.dtype == "bfloat16" else tensor


def _decoded(stored, decode):
    from PIL import Image

    with Image.open(io.BytesIO(stored)) as opened:
        image = opened.convert("RGB")
    if decode == "pil":
        return image
    raw = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return raw.view(image.height, image.width, 3).permute(2, 0, 1).contiguous()
