"""Mutations of what training scripts expect of a loader that stands in a DataLoader's place."""
from mutations.mutation import Mutation

USAGE = ("python", "tests/python/test_python_torch_usage.py")
SCRIPTS = ("python", "tests/python/test_python_scripts.py")
RANKS = ("python", "tests/python/test_python_ranks.py", "-k", "do_not_know")

MUTATIONS = [
    Mutation("the epoch of a given sampler is lost", "python/bale/torch/following.py",
             "            self.set_epoch(dealer.epoch)\n", "            pass\n", (*SCRIPTS, "-k", "resume")),
    Mutation("a sampler's epoch is followed only when it is not 0", "python/bale/torch/following.py",
             "(self._epochs_are_set or dealer.epoch != self._first_epoch_of_sampler)", "dealer.epoch",
             (*USAGE, "-k", "given_sampler")),
    Mutation("next(iter(loader)) gives one batch forever", "python/bale/torch/following.py",
             "else self.epoch + 1", "else self.epoch", (*SCRIPTS, "-k", "list")),
    Mutation("an epoch that was set is not begun again", "python/bale/torch/following.py",
             "        self._epochs_are_set = True\n", "", (*USAGE, "-k", "broke_off")),
    Mutation("ranks begin different epochs", "python/bale/torch/following.py",
             " or self.world_size > 1 else", " else", (*USAGE, "-k", "broke_off")),
    Mutation("a Loader keeps the rank that it was made with", "python/bale/torch/following.py",
             "        self._follow_ranks()\n        dealer", "        dealer", (*USAGE, "-k", "ranks_are_followed")),
    Mutation("ranks have orders of their own", "python/bale/torch/following.py",
             '            self._options["seed"] = default_seed(self.world_size)\n', "            pass\n",
             (*USAGE, "-k", "ranks_are_followed")),
    Mutation("a state is lost when ranks are followed", "python/bale/torch/following.py",
             "super().state_dict() if self._resumed else None", "None", (*USAGE, "-k", "ranks_are_followed")),
    Mutation("ranks that do not know each other train in silence", "python/bale/torch/ranks.py",
             "int(launched) > world_size:", "False:", RANKS),
    Mutation("a process per GPU is taken for one too few", "python/bale/torch/ranks.py",
             "int(launched) > world_size:", "int(launched) != world_size:", RANKS),
    Mutation("each look at the ranks is a warning", "python/bale/torch/ranks.py", "@functools.cache\n", "", RANKS),
    Mutation("positions in a Subset are taken for those in its dataset", "python/bale/torch/dataloader_names.py",
             "        return places[np.asarray(subset, np.int64)], weights\n", "        return subset, weights\n",
             (*USAGE, "-k", "in_place_of_a_path")),
    Mutation("a Subset of a Subset is taken for one of the dataset", "python/bale/torch/given.py",
             "[places[i] for i in spec.indices]", "spec.indices", (*USAGE, "-k", "in_place_of_a_path")),
    Mutation("a Dataset's transform is ignored", "python/bale/torch/given.py",
             "        if getattr(dataset, name) is not None:", "        if False:", (*USAGE, "-k", "in_place_of_a_path")),
    Mutation("attributes that change nothing may be set", "python/bale/torch/loader.py",
             "        self._is_made = True\n", "", (*USAGE, "-k", "attributes")),
    Mutation("a sampler's drop_last leaves out whole batches", "python/bale/torch/loader.py",
             "        rank, world_size = dealt.get(\"rank\", rank), dealt.get(\"world_size\", world_size)\n",
             "        rank, world_size = dealt.get(\"rank\", rank), dealt.get(\"world_size\", world_size)\n"
             "        drop_last = drop_last or getattr(sampler, \"drop_last\", False)\n",
             (*USAGE, "-k", "names_of")),
    Mutation("the dataset of a subset is the whole", "python/bale/torch/loader.py",
             'whole if self._part is None else Part(whole, cast("Sequence[int]", self._part))', "whole", (*USAGE, "-k", "has_its_length")),
]
