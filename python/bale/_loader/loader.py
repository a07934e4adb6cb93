"""bale.Loader: shuffled, augmented batches, which do not depend on the number of workers or on restarts."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bale import _docs, transforms
from bale._bale import Batch, DeviceBatch
from bale._dataset.dataset import Dataset
from bale._loader.base import LoaderBase, option_names
from bale._loader.epochs import EpochIterator
from bale._loader.fields import Field
from bale._loader.mixture import Sources
from bale._loader.options import OLD_KEYWORDS, Cuda, OnBadSample, Order, tail_name, with_old_keywords
from bale._loader.passes import Begun
from bale._loader.reading import Reading
from bale._types import Path, Shuffle, Tail
from bale.transforms._translation.translation import views_of_loader


@_docs.loader
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
    spec : path, sequence of paths, bale.Dataset or dict
        A packed dataset as bale.Dataset takes it, also a remote one ("s3://bucket/packs/train", "https://..."), or a
        list of datasets. A dict from names to such is a mixture, {"web": "packs/web", "coco": "packs/coco"}, and needs shares.
    seed : int, default 0
        Seed of the order, and of the augmentation unless `order` has another.
    rank, world_size : int, default 0 and 1
        This process's share of each epoch, rank 0 to world_size - 1.
    shuffle : bool, 'block', 'node-local' or 'stream', default True
        "block" shuffles blocks of samples, for long reads from slow storage. "node-local" gives each node a part of the
        shards, the same in every epoch, so that its cache fetches and holds only that part; see docs/SCALE.md for what
        that costs in randomness. "stream" is for shards without an index and a manifest: epoch 0 is in stored order, and
        each block_samples * window_blocks (bale.Order) consecutive samples are shuffled with each other; later epochs are as with True.
    drop_last : bool, default False
        The same as tail="drop".
    fields : mapping from str to str, Field or None, default None
        Further fields of each sample, {"caption": "txt", "embedding": bale.Field("npy", shape=(768,))}: names in the
        batch, and stored fields. `batch.fields` has them, with a device in ordinary memory (docs/FIELDS.md). Masks,
        boxes and keypoints take the steps of their image; with several views the field says of which, `view=0`. They
        cannot follow images that are mixed, or mirrored by the device.
    device : str, bale.Cuda or None, default None
        "cuda" or "cuda:N": batches (bale.DeviceBatch) in the memory of that GPU, copied ahead of time. Workers make
        8-bit pixels, and the device converts them, with the same bits as without a device. bale.Cuda has more options.
    mix : bale.transforms.Mix or None, default None
        Mixup and cutmix; batches then have partner_labels, shares, and partners, the rows that were mixed in. Needs a
        float dtype, images of one size, and one view.
    order : bale.Order, default bale.Order()
        Which samples an epoch has: subset, weights, repeats; sizes of blocks; seed of the augmentation.
    reading : bale.Reading, default bale.Reading()
        How samples are read and decoded: fields of image and label, mode, checksums, time limits, reading ahead.
    **old : object
        where of `order`, labels of `reading`. And shares, epoch_samples and exact_every, for a mixture: shares={"web": 7, "coco": 3}; `batch.sources` and
        `passes()` say what came of it, and load_state_dict(state, shares=...) changes them (docs/MIXTURES.md). And options that
        are members of Order, Reading and Cuda now, with a DeprecationWarning that has the new spelling.

    Attributes
    ----------
    batch_size : int
        As given.
    rank, world_size : int
        As given.
    transform : Compose, or dict from str to Compose
        The transform of the first view; a dict if sources have their own.
    views : list of Compose or dict
        The transforms of all views.

    Raises
    ------
    bale.Error
        If the dataset cannot be opened, and, while iterating, for a bad sample with on_bad_sample="fail" (code
        "damaged"), for files that changed ("changed"), and for storage that does not answer in time ("retryable").
    TypeError
        If a transform cannot be translated, or there is no such option.

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

    def __init__(self, spec: Path | Sequence[Path] | Dataset | Sources, batch_size: int = 256, *, workers: int | None = None, seed: int = 0,
                 rank: int = 0, world_size: int = 1, shuffle: Shuffle = True, tail: Tail = "pad", drop_last: bool = False,
                 transform: object = None, views: Sequence[object] | None = None, threads: bool = False, prefetch: int = 4, on_bad_sample: OnBadSample = "fail",
                 fields: Mapping[str, str | Field] | None = None, device: str | Cuda | None = None, mix: transforms.Mix | None = None,
                 order: Order = Order(), reading: Reading = Reading(), **old: object) -> None:
        cuda = device if isinstance(device, Cuda) else Cuda(device)
        order, reading, cuda = with_old_keywords("bale.Loader", old, order=order, reading=reading, device=cuda)
        made_views = views_of_loader(transform, views, reading.mode)
        if mix is not None and mix.num_classes is not None:
            raise ValueError("mix: num_classes makes soft labels, which bale.torch.Loader returns; leave it out and use the "
                             "batch's labels, partner_labels and shares")
        self._open(spec, made_views, cuda, order, batch_size=batch_size, workers=workers, threads=threads, prefetch=prefetch, seed=seed, shuffle=shuffle,
                   rank=rank, world_size=world_size, tail=tail_name(tail, drop_last), fields=fields,
                   on_bad_sample=on_bad_sample, mix=mix, reading=reading)

    def __iter__(self) -> Iterator[Batch | DeviceBatch]:
        """Iterates over the next epoch; after load_state_dict(), over the rest of that state's. An earlier iterator becomes
        invalid."""
        return EpochIterator(self, self._epochs)

    def _seek(self) -> None:
        self._native.seek(self._epochs.next_place())

    def _take(self) -> Batch | DeviceBatch | None:
        return self._next()

    def _begin(self, begun: Begun) -> None:
        pass

    def _end(self) -> None:
        self._epochs.leave()

    @property
    def dataset(self) -> Dataset:
        """The bale.Dataset of the batches."""
        return self._native.keys.dataset


Loader._fixed = option_names(Loader.__init__) | OLD_KEYWORDS | {"dataset"}
