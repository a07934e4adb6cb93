"""bale.Loader: shuffled, augmented batches, which do not depend on the number of workers or on restarts."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from bale import _bale, transforms
from bale._bale import Batch, DeviceBatch
from bale._dataset.dataset import Dataset
from bale._loader import order as orders
from bale._loader.base import LoaderBase, option_names
from bale._loader.epochs import EpochIterator
from bale._loader.fields import Field
from bale._loader.options import Cuda, ImageMode, OnBadSample, Order, Reading
from bale._loader.passes import Begun
from bale._types import Numbers, Path, Shuffle, Tail
from bale.transforms.translation import views_of_loader


class Loader(LoaderBase):
    """Shuffled, augmented batches of a packed dataset.

    One iteration is one epoch. A batch (bale.Batch) unpacks as images, labels. Images are N x H x W x C (or
    N x C x H x W) of the transform's dtype, labels int64. `batch.indices` (int64 positions in the dataset) and
    `batch.keys` say which samples they are, and cost nothing unless they are asked for.

    The epoch of an iteration is fixed when it returns its first batch. The next iteration is the next epoch, whether this
    one ended or was left by `break`, on any number of ranks. After set_epoch(n), the next iteration is epoch n, and further
    ones differ from it, from each other and from all other epochs. docs/EPOCHS.md has the whole rule.

    Images are a view of shared memory, a ring of `prefetch` slots; labels are a copy. You may keep any number of
    batches: if you keep nearly all slots, further batches are copies (`Batch.is_copy`), which costs time and memory.

    The batches depend on the dataset, the seed, the epoch and the options, and not on the number of workers or on
    restarts.

    Parameters
    ----------
    spec : path, sequence of paths or bale.Dataset
        A packed dataset as bale.Dataset takes it, also a remote one ("s3://bucket/packs/train", "https://..."), or a
        list of datasets.
    batch_size : int, default 256
        Samples per batch and rank.
    workers : int or None, default None
        Number of worker processes. None: one per core that this rank has. 0: decode in the caller.
    seed : int, default 0
        Seed of the order, and of the augmentation unless augment_seed is given.
    rank, world_size : int, default 0 and 1
        This process's share of each epoch, rank 0 to world_size - 1.
    shuffle : bool, 'block', 'node-local' or 'stream', default True
        "block" shuffles blocks of samples, for long reads from slow storage. "node-local" gives each node a part of the
        shards, the same in every epoch, so that its cache fetches and holds only that part; see docs/SCALE.md for what
        that costs in randomness. "stream" is for shards without an index and a manifest: epoch 0 is in stored order, and
        each block_samples * window_blocks consecutive samples are shuffled with each other; later epochs are as with True.
    block_samples : int, default 64
        Samples per block, for shuffle="block" and "stream".
    window_blocks : int, default 16
        Blocks that are mixed with each other, for shuffle="block" and "stream".
    ranks_per_node : int or None, default None
        Ranks on each node, for shuffle="node-local": rank r is on node r // ranks_per_node. None: $LOCAL_WORLD_SIZE, which
        torchrun sets.
    tail : {'pad', 'drop', 'uneven'}, default 'pad'
        The incomplete end of an epoch: "pad" repeats samples, "drop" leaves it out, "uneven" masks the missing rows.
    drop_last : bool, default False
        The same as tail="drop".
    transform : transform or None, default None
        One of bale.transforms, or one of torchvision or timm, which is translated (bale.transforms.translate). None:
        bale.transforms.train().
    views : sequence of transforms or None, default None
        Instead of `transform`: each image is decoded once and made into one image per view, with draws of its own:
        `views=[global_crop] * 2 + [local_crop] * 6`. Images are then a list with one array per view. Not with a device.
    prefetch : int, default 4
        Number of batches in the ring, for all workers together, including those that you hold.
    on_bad_sample : {'fail', 'skip', 'substitute'}, default 'fail'
        What happens to a sample that cannot be read or decoded: "fail" raises bale.Error, "skip" gives a masked row of zeros,
        "substitute" gives another sample. `bad_samples` lists them.
    threads : bool, default False
        Decode in threads of this process instead of worker processes.
    augment_seed : int or None, default None
        Seed of crops, flips and colors. None: `seed`.
    no_label : int, default bale.NO_LABEL
        Label of rows without one: unlabeled and skipped samples, empty rows.
    subset : array-like of int or None, default None
        Positions in the dataset that make up an epoch. None: all.
    weights : array-like of float or None, default None
        Draw `num_draws` samples per epoch with these probabilities, with replacement; one weight per sample.
    num_draws : int or None, default None
        Samples per epoch with `weights`. None: len(weights).
    repeats : int, default 1
        Deliver each sample this often per epoch, which is then as many times as long. torchvision's RASampler delivers as
        many copies of a part of the samples instead, so its epoch has the dataset's length.
    field : str, default ''
        Name of the field of the image. "": the first one with an image's name.
    label_field : str, default ''
        Name of the field of the label, a whole number as in "cls": "label.cls". A sample without it has no label. "": the
        labels of the dataset.
    fields : mapping from str to str, Field or None, default None
        Further fields of each sample, {"caption": "txt", "embedding": bale.Field("npy", shape=(768,))}: names in the
        batch, and stored fields. `batch.fields` has them, with a device in ordinary memory (docs/FIELDS.md). Masks,
        boxes and keypoints take the steps of their image; with several views the field says of which, `view=0`. They
        cannot follow images that are mixed, or mirrored by the device.
    persistent_workers : bool, default True
        False: workers exit at the end of each epoch.
    verify_checksums : bool, default True
        Compare the checksum of each field before it is decoded.
    max_pixels : int, default 178956970
        Images with more pixels are bad samples.
    stall_timeout_s : float, default 120.0
        Seconds after which a worker that is stuck at one sample is replaced; waiting for its bytes does not count. 0:
        never.
    storage_timeout_s : float, default 1800.0
        Seconds that a worker may wait for the bytes of a sample before the iteration raises bale.Error ("retryable").
        0: no limit.
    read_ahead_bytes : int, default 128 << 20
        Bytes that are requested from the kernel ahead of the workers. 0: none. See docs/TUNING.md.
    large_transfers : bool, default False
        For disks that are limited in transfers per second; see docs/TUNING.md.
    direct_io : bool, default False
        Bypass the page cache, without reading ahead, for datasets larger than memory; see docs/TUNING.md.
    seek_point_cache_bytes : int, default 0
        Bytes of shared memory for seek points of JPEGs, which workers make in the first epoch so that later epochs
        decode faster. 0: none. See docs/TUNING.md.
    device : str or None, default None
        "cuda" or "cuda:N": batches (bale.DeviceBatch) in the memory of that GPU, copied ahead of time. Workers make
        8-bit pixels, and the device converts them, with the same bits as without a device.
    depth : int, default 2
        Number of batches that are copied to the device ahead.
    hold : int, default 3
        Number of batches that you hold for which device memory is allocated in advance; each batch more allocates
        memory.
    device_hflip : float, default 0.0
        Probability that the device mirrors an image, for transforms that do not.
    device_convert : bool, default True
        False: the workers make pixels of the transform's dtype, and 2 to 4 times as many bytes are copied. They do so
        too if the device does not take bale's kernels. What a driver refuses (kernels, page-locked memory) is done in a
        slower way, with one warning; see counters["pageable_bytes"].
    decode : {'host', 'device'}, default 'host'
        "device": the GPU decodes JPEGs by NVIDIA's nvJPEG, if it is installed, for transforms that only crop, resize once and
        mirror. Workers decode what nvJPEG does not. Its pixels differ from theirs. Worth it only where `bale tune
        --device cuda` measures that it is faster; see docs/TUNING.md.
    mix : bale.transforms.Mix or None, default None
        Mixup and cutmix; batches then have partner_labels, shares, and partners, the rows that were mixed in. Needs a
        float dtype, images of one size, and one view.
    mode : {'RGB', 'L', 'RGBA', 'I;16'} or None, default None
        What images are decoded to, by Pillow's names: "L" has one channel, "RGBA" four, "I;16" is 16-bit gray PNGs and
        TIFFs as uint16, which can be cropped, flipped and resized. The transform changes such images. An image that a
        mode cannot give is a bad sample. None: the transform's own mode, usually RGB.

    Attributes
    ----------
    batch_size : int
        As given.
    rank, world_size : int
        As given.
    transform : Transform or Compose
        The transform of the first view.
    views : list of Transform or Compose
        The transforms of all views.

    Raises
    ------
    bale.Error
        If the dataset cannot be opened, and, while iterating, for a bad sample with on_bad_sample="fail" (code
        "damaged"), for files that changed ("changed"), and for storage that does not answer in time ("retryable").
    ValueError
        If an option is out of range, or options contradict each other.
    TypeError
        If a transform cannot be translated.

    Notes
    -----
    Shards without an index and a manifest are scanned first, because their samples are counted. With shuffle=False, and in
    epoch 0 of shuffle="stream", they are scanned while they are read, a few ahead. Then len() waits until all are, and an
    error of a later shard comes when its samples do. Not with a device, fields, transforms without a fixed size, chosen
    samples (subset, weights, repeats), seek_point_cache_bytes and on_bad_sample="substitute".

    Threads: used by one thread at a time.
    Processes: until it is iterated, it can be pickled, and used after a fork; both open the dataset again. Later only the
    process that iterated it can use it. Workers are separate programs, which exit with this process.

    Examples
    --------
    >>> loader = bale.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    >>> for epoch in range(90):
    ...     loader.set_epoch(epoch)
    ...     for images, labels in loader:
    ...         pass
    """

    def __init__(self, spec: Path | Sequence[Path] | Dataset, batch_size: int = 256, *,
                 workers: int | None = None, seed: int = 0,
                 rank: int = 0, world_size: int = 1, shuffle: Shuffle = True, block_samples: int = 64,
                 window_blocks: int = 16, ranks_per_node: int | None = None, tail: Tail = "pad", drop_last: bool = False,
                 transform: Any = None, views: Sequence[Any] | None = None, prefetch: int = 4,
                 on_bad_sample: OnBadSample = "fail", threads: bool = False,
                 augment_seed: int | None = None, no_label: int = _bale.NO_LABEL,
                 subset: Numbers | None = None, weights: Numbers | None = None,
                 num_draws: int | None = None, repeats: int = 1, field: str = "", label_field: str = "",
                 fields: Mapping[str, str | Field] | None = None, persistent_workers: bool = True,
                 verify_checksums: bool = True, max_pixels: int = 178_956_970, stall_timeout_s: float = 120.0,
                 storage_timeout_s: float = 1800.0,
                 read_ahead_bytes: int = 128 << 20, large_transfers: bool = False, direct_io: bool = False,
                 seek_point_cache_bytes: int = 0, device: str | None = None, depth: int = 2, hold: int = 3, device_hflip: float = 0.0,
                 device_convert: bool = True, decode: Literal["host", "device"] = "host",
                 mix: transforms.Mix | None = None, mode: ImageMode | None = None) -> None:
        views = views_of_loader(transform, views, mode)
        if mix is not None and mix.num_classes is not None:
            raise ValueError("mix: num_classes makes soft labels, which bale.torch.Loader returns; leave it out and use the "
                             "batch's labels, partner_labels and shares")
        self._open(
            spec, views, Cuda(device, depth, hold, device_hflip, device_convert, decode),
            Order(subset, weights, num_draws, repeats, block_samples, window_blocks, ranks_per_node, augment_seed),
            batch_size=batch_size, workers=workers, prefetch=prefetch, seed=seed, shuffle=shuffle, rank=rank, world_size=world_size,
            tail=orders.tail_name(tail, drop_last), fields=fields, on_bad_sample=on_bad_sample, mix=mix,
            reading=Reading(field, label_field, no_label, threads, persistent_workers, verify_checksums, max_pixels, stall_timeout_s,
                            storage_timeout_s, read_ahead_bytes, large_transfers, direct_io, seek_point_cache_bytes))

    def __iter__(self) -> Iterator[Batch | DeviceBatch]:
        """Iterates over the next epoch; after load_state_dict(), over the rest of that state's. An earlier iterator becomes
        invalid."""
        return EpochIterator(self, self._epochs)

    def _seek(self) -> None:
        self._native.seek(self._epochs.next_place())

    def _take(self) -> Batch | DeviceBatch | None:
        return self._next()

    def _begin(self) -> Begun:
        return self._epochs.begin()

    def _end(self) -> None:
        self._epochs.leave()

    @property
    def dataset(self) -> Dataset:
        """The bale.Dataset of the batches."""
        return self._native.keys.dataset


Loader._fixed = option_names(Loader.__init__) | {"dataset"}
