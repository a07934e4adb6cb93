"""bale.torch.Loader: the batches of bale.Loader as tensors."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.utils.data

from bale import _bale, _docs, transforms
from bale._bale import NO_LABEL
from bale._dataset.dataset import Dataset as PlainDataset
from bale._loader.base import LoaderBase, option_names
from bale._loader.epochs import EpochIterator
from bale._loader.fields import Field
from bale._loader.mixture import Sources
from bale._loader.options import OLD_KEYWORDS, Cuda, OnBadSample, Order, selection_of, tail_name, with_old_keywords
from bale._loader.passes import Begun, Place
from bale._loader.reading import Reading
from bale._types import Json, Options, Shuffle, Tail
from bale._warnings import warn
from bale.torch._copy_stream import can_pin
from bale.torch._dataset import Dataset
from bale.torch._loader import dataloader_names
from bale.torch._loader.conversion import Conversion, cuda_device
from bale.torch._loader.dataset_argument import Part, Reach, given, within
from bale.torch._loader.frameworks import (
    is_asked_to_overfit,
    refuse_to_skip_batches,
    warn_of_batches_left,
    warn_of_states_left,
)
from bale.torch._loader.rank_tracking import MAX_SEED, Ranks, Seeds, default_seed
from bale.torch._loader.sampler_tracking import GivenSampler
from bale.torch._ranks import OrderedSampler, Sampler
from bale.torch._samples import IGNORE_INDEX, Spec
from bale.transforms._translation.translation import firsts, views_of_loader

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from bale.torch._loader.dataloader_names import LoaderOptions


@_docs.loader
class Loader(LoaderBase, dataloader_names.Attributes):
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
    spec : path, sequence of paths, bale.Dataset, bale.torch.Dataset, Subset or dict
        A packed dataset, or several; or a bale.torch.Dataset without transforms, or a torch Subset of one, as
        random_split makes it. The positions in a sampler and in `order` are then positions in that dataset. A dict from names to
        paths or bale.Datasets is a mixture, and needs shares.
    shuffle : bool, 'block', 'node-local' or 'stream', default True
        "block" shuffles blocks of samples, for long reads from slow storage. "node-local" gives each node a part of the
        shards, the same in every epoch, so that its cache fetches and holds only that part; see docs/SCALE.md for what
        that costs in randomness. "stream": epoch 0 in stored order, in which each block_samples * window_blocks
        (bale.Order) consecutive samples are shuffled with each other; see bale.Loader.
    seed : int or None, default None
        Seed of the order. None: torch.initial_seed() on one rank; 0 on several ranks, which must have the same order
        (as DistributedSampler).
    rank, world_size : int or None, default None
        This process's share of each epoch. None: those of torch.distributed if it is initialized, else $RANK and
        $WORLD_SIZE, else 0 and 1; looked up again when an iteration begins. Pass world_size=1 if a rank should read the
        whole epoch.
    fields : mapping from str to str, Field or None, default None
        Further fields of each sample, as for bale.Loader: the batch has one more element, the last, a dict. Text is a
        list of str, JSON a sequence that parses a row when it is asked for, arrays are tensors, bytes a Ragged. For an
        optional field `NAME.present` is its mask. Tensors are views of the slot, as images are. With mix, `partners`
        has the rows that were mixed in (int64). With a device, tensors and Ragged are copied to it, and text and JSON
        stay in Python.
    with_mask : bool, default False
        Return (images, labels, mask), for tail="uneven" and on_bad_sample="skip". Without it, the last batch of
        tail="uneven" is shorter, and a rank without samples left has one batch less.
    with_samples : bool, default False
        Return one more element, a Samples: positions in the dataset (int64 tensor `indices`), `keys`, and `sources` of a mixture.
    device : torch.device, str, int, bale.Cuda or None, default None
        "cuda", "cuda:N" or a torch.device: tensors on the GPU, for the current stream, copied ahead of time; "cpu" is
        the same as None. The tensors are the loader's memory, which a later batch reuses when the last of them is gone.
        To use them on another stream, clone() them, or make the current stream wait (`Event`) until that stream is
        done. bale.Cuda has more options.
    mix : bale.transforms.Mix or None, default None
        Return (images, (labels, partner_labels, shares)). The loss per image is shares * loss(labels) + (1 - shares) *
        loss(partner_labels). With Mix(num_classes=1000): return (images, soft labels), a float32 tensor N x 1000. Needs
        a float dtype, images of one size, and one view.
    order : bale.Order, default bale.Order()
        Which samples an epoch has: subset, weights, repeats; sizes of blocks; seed of the augmentation. Without augment_seed, that
        is `seed` if it is given, else torch.initial_seed().
    reading : bale.Reading, default bale.Reading()
        How samples are read and decoded: fields of image and label, mode, checksums, time limits, reading ahead.
    **options : object
        Options of DataLoader by their names. Those of `order`, `reading` and `device` (bale.Cuda) that were keywords before work,
        with a DeprecationWarning. where of `order`, labels of `reading`; for a mixture also its shares, epoch_samples and exact_every:
        shares={"web": 7, "coco": 3}.

        - sampler: torch's samplers that are equivalent to shuffle, subset, weights, or rank and world_size; or positions in
          their order. A sampler is made of the Loader's dataset, or of a Subset of it, whose positions are followed. Any
          other Sampler is iterated again for each epoch, on one rank; workers start again then. With it, a state within an
          epoch loads only if the sampler then gives the same samples.
        - batch_sampler: batches of exactly these positions, all but the last of one size. As for other samplers.
        - pin_memory: return page-locked copies if there is a device to which they are copied faster (CUDA; with PyTorch 2.6
          or later XPU and others).
        - drop_last is tail="drop", num_workers is workers, persistent_workers that of `reading`, generator has `seed` as its
          initial seed.
        - collate_fn, prefetch_factor, timeout, worker_init_fn and multiprocessing_context have no meaning here: only their
          defaults are accepted.

    Attributes
    ----------
    transform : Compose, or dict from str to Compose
        The transform of the first view; a dict if sources have their own.

    Raises
    ------
    bale.Error
        As for bale.Loader.
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
    pin_memory: bool

    def __init__(self, spec: Spec | Sources, batch_size: int = 256, *, transform: object = None, views: Sequence[object] | None = None,
                 shuffle: Shuffle = True, seed: int | None = None, workers: int | None = None, threads: bool = False, prefetch: int = 4,
                 rank: int | None = None, world_size: int | None = None, tail: Tail = "pad",
                 fields: Mapping[str, str | Field] | None = None, on_bad_sample: OnBadSample = "fail", with_mask: bool = False,
                 with_samples: bool = False, device: torch.device | str | int | Cuda | None = None,
                 mix: transforms.Mix | None = None, order: Order = Order(), reading: Reading = Reading(),
                 **options: Unpack[LoaderOptions]) -> None:
        theirs, old = dataloader_names.taken_from(options)
        if isinstance(spec, Mapping) and (theirs.get("sampler") is not None or theirs.get("batch_sampler") is not None):
            raise ValueError("sampler: a mixture has an order of its own; leave out the sampler, or give a list of datasets")
        cuda = device if isinstance(device, Cuda) else Cuda(device)
        order, reading, cuda = with_old_keywords("bale.torch.Loader", old, order=order, reading=reading, device=cuda)
        taken = given(spec)
        same = dataloader_names.same
        workers = same("workers", workers, "num_workers", theirs.get("num_workers"), None)
        generator = theirs.get("generator")
        seed = same("seed", seed, "generator", generator and generator.initial_seed() & MAX_SEED, None)
        reading = reading._replace(
            field=same("field", reading.field, "the Dataset's field", taken.field, ""),
            label_field=same("label_field", reading.label_field, "the Dataset's label_field", taken.label_field, ""),
            mode=same("mode", reading.mode, "the Dataset's mode", taken.mode, None),
            no_label=IGNORE_INDEX if reading.no_label == NO_LABEL else reading.no_label,
            persistent_workers=theirs.get("persistent_workers", reading.persistent_workers))
        if not isinstance(spec, Mapping):
            if order.where is not None and taken.positions is not None:
                raise ValueError("where: a Subset chooses samples, too; give its dataset, or a Subset of what Dataset.select() returns")
            order = order._chosen_in(lambda: taken.spec if isinstance(taken.spec, PlainDataset) else PlainDataset(taken.spec))
        reach = Reach(taken, order.subset)
        batch_sampler = theirs.get("batch_sampler")
        dealt = dataloader_names.options_of_samplers(theirs.get("sampler"), batch_sampler, reach)
        order = dataloader_names.order_of(order, dealt)
        made_views = views_of_loader(transform, views, reading.mode)
        # With a subset, `dataset` is as long as an epoch; with a sampler it is whole, as a DataLoader's.
        self._part = order.subset if dealt["sampler"] is None and taken.positions is None else None
        subset, weights = within(taken, order.subset, order.weights)
        self._taken, self._repeats, self._has_weights = taken, order.repeats, weights is not None
        self._ranks = Ranks(dealt.get("rank", rank), dealt.get("world_size", world_size))
        self._seeds = Seeds(dealt.get("seed", seed), order.augment_seed, self._ranks.world_size)
        self._sampler = GivenSampler(dealt["sampler"], dealt.get("drawn"), taken)
        self._sampler.refuse_ranks(self._ranks.world_size)
        self.device = None if cuda.device is None else cuda_device(cuda.device)
        self.generator, self.batch_sampler, self.with_mask, self.with_samples = generator, batch_sampler, with_mask, with_samples
        self.pin_memory, self.persistent_workers = bool(theirs.get("pin_memory")), reading.persistent_workers
        self._open(
            reach.spec, made_views, cuda._replace(device=None if self.device is None else str(self.device)),
            order._replace(subset=subset, weights=weights, augment_seed=self._seeds.augmentation),
            batch_size=dealt.get("batch_size", batch_size), workers=workers, threads=threads, prefetch=prefetch, seed=self._seeds.order,
            shuffle=dealt.get("shuffle", shuffle), rank=self._ranks.rank, world_size=self._ranks.world_size,
            tail=tail_name(tail, bool(dealt.get("drop_last", theirs.get("drop_last", False)))), fields=fields,
            on_bad_sample=on_bad_sample, mix=mix and mix._replace(num_classes=None, label_smoothing=0.0), reading=reading)
        self._convert = Conversion(firsts(made_views), self.device, with_mask=with_mask, with_samples=with_samples,
                                   pin=self.pin_memory and self.device is None and can_pin(),
                                   shortens=tail == "uneven" and not with_mask, mix=mix, fields=fields)

    # --- iterating

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the next epoch; after load_state_dict(), over the rest of that state's. An earlier iterator becomes
        invalid."""
        self._follow_ranks()
        return EpochIterator(self, self._epochs)

    def _seek(self) -> None:
        epoch = self._sampler.newly_set_epoch()
        if epoch is not None:
            self.set_epoch(epoch)
        self._draw()
        self._sampler.is_drawn = False
        place = self._epochs.next_place()
        self._native.seek(place)
        warn_of_states_left(self._native.fingerprint)
        if place.position:
            warn_of_batches_left(self._native.plan(place.position).num_batches, len(self))

    def _take(self) -> object:
        batch = self._next(self._convert.stream)
        if batch is None:
            return None
        converted = self._convert(batch, self._native.keys)
        if converted is not None:
            return converted
        self._returned()
        return self._take()  # an epoch ends before a last batch without rows

    def _begin(self, begun: Begun) -> None:
        self._ranks.begin(begun.place, self._spec, self._native.fingerprint)

    def _returned(self) -> None:
        if self._ranks.are_counted and self._native.is_at_end():  # trainers that count batches do not ask for the end
            self._ranks.end()
        super()._returned()  # last: from then on an interrupt finds the batch in the loop

    def _end(self) -> None:
        self._epochs.leave()
        self._ranks.end()

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self._sampler.set_epoch(epoch)

    set_epoch.__doc__ = LoaderBase.set_epoch.__doc__

    def __len__(self) -> int:
        """Number of batches of a whole epoch. It is the same on every rank, except with tail="uneven" without a mask, where
        a rank without samples left has one less. A resumed epoch has only the batches that are left."""
        if not self._epochs.is_under_way:
            self._follow_ranks()
            if self._sampler.draws and not self._sampler.is_drawn:
                length, counts_batches = self._sampler.length()
                if counts_batches:
                    return length
                self._native.num_deliveries_known = length * self._repeats
        batches = super().__len__()
        if not (self._convert.shortens and batches and self.world_size > 1):
            return batches
        return batches - (self._plan_of_epoch().row(batches - 1, 0) is None)

    # --- what changes after it was made

    def _follow_ranks(self) -> None:
        if not self._ranks.have_changed():
            return
        world_size = self._ranks.world_size
        self._sampler.refuse_ranks(world_size)
        seed = {} if self._seeds.is_known else {"seed": default_seed(world_size)}
        self._make_again(rank=self._ranks.rank, world_size=world_size, **seed)

    def _make_again(self, **options: Any) -> None:
        self._epochs.leave()
        self._native.make_again(**options)

    def _draw(self) -> None:
        """Has the sampler choose the samples of the next pass, if it has no counterpart."""
        if not self._sampler.draws or self._sampler.is_drawn:
            return
        positions, size = self._sampler.draw()
        self._choose(selection_of(len(self._native.keys.dataset), positions, None, None, self._repeats),
                     **({} if size is None else {"batch_size": size}))

    def _choose(self, chosen: _bale.Selection | None, **options: Any) -> None:
        self._epochs.leave()
        self._native.choose(chosen, **options)

    def _stop_shuffling(self) -> None:
        """What Lightning's overfit_batches does with a DataLoader: the samples of its dataset in their order."""
        if isinstance(self._sampler.given, torch.utils.data.SequentialSampler):
            return
        draws = self._sampler.draws or self._has_weights
        if self._native.options["shuffle"] == "none" and not draws:
            return
        warn("bale.torch.Loader: Lightning's overfit_batches wants the same batches in each epoch, so this Loader does not shuffle "
             "any more")
        chosen = self._native.chosen
        if draws:
            positions = self._taken.positions
            chosen = None if positions is None else selection_of(len(self._native.keys.dataset), positions, None, None, 1)
        self._sampler, self._has_weights = GivenSampler(None, None, self._taken), False
        self._choose(chosen, shuffle="none")

    # --- resuming

    def state_dict(self) -> Json:
        """Returns the position after the last batch that was returned, as bale.Loader.state_dict() does, with the seeds.

        A Loader that was given no seed continues with those of the state.

        Returns
        -------
        dict
            Can be pickled and stored as JSON.
        """
        options = self._native.options
        return {**super().state_dict(), "seed": options["seed"], "augment_seed": options["augment_seed"]}

    def load_state_dict(self, state: Json, shares: Mapping[str, Any] | None = None) -> None:
        """Continues at the position of a state.

        Parameters
        ----------
        state : dict
            What state_dict() returned.
        shares : mapping from str to number or str, or None, default None
            Of a mixture: other shares from here on, as for bale.Loader.

        Raises
        ------
        ValueError
            If the state is of another dataset or version of it, selection, shuffle or seed.
        """
        Place.of_state(state, "bale.Loader")  # refuses others before anything changes
        seeds = self._seeds.of_state(state)
        if any(self._native.options[name] != seed for name, seed in seeds.items()):
            self._make_again(**seeds)
        self._follow_ranks()
        if self._sampler.draws:  # within a pass the sampler must choose the samples that it had chosen, or the state is refused
            self._sampler.is_drawn = False
            if state["position"]:
                self._draw()
            else:
                state = {**state, "fingerprint": self._native.fingerprint}
        super().load_state_dict(state, shares)

    def _options_to_pickle(self) -> Options:
        options = super()._options_to_pickle()
        if options.get("generator") is None:  # generators cannot be pickled
            return options
        return {**options, "generator": None, "seed": self._native.options["seed"]}

    # --- what frameworks look for

    @property
    def dataset(self) -> Any:
        """The dataset that was given. For a path its bale.Dataset, or a bale.torch.Dataset if the Loader has a label_field. If the
        order has a `subset`, a torch Subset of it."""
        refuse_to_skip_batches()
        if is_asked_to_overfit():
            self._stop_shuffling()
            raise AttributeError("dataset")  # then Lightning leaves the loader as it is
        if self._taken.dataset is not None and self._part is None:
            return self._taken.dataset
        whole: Any = self._native.keys.dataset  # is one for torch, too
        if label_field := self._native.options["label_field"]:
            whole = Dataset(whole, field=self._native.options["field"] or None, label_field=label_field)
        return whole if self._part is None else Part(whole, cast("Sequence[int]", self._part))

    @property
    def sampler(self) -> Any:
        """The sampler that was given, else a bale.torch.Sampler with set_epoch(), rank, num_replicas and len()."""
        if is_asked_to_overfit():
            self._stop_shuffling()
        if self._sampler.given is not None:
            return self._sampler.given
        return OrderedSampler(self) if self._native.options["shuffle"] == "none" else Sampler(self)

    @property
    def num_workers(self) -> int:
        """Number of workers, an int."""
        return self._native.made.workers


# What DataLoader has and the Loader's workers do not know may be set, and changes nothing there either: Lightning does.
Loader._fixed = (option_names(Loader.__init__) | OLD_KEYWORDS | dataloader_names.TAKEN | {"dataset", "sampler"}) - vars(dataloader_names.Attributes).keys()
