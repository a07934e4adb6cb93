"""bale.torch.Loader: the batches of bale.Loader as tensors."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import torch
import torch.utils.data
import torch.utils.dlpack

from bale import transforms
from bale._loader.fields import Field
from bale._loader.loader import option_names
from bale._loader.passes import Place
from bale._types import Numbers, Shuffle, Tail
from bale._warnings import warn
from bale.torch._copy_stream import can_pin
from bale.torch._loader import dataloader_names
from bale.torch._loader.batch_samples import Samples
from bale.torch._loader.batch_tensors import (
    cuda_device,
    current_stream,
    rows_up_to_the_last,
    tensor_of,
    tensor_of_array,
    to_device,
)
from bale.torch._loader.dataset_argument import Part, Reach, given, within
from bale.torch._loader.drawn import drawn_of
from bale.torch._loader.fields import check_names, numbered_in, tensors_of
from bale.torch._loader.rank_tracking import MAX_SEED, FollowingLoader, default_seed, is_asked_to_overfit
from bale.torch._loader.soft_labels import soft_labels_of
from bale.torch._ranks import rank_and_world_size
from bale.torch._samples import IGNORE_INDEX, Spec
from bale.torch._tree import map_tensors
from bale.transforms.translation import views_of_loader

_NO_ROWS = object()


class Loader(FollowingLoader, dataloader_names.Attributes):
    """bale.Loader with tensors: shuffled, augmented batches (images, labels) of a packed dataset, in place of a DataLoader.

    Images are N x C x H x W of the transform's dtype: channels_last if the transform's layout is "nhwc" (the default),
    contiguous if it is "nchw"; with `views` a list of such tensors, one per view; for ragged and raw transforms a list
    of tensors, one per row. Labels are int64, -100 (which torch's losses ignore) for an unlabeled or skipped sample.

    Images are a view of a slot of shared memory, which the workers reuse when the last tensor of it is gone. You may
    keep any number of batches: if you keep nearly all slots, further batches are copies in ordinary memory; on a
    device, further batches allocate device memory. A warning says so once. Labels, mask, indices and keys are always
    copies.

    A Loader has all public attributes of a DataLoader, `sampler.set_epoch` and len(), so frameworks accept it:
    Accelerate's prepare() and Lightning's Trainer pass it through. Options of DataLoader that have a meaning here are
    accepted; others raise TypeError, which says what to use instead. It follows ranks and epochs that change after it
    was made: it gives this rank's share if torch.distributed is initialized later, and the epoch that a
    DistributedSampler, given as `sampler`, is set to.

    The epoch of an iteration is fixed when it returns its first batch. The next iteration is the next epoch, whether this
    one ended or was left by `break`, on any number of ranks. After set_epoch(n), the next iteration is epoch n, and further
    ones differ from it, from each other and from all other epochs. docs/EPOCHS.md has the whole rule.

    Parameters
    ----------
    spec : path, sequence of paths, bale.Dataset, bale.torch.Dataset or Subset
        A packed dataset, or several; or a bale.torch.Dataset without transforms, or a torch Subset of one, as
        random_split makes it. The positions in subset=, weights= and sampler= are then positions in that dataset.
    batch_size : int, default 256
        Samples per batch and rank.
    transform : object, default None
        One of bale.transforms, or one of torchvision or timm, which is translated (bale.transforms.translate). None:
        bale.transforms.train().
    views : sequence or None, default None
        Instead of `transform`: each image is decoded once and made into one image per view, with draws of its own:
        `views=[global_crop] * 2 + [local_crop] * 6`. Images are then a list with one array per view. Not with a device.
    shuffle : bool, 'block', 'node-local' or 'stream', default True
        "block" shuffles blocks of samples, for long reads from slow storage. "node-local" gives each node a part of the
        shards, the same in every epoch, so that its cache fetches and holds only that part; see docs/SCALE.md for what
        that costs in randomness. "stream": epoch 0 in stored order, in which each block_samples * window_blocks
        consecutive samples are shuffled with each other; see bale.Loader.
    seed : int or None, default None
        Seed of the order. None: torch.initial_seed() on one rank; 0 on several ranks, which must have the same order
        (as DistributedSampler).
    augment_seed : int or None, default None
        Seed of crops, flips and colors. None: `seed` if it is given, else torch.initial_seed().
    workers : int or None, default None
        Number of worker processes. None: one per core that this rank has. 0: decode in the caller.
    threads : bool, default False
        Decode in threads of this process instead of worker processes.
    prefetch : int, default 4
        Number of batches in the ring, for all workers together, including those that you hold.
    persistent_workers : bool, default True
        False: workers exit at the end of each epoch.
    rank, world_size : int or None, default None
        This process's share of each epoch. None: those of torch.distributed if it is initialized, else $RANK and
        $WORLD_SIZE, else 0 and 1; looked up again when an iteration begins. Pass world_size=1 if a rank should read the
        whole epoch.
    tail : {'pad', 'drop', 'uneven'}, default 'pad'
        The incomplete end of an epoch: "pad" repeats samples, "drop" leaves it out, "uneven" masks the missing rows.
    drop_last : bool, default False
        The same as tail="drop".
    subset : array-like or None, default None
        Positions in the dataset that make up an epoch. None: all.
    weights : array-like or None, default None
        Draw `num_draws` samples per epoch with these probabilities, with replacement; one weight per sample.
    num_draws : int or None, default None
        Samples per epoch with `weights`. None: len(weights).
    repeats : int, default 1
        Deliver each sample this often per epoch, which is then as many times as long. torchvision's RASampler delivers as
        many copies of a part of the samples instead, so its epoch has the dataset's length.
    block_samples : int, default 64
        Samples per block, for shuffle="block" and "stream".
    window_blocks : int, default 16
        Blocks that are mixed with each other, for shuffle="block" and "stream".
    ranks_per_node : int or None, default None
        Ranks on each node, for shuffle="node-local": rank r is on node r // ranks_per_node. None: $LOCAL_WORLD_SIZE, which
        torchrun sets.
    field : str, default ''
        Name of the field of the image. "": the first one with an image's name.
    label_field : str, default ''
        Name of the field of the label, a whole number as in "cls": "label.cls". A sample without it has no label. "": the
        labels of the dataset.
    fields : mapping from str to str, Field or None, default None
        Further fields of each sample, as for bale.Loader: the batch has one more element, the last, a dict. Text is a
        list of str, JSON a sequence that parses a row when it is asked for, arrays are tensors, bytes a Ragged. For an
        optional field `NAME.present` is its mask. Tensors are views of the slot, as images are. With mix, `partners`
        has the rows that were mixed in (int64). With a device, tensors and Ragged are copied to it, and text and JSON
        stay in Python.
    on_bad_sample : {'fail', 'skip', 'substitute'}, default 'fail'
        What a sample does that cannot be read or decoded: "fail" raises bale.Error, "skip" gives a masked row of zeros,
        "substitute" gives another sample. `bad_samples` lists them.
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
    with_mask : bool, default False
        Return (images, labels, mask), for tail="uneven" and on_bad_sample="skip". Without it, the last batch of
        tail="uneven" is shorter, and a rank without samples left has one batch less.
    with_samples : bool, default False
        Return one more element, a Samples: positions in the dataset (int64 tensor `indices`) and `keys`.
    pin : bool, default False
        Return page-locked copies if there is a device to which they are copied faster (CUDA; with PyTorch 2.6 or later
        XPU and others).
    device : torch.device, str, int or None, default None
        "cuda", "cuda:N" or a torch.device: tensors on the GPU, for the current stream, copied ahead of time; "cpu" is
        the same as None. The tensors are the loader's memory, which a later batch reuses when the last of them is gone.
        To use them on another stream, clone() them, or make the current stream wait (`Event`) until that stream is
        done.
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
        mirror. Its pixels differ from those of the workers, which decode what it does not. Worth it only where `bale tune
        --device cuda` measures that it is faster; see docs/TUNING.md.
    mix : bale.transforms.Mix or None, default None
        Return (images, (labels, partner_labels, shares)). The loss per image is shares * loss(labels) + (1 - shares) *
        loss(partner_labels). With Mix(num_classes=1000): return (images, soft labels), a float32 tensor N x 1000. Needs
        a float dtype, images of one size, and one view.
    mode : {'RGB', 'L', 'RGBA', 'I;16'} or None, default None
        What images are decoded to, by Pillow's names: "L" has one channel, "RGBA" four, "I;16" is 16-bit gray PNGs and
        TIFFs as uint16, which can be cropped, flipped and resized. The transform changes such images. An image that a
        mode cannot give is a bad sample. None: the transform's own mode, usually RGB.
    num_workers : int or None, default None
        As DataLoader has it: the same as workers.
    pin_memory : bool, default False
        As DataLoader has it: the same as pin.
    generator : torch.Generator or None, default None
        As DataLoader has it: its initial seed is `seed`.
    sampler : torch.utils.data.Sampler, sequence of int or None, default None
        torch's samplers that are equivalent to shuffle, subset, weights, or rank and world_size; or positions in their
        order. A sampler is made of the Loader's dataset, or of a Subset of it, whose positions are followed. Any other
        Sampler is iterated again for each epoch, on one rank; workers start again then. With it, a state within an epoch
        loads only if the sampler then gives the same samples.
    batch_sampler : torch.utils.data.Sampler, sequence or None, default None
        As DataLoader has it: batches of exactly these positions, all but the last of one size. As for other samplers.
    prefetch_factor, worker_init_fn, multiprocessing_context : None, default None
        Options of DataLoader without a meaning here: only their defaults are accepted.
    collate_fn : callable or None, default None
        As prefetch_factor; torch's default_collate is accepted, too.
    timeout : float, default 0
        As prefetch_factor. stall_timeout_s is the time after which a worker is replaced.

    Attributes
    ----------
    transform : Transform or Compose
        The transform of the first view.

    Raises
    ------
    bale.Error
        As for bale.Loader.
    ValueError
        If an option is out of range, or options contradict each other.
    TypeError
        If a transform cannot be translated, or an option of DataLoader has no meaning here; the message says what to
        use.

    Notes
    -----
    Threads: used by one thread at a time.
    Processes: until it is iterated, it can be pickled, and used after a fork; both open the dataset again. Later only the
    process that iterated it can use it. Workers are separate programs, which exit with this process.

    Examples
    --------
    >>> loader = bt.Loader("packs/train", batch_size=256, transform=bale.transforms.train(224), seed=1)
    >>> for images, labels in loader:
    ...     loss = criterion(model(images.to(device)), labels.to(device))
    """

    with_mask: bool
    with_samples: bool
    pin: bool

    def __init__(self, spec: Spec, batch_size: int = 256, *, transform: Any = None,
                 views: Sequence[Any] | None = None, shuffle: Shuffle = True, seed: int | None = None, augment_seed: int | None = None,
                 workers: int | None = None, threads: bool = False, prefetch: int = 4, persistent_workers: bool = True,
                 rank: int | None = None, world_size: int | None = None, tail: Tail = "pad", drop_last: bool = False,
                 subset: Numbers | None = None, weights: Numbers | None = None, num_draws: int | None = None,
                 repeats: int = 1, block_samples: int = 64, window_blocks: int = 16, ranks_per_node: int | None = None,
                 field: str = "", label_field: str = "",
                 fields: Mapping[str, str | Field] | None = None,
                 on_bad_sample: Literal["fail", "skip", "substitute"] = "fail", verify_checksums: bool = True,
                 max_pixels: int = 178_956_970, stall_timeout_s: float = 120.0, storage_timeout_s: float = 1800.0,
                 read_ahead_bytes: int = 128 << 20, large_transfers: bool = False, direct_io: bool = False,
                 seek_point_cache_bytes: int = 0, with_mask: bool = False, with_samples: bool = False,
                 pin: bool = False, device: torch.device | str | int | None = None, depth: int = 2, hold: int = 3,
                 device_hflip: float = 0.0, device_convert: bool = True, decode: Literal["host", "device"] = "host",
                 mix: transforms.Mix | None = None,
                 mode: Literal["RGB", "L", "RGBA", "I;16"] | None = None, num_workers: int | None = None,
                 pin_memory: bool = False, generator: torch.Generator | None = None,
                 sampler: torch.utils.data.Sampler[int] | Sequence[int] | None = None,
                 batch_sampler: torch.utils.data.Sampler[list[int]] | Sequence[Sequence[int]] | None = None, collate_fn: Callable[..., Any] | None = None, prefetch_factor: None = None,
                 worker_init_fn: None = None, multiprocessing_context: None = None, timeout: float = 0) -> None:
        dataloader_names.refuse_others(collate_fn=collate_fn, prefetch_factor=prefetch_factor,
                                       worker_init_fn=worker_init_fn, multiprocessing_context=multiprocessing_context,
                                       timeout=timeout)
        taken = given(spec)
        spec, positions, self._given_dataset = taken.spec, taken.positions, taken.dataset
        field = dataloader_names.same("field", field, "the Dataset's field", taken.field, "")
        label_field = dataloader_names.same("label_field", label_field, "the Dataset's label_field", taken.label_field, "")
        workers = dataloader_names.same("workers", workers, "num_workers", num_workers, None)
        pin = dataloader_names.same("pin", pin, "pin_memory", pin_memory, False)
        seed = dataloader_names.same("seed", seed, "generator", generator and generator.initial_seed() & MAX_SEED, None)

        reach = Reach(taken, subset)
        own_batches = batch_sampler
        if type(batch_sampler) is torch.utils.data.BatchSampler:
            sampler = cast("Any", batch_sampler.sampler)
            batch_size, drop_last = batch_sampler.batch_size, batch_sampler.drop_last
            own_batches = None
        elif batch_sampler is not None:
            if sampler is not None:
                raise ValueError("sampler and batch_sampler: give one of them")
            batch_size = getattr(batch_sampler, "batch_size", batch_size)
        dealt: dict[str, Any] = {} if sampler is None else dataloader_names.options_of_sampler(sampler, reach)
        if own_batches is not None:
            dealt = {"shuffle": False, "drawn": drawn_of(own_batches, True, reach)}
        spec = reach.spec
        if (subset is not None and "subset" in dealt) or ((subset is not None or weights is not None) and "drawn" in dealt):
            raise ValueError("sampler: subset or weights choose samples, too; give one of them")
        shuffle, subset, seed = dealt.get("shuffle", shuffle), dealt.get("subset", subset), dealt.get("seed", seed)
        weights, num_draws = dealt.get("weights", weights), dealt.get("num_draws", num_draws)
        rank, world_size = dealt.get("rank", rank), dealt.get("world_size", world_size)
        made_views = views_of_loader(transform, views, mode)
        delivered = made_views[0]
        self._soft_labels = None if mix is None else soft_labels_of(mix)
        if mix is not None:
            mix = mix._replace(num_classes=None, label_smoothing=0.0)
        # With subset=, `dataset` is as long as an epoch; with a sampler it is whole, as a DataLoader's.
        self._part = subset if sampler is None and positions is None else None
        subset, weights = within(taken, subset, weights)
        self._rank_given = world_size is not None
        rank, world_size = rank_and_world_size(rank, world_size)
        seed, augment_seed = self._settle_seeds(seed, augment_seed, world_size)
        self.device = None if device is None else cuda_device(device)
        views = made_views if len(made_views) > 1 else None
        super().__init__(
            spec, batch_size, transform=delivered if views is None else None, views=views, shuffle=shuffle, seed=seed, augment_seed=augment_seed, workers=workers,
            threads=threads, prefetch=prefetch, persistent_workers=persistent_workers, rank=rank, world_size=world_size,
            tail=tail, drop_last=drop_last, subset=subset, weights=weights, num_draws=num_draws, repeats=repeats,
            block_samples=block_samples, window_blocks=window_blocks, ranks_per_node=ranks_per_node, field=field, label_field=label_field,
            fields=fields, on_bad_sample=on_bad_sample,
            verify_checksums=verify_checksums, max_pixels=max_pixels, stall_timeout_s=stall_timeout_s,
            storage_timeout_s=storage_timeout_s, read_ahead_bytes=read_ahead_bytes, large_transfers=large_transfers,
            direct_io=direct_io, seek_point_cache_bytes=seek_point_cache_bytes, depth=depth, hold=hold, mix=mix,
            device=None if self.device is None else str(self.device), device_hflip=device_hflip, device_convert=device_convert,
            decode=decode, no_label=IGNORE_INDEX)
        vars(self).update(transform=delivered, generator=generator, with_mask=with_mask, with_samples=with_samples, pin_memory=pin,
                          persistent_workers=persistent_workers, pin=pin and self.device is None and can_pin())
        check_names({} if fields is None else fields, mixes=mix is not None)
        self._numbered_fields = numbered_in(fields)
        self._optional_fields = {name for name, _, _, optional, *_ in self._options["fields"] if optional}
        self._warned = False
        self._shortens = tail == "uneven" and not with_mask
        self._follow(sampler, dealt.get("drawn"), taken, repeats, weights is not None)
        self.batch_sampler = batch_sampler

    def _settle_seeds(self, seed: int | None, augment_seed: int | None, world_size: int) -> tuple[int, int]:
        """The seeds of order and augmentation. Those that were not given here come with a state, if one is loaded."""
        self._taken_from_states = [*(["seed"] if seed is None else []),
                                   *(["augment_seed"] if seed is None and augment_seed is None else [])]
        if augment_seed is None:
            augment_seed = torch.initial_seed() & MAX_SEED if seed is None else seed
        self._seed_given = seed is not None
        return default_seed(world_size) if seed is None else seed, augment_seed

    # --- resuming

    def state_dict(self) -> dict[str, int]:
        """Returns the position after the last batch that was returned, as bale.Loader.state_dict() does, with the seeds.

        A Loader that was given no seed continues with those of the state.

        Returns
        -------
        dict from str to int
            Can be pickled and stored as JSON.
        """
        return {**super().state_dict(), "seed": self._options["seed"], "augment_seed": self._options["augment_seed"]}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continues at the position of a state.

        Parameters
        ----------
        state : dict from str to int
            What state_dict() returned.

        Raises
        ------
        ValueError
            If the state is of another dataset, selection, shuffle or seed.
        """
        Place.of_state(state, "bale.Loader")  # refuses others before anything changes
        seeds = {name: state[name] for name in self._taken_from_states if name in state}
        if any(self._options[name] != seed for name, seed in seeds.items()):
            self._options.update(seeds)
            self._open_again()
        self._seed_given |= "seed" in seeds
        self._follow_ranks()
        super().load_state_dict(self._load_drawn(state))

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, options = super()._arguments()
        if options.get("generator") is None:
            return args, options
        return args, {**options, "generator": None, "seed": self._options["seed"]}  # generators cannot be pickled

    # --- what frameworks look for

    def __len__(self) -> int:
        """Number of batches of a whole epoch. It is the same on every rank, except with tail="uneven" without a mask, where
        a rank without samples left has one less. A resumed epoch has only the batches that are left."""
        batches = super().__len__()
        if not (self._shortens and batches and self.world_size > 1):
            return batches
        return batches - (self._plan_of_epoch().row(batches - 1, 0) is None)

    @property
    def dataset(self) -> Any:
        """The dataset that was given; for a path its bale.Dataset, or with subset= a torch Subset of that."""
        if is_asked_to_overfit():
            self._stop_shuffling()
            raise AttributeError("dataset")  # then Lightning leaves the loader as it is
        if self._given_dataset is not None and self._part is None:
            return self._given_dataset
        whole: Any = self._whole_dataset  # is one for torch, too
        return whole if self._part is None else Part(whole, cast("Sequence[int]", self._part))

    @property
    def num_workers(self) -> int:
        """Number of workers, an int."""
        return self._loader.workers

    def _stream(self) -> int:
        return current_stream(self.device)

    def _next(self) -> Any:
        """As in bale.Loader, but an epoch ends before a last batch without rows."""
        batch = super()._next()
        return super()._next() if batch is _NO_ROWS else batch

    def _convert(self, batch: Any) -> Any:
        if self.device is not None:
            return self._from_device(batch)
        mask = batch.mask if self.with_mask or self._shortens else None
        rows = len(batch)
        if self._shortens and mask is not None and not mask[-1]:
            rows = rows_up_to_the_last(mask)
            if rows == 0:
                return _NO_ROWS
        if getattr(batch, "is_copy", False):
            self._warn_once("you keep so many batches that further ones are copied out of the ring; that costs time and "
                            "memory. Keep fewer, or raise prefetch")
        images: Any
        if self.transform.kind in ("ragged", "raw"):
            images = [self._chw(tensor_of_array(batch.image(i), self.transform)) for i in range(rows)]
            labels = torch.from_numpy(batch.labels)
            if self.pin:
                images = [image.pin_memory() for image in images]
        else:
            images, labels = map(torch.utils.dlpack.from_dlpack, batch.capsules())
            more_views = [batch.capsules(view)[0] for view in range(1, len(self.views))]
            views = [image[:rows] for image in (images, *map(torch.utils.dlpack.from_dlpack, more_views))]
            if self.pin:
                views = [view.pin_memory() for view in views]
            images = views if more_views else views[0]
        target: Any = labels[:rows]
        if batch.shares is not None:
            target = self._mixed_target(target, torch.from_numpy(batch.partner_labels)[:rows], torch.from_numpy(batch.shares)[:rows])
        if self.pin:
            target = tuple(part.pin_memory() for part in target) if isinstance(target, tuple) else target.pin_memory()
        more = (torch.from_numpy(mask[:rows]),) if self.with_mask and mask is not None else ()
        return (images, target, *more, *self._samples_of(batch, rows), *self._fields_of(batch, rows))

    def _fields_of(self, batch: Any, rows: int) -> tuple[dict[str, Any], ...]:
        """The last element of a batch: its fields, if it has any."""
        if not self._options["fields"]:
            return ()
        made = tensors_of(batch, self._optional_fields, self._numbered_fields, rows, self.pin)
        return (made if self.device is None else map_tensors(lambda tensor: to_device(tensor, self.device), made),)

    def _mixed_target(self, labels: torch.Tensor, partner_labels: torch.Tensor, shares: torch.Tensor) -> Any:
        if self._soft_labels is None:
            return labels, partner_labels, shares
        return self._soft_labels(labels, partner_labels, shares)

    def _samples_of(self, batch: Any, rows: int) -> tuple[Samples, ...]:
        if not self.with_samples:
            return ()
        return (Samples(torch.from_numpy(batch.indices)[:rows], self._positions),)

    def _warn_once(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            warn(f"bale.torch.Loader: {what}")

    def _from_device(self, batch: Any) -> Any:
        rows = len(batch)
        if batch.is_beyond_hold:
            self._warn_once("you keep so many batches on the device that more of its memory is taken for each further one. "
                            "Keep fewer, keep copies in ordinary memory (tensor.cpu()), or raise hold")
        if self._shortens:
            rows = rows_up_to_the_last(tensor_of(batch.mask).cpu().numpy())
            if rows == 0:
                return _NO_ROWS
        images, labels = (tensor[:rows] for tensor in map(tensor_of, batch.capsules(self._stream())))
        labels = labels.clone()  # kilobytes; a view would keep the whole batch on the device
        target: Any = labels
        if batch.shares is not None:
            target = self._mixed_target(labels, tensor_of(batch.partner_labels)[:rows].clone(),
                                        tensor_of(batch.shares)[:rows].clone())
        mask = (tensor_of(batch.mask).view(torch.bool).clone(),) if self.with_mask else ()
        return (images, target, *mask, *self._samples_of(batch, rows), *self._fields_of(batch, rows))

    def _chw(self, image: torch.Tensor) -> torch.Tensor:
        return image if self.transform.layout == "nchw" or image.dim() < 3 else image.movedim(-1, 0)

# What DataLoader has and the Loader's workers do not know may be set, and changes nothing there either: Lightning does.
Loader._fixed = (FollowingLoader._fixed | option_names(Loader.__init__) | {"sampler"}) - vars(dataloader_names.Attributes).keys()
