#!/usr/bin/env python3
"""How exactly datasets are mixed: bale next to Hugging Face datasets and Grain, with the same shares, in one run.

    bench_mixtures.py [--shares 7,2,1] [--sizes 7000,500,100] [--deliveries 20000] [--batch 64] [--ranks 2]

Of each: how far the counts of a batch of all ranks are from their shares, how far one rank's are over the whole run if rank r
takes the positions r, r + ranks, ..., how many samples of a source were seen before one of it was seen again, and the microseconds per
position. Nothing is read: sources are numbers. Needs the built package (PYTHONPATH=build/python), and `pip install datasets grain`
for the others; one that is not installed is left out.
"""
import argparse
import time


def of_bale(sizes, shares, count, batch, seed=1):
    from bale import _bale
    selection = _bale.Selection.mixture(sizes, shares, [], count, batch, 1, 0, [])
    order = _bale.EpochOrder(selection, "full", 64, 16, seed)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    for position in range(count):
        sample = order.sample(0, position)
        source = max(i for i, start in enumerate(starts) if start <= sample)
        yield source, sample - starts[source]


def of_datasets(sizes, shares, count, batch, seed=1):
    import datasets
    datasets.disable_progress_bars()
    parts = [datasets.Dataset.from_dict({"source": [i] * size, "sample": list(range(size))}).shuffle(seed) for i, size in enumerate(sizes)]
    mixed = datasets.interleave_datasets(parts, probabilities=[share / sum(shares) for share in shares], seed=seed, stopping_strategy="all_exhausted")
    for row in mixed.select(range(min(count, len(mixed)))):
        yield row["source"], row["sample"]


def of_grain(sizes, shares, count, batch, seed=1):
    import grain
    parts = [grain.MapDataset.source([(i, sample) for sample in range(size)]).seed(seed).shuffle().repeat() for i, size in enumerate(sizes)]
    mixed = grain.MapDataset.mix(parts, weights=[share / sum(shares) for share in shares])
    for position in range(count):
        yield mixed[position]


def measure(name, make, sizes, shares, count, batch, ranks):
    begin = time.perf_counter()
    try:
        rows = list(make(sizes, shares, count, batch))
    except ImportError as missing:
        print(f"{name:<26} not installed: {missing.name}")
        return
    seconds = time.perf_counter() - begin
    total = sum(shares)
    sources = [source for source, _ in rows]

    def off(part):
        return max(abs(part.count(i) - len(part) * share / total) for i, share in enumerate(shares))
    batches = max(off(sources[at:at + batch]) for at in range(0, len(sources) - batch + 1, batch))
    by_rank = max(off(sources[rank::ranks]) / len(sources[rank::ranks]) for rank in range(ranks))
    fresh = []
    for i, size in enumerate(sizes):
        seen = set()
        for source, sample in rows:
            if source == i:
                if sample in seen:
                    break
                seen.add(sample)
        fresh.append(f"{len(seen)} of {size}")
    print(f"{name:<26} {batches:>12.1f} {by_rank:>14.2%} {', '.join(fresh):>38} {seconds / len(rows) * 1e6:>8.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shares", default="7,2,1")
    parser.add_argument("--sizes", default="7000,500,100")
    parser.add_argument("--deliveries", type=int, default=20000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--ranks", type=int, default=2)
    args = parser.parse_args()
    shares, sizes = ([int(number) for number in text.split(",")] for text in (args.shares, args.sizes))
    print(f"{'':<26} {'batch off by':>12} {'rank off by':>14} {'distinct before the first repeat':>38} {'us each':>8}")
    for name, make in (("bale", of_bale), ("datasets interleave", of_datasets), ("grain MapDataset.mix", of_grain)):
        measure(name, make, sizes, shares, args.deliveries, args.batch, args.ranks)


if __name__ == "__main__":
    main()
