#!/usr/bin/env python3
"""How exactly datasets are mixed on several ranks, and what a resume keeps: bale next to others, with the same shares.

    bench_mixtures.py [--shares 7,2,1] [--sizes 7000,500,100] [--deliveries 20480] [--batch 64] [--ranks 1,2,4,8]

Of each: by how many samples the worst batch of all ranks is off its shares; how far the worst rank's share is off over the run; how many of
a source's first deliveries, as many as it has samples, were repeats, so that others had not come; how many samples came of those asked
for; and whether a state of 4 ranks, taken after a third, continues on 3 with exactly the samples that were left.

Sources are numbers; LitData and streaming, which read files, get them packed in a temporary directory. Each other deals to ranks as its
manual says: LitData, streaming and webdataset by themselves, `datasets` by split_dataset_by_node, Grain by mixed[rank::ranks]. Needs the
built package (PYTHONPATH=build/python) and `pip install datasets grain webdataset litdata mosaicml-streaming`; what is not installed is left
out. (streaming and datasets need different versions of huggingface-hub: run it in two environments.)
"""
import argparse
import collections
import itertools
import os
import pathlib
import random
import tempfile

SEED = 1
STOP, LATER = 4, 3  # ranks before and after the resume


def interleaved(ranks):
    """What the ranks deliver, position by position."""
    return [row for rows in itertools.zip_longest(*ranks) for row in rows if row is not None]


class Mixer:
    """A library. ranks() is (source, sample) of each rank's deliveries; resumed() those of LATER ranks after `done` of STOP ranks, or why not."""

    def __init__(self, sizes, shares, count, batch, folder):
        self.sizes, self.shares, self.count, self.batch, self.folder = sizes, shares, count, batch, folder
        self.parts = [share / sum(shares) for share in shares]
        self.prepare()

    def prepare(self):
        pass

    def ranks(self, world):
        raise NotImplementedError

    def resumed(self, done):
        return "no state"


class Bale(Mixer):
    name = "bale"

    def prepare(self):
        from bale import _bale
        self.bale = _bale
        self.order = _bale.EpochOrder(_bale.Selection.mixture(self.sizes, self.shares, [], self.count, self.batch, 1, 0, []), "full", 64, 16, SEED)
        self.starts = list(itertools.accumulate(self.sizes, initial=0))[:-1]

    def ranks(self, world, start=0):
        def row(plan, batch, i):
            sample = self.order.sample(0, plan.row(batch, i))
            source = max(number for number, begin in enumerate(self.starts) if begin <= sample)
            return source, sample - self.starts[source]
        plans = [self.bale.RankPlan(self.count, start, self.batch, rank, world, "uneven") for rank in range(world)]
        return [[row(plan, batch, i) for batch in range(plan.num_batches) for i in range(plan.num_rows(batch)) if plan.row(batch, i) is not None]
                for plan in plans]

    def resumed(self, done):
        return self.ranks(LATER, done)


class Datasets(Mixer):
    name = "datasets interleave"

    def mixed(self, rank, world):
        import datasets
        from datasets.distributed import split_dataset_by_node
        datasets.disable_progress_bars()
        parts = [datasets.Dataset.from_dict({"source": [i] * size, "sample": list(range(size))}).shuffle(SEED).to_iterable_dataset()
                 for i, size in enumerate(self.sizes)]
        mixed = datasets.interleave_datasets(parts, probabilities=self.parts, seed=SEED, stopping_strategy="all_exhausted")
        return split_dataset_by_node(mixed, rank, world)

    def ranks(self, world):
        return [[(row["source"], row["sample"]) for row in itertools.islice(self.mixed(rank, world), self.count // world)] for rank in range(world)]

    def resumed(self, done):
        states = []
        for rank in range(STOP):
            one = self.mixed(rank, STOP)
            list(itertools.islice(one, done // STOP))
            states.append(one.state_dict())
        found = []
        for rank in range(LATER):
            one = self.mixed(rank, LATER)
            one.load_state_dict(states[rank])
            found.append([(row["source"], row["sample"]) for row in itertools.islice(one, (self.count - done) // LATER)])
        return found


class Grain(Mixer):
    name = "grain.MapDataset.mix"

    def mixed(self, rank, world):
        import grain
        parts = [grain.MapDataset.source([(i, sample) for sample in range(size)]).seed(SEED).shuffle().repeat() for i, size in enumerate(self.sizes)]
        return grain.MapDataset.mix(parts, weights=self.parts)[rank::world].to_iter_dataset()

    def ranks(self, world):
        return [list(itertools.islice(self.mixed(rank, world), self.count // world)) for rank in range(world)]

    def resumed(self, done):
        found = []
        for rank in range(LATER):
            before, after = iter(self.mixed(rank, STOP)), iter(self.mixed(rank, LATER))
            list(itertools.islice(before, done // STOP))
            after.set_state(before.get_state())
            found.append(list(itertools.islice(after, (self.count - done) // LATER)))
        return found


def endless(part):
    while True:
        yield from random.sample(part, len(part))


class WebDataset(Mixer):
    name = "webdataset.RandomMix"

    def ranks(self, world):
        import webdataset
        found = []
        for rank in range(world):
            random.seed(SEED + rank)
            # 16 shards per source, which split_by_node deals out; repeated without end, as its manual says for training.
            parts = [[(i, sample) for sample in range(size) if sample * 16 // size % world == rank] for i, size in enumerate(self.sizes)]
            mixed = webdataset.RandomMix([endless(part) for part in parts], self.parts)
            found.append(list(itertools.islice(mixed, self.count // world)))
        return found


def same(row):
    return row


class LitData(Mixer):
    name = "litdata combined"

    def prepare(self):
        import litdata
        self.lit = litdata
        for i, size in enumerate(self.sizes):
            litdata.optimize(fn=same, inputs=[(i, sample) for sample in range(size)], output_dir=str(self.folder / f"lit{i}"), chunk_size=max(1, size // 16),
                             num_workers=1, verbose=False)

    def mixed(self, rank, world):
        from litdata.utilities.env import _DistributedEnv
        parts = []
        for i in range(len(self.sizes)):
            part = self.lit.StreamingDataset(str(self.folder / f"lit{i}"), shuffle=True, seed=SEED)
            part.distributed_env = _DistributedEnv(world, rank, 1)
            parts.append(part)
        return self.lit.CombinedStreamingDataset(parts, weights=self.parts, seed=SEED, iterate_over_all=False)

    def ranks(self, world):
        return [list(itertools.islice(self.mixed(rank, world), self.count // world)) for rank in range(world)]

    def resumed(self, done):
        states, found = [], []
        for rank in range(STOP):
            one = self.mixed(rank, STOP)
            list(itertools.islice(one, done // STOP))
            states.append(one._iterator._num_samples_yielded)
        one = self.mixed(0, STOP)
        state = one.state_dict(0, self.batch, states[0])  # one rank's, as it is stored
        for rank in range(LATER):
            one = self.mixed(rank, LATER)
            one.load_state_dict({"dataset": state, "num_samples_yielded": {0: states[0]}})
            found.append(list(itertools.islice(one, (self.count - done) // LATER)))
        return found


class Streaming(Mixer):
    name = "streaming stratified"
    method = "stratified"

    def prepare(self):
        import streaming
        for i, size in enumerate(self.sizes):
            with streaming.MDSWriter(out=str(self.folder / f"mds{i}"), columns={"sample": "int"}, size_limit=max(200, 20 * size // 16)) as out:
                for sample in range(size):
                    out.write({"sample": sample})
        streams = [streaming.Stream(local=str(self.folder / f"mds{i}"), proportion=part) for i, part in enumerate(self.parts)]
        self.dataset = streaming.StreamingDataset(streams=streams, epoch_size=self.count, shuffle=True, shuffle_seed=SEED, batch_size=self.batch,
                                                  num_canonical_nodes=1, batching_method=self.method, shuffle_block_size=1 << 18)

    def ranks(self, world, start=0):
        """Of its own plan for any world."""
        from streaming.base.batching import generate_work
        from streaming.base.world import World
        work = generate_work(self.method, self.dataset, World(num_nodes=1, ranks_per_node=world, workers_per_rank=1, worker=0), 0, start)
        starts = list(itertools.accumulate(self.sizes, initial=0))[:-1]

        def row(sample):
            source = max(number for number, begin in enumerate(starts) if begin <= sample)
            return source, int(sample) - starts[source]
        return [[row(sample) for sample in work[0, rank].ravel() if sample >= 0] for rank in range(world)]

    def resumed(self, done):
        return self.ranks(LATER, done)


class StreamingRandom(Streaming):
    name, method = "streaming random", "random"

    def prepare(self):
        from streaming.base.util import clean_stale_shared_memory
        clean_stale_shared_memory()
        self.folder = self.folder / "random"
        super().prepare()


def off(rows, parts):
    counts = collections.Counter(source for source, _ in rows)
    return max(abs(counts[i] - len(rows) * part) for i, part in enumerate(parts))


def verdict(mixer, world_ranks, done):
    """Whether the samples that were left come, in any order, and no others."""
    try:
        rest = mixer.resumed(done)
    except Exception as error:  # noqa: BLE001 - it says that it is not possible
        return f"refused: {type(error).__name__}"
    if isinstance(rest, str):
        return rest
    wanted = interleaved(world_ranks)[done:]
    got = interleaved(rest)
    if got == wanted[:len(got)] and len(wanted) - len(got) < LATER:
        return "exactly"
    wrong = sum((collections.Counter(got) - collections.Counter(wanted)).values())
    return f"{wrong} of {len(got)} wrong"


def measure(make, worlds, *given):
    sizes, shares, count, batch, _ = given
    try:
        mixer = make(*given)
        of_worlds = {world: mixer.ranks(world) for world in {*worlds, STOP}}
    except ImportError as missing:
        print(f"{make.name:<24} not installed: {missing.name}")
        return
    for world in worlds:
        ranks = of_worlds[world]
        rows = interleaved(ranks)
        step = batch * world
        batches = max((off(rows[at:at + step], mixer.parts) for at in range(0, len(rows) - step + 1, step)), default=float("nan"))
        by_rank = max(off(rank, mixer.parts) / max(1, len(rank)) for rank in ranks)
        repeats = []
        for i, size in enumerate(sizes):
            first = [sample for source, sample in rows if source == i][:size]
            repeats.append(f"{len(first) - len(set(first))}")
        done = len(rows) // 3 // (STOP * batch) * (STOP * batch)
        resumes = verdict(mixer, of_worlds[STOP], done) if world == STOP else ""
        print(f"{make.name:<24} {world:>5} {batches:>10.1f} {by_rank:>9.1%} {'/'.join(repeats):>14} {len(rows):>9} {resumes:>22}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("shares", "7,2,1"), ("sizes", "7000,500,100"), ("ranks", "1,2,4,8")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--deliveries", type=int, default=20480)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    shares, sizes, worlds = ([int(number) for number in text.split(",")] for text in (args.shares, args.sizes, args.ranks))
    print(f"{'':<24} {'ranks':>5} {'batch off':>10} {'rank off':>9} {'repeats':>14} {'delivered':>9} {f'{STOP} -> {LATER} ranks':>22}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("HF_HOME", folder)
        for make in (Bale, Datasets, Grain, WebDataset, LitData, Streaming, StreamingRandom):
            measure(make, worlds, sizes, shares, args.deliveries, args.batch, pathlib.Path(folder))


if __name__ == "__main__":
    main()
