#!/usr/bin/env python3
"""What a cache with room for a part of its datasets fetches, by the rule that chooses what is removed. A simulation with samples of one size.

    simulate_cache.py       # fetched bytes, in sizes of all data, for several jobs, with room for half and for a tenth of the data

The rules:
    optimum    knows the uses of all jobs: the farthest next use is removed (Belady's MIN)
    clock      bale's (formats/storage/cache): one next use per sample, the soonest that is known of those that jobs announced
    hold       fills the cache and removes nothing that a running job has used; the rest by LRU
    hold+1/16  the same with a sixteenth of the room for what passes through, without which nothing can be read ahead
    LRU        what was not used for the longest time is removed
"""
import bisect
import heapq
import random

SAMPLES = 1000
FOREVER = float("inf")


class Job:
    """What one job reads: uses[i] = (tick, sample). Its clock counts the deliveries of its order."""

    def __init__(self, samples, pace=1.0, begin=0.0, order=None, announced=None):
        """`order`: jobs with the same number share a clock; None: it draws, and announces nothing. `announced`: the order of all nodes."""
        self.uses = [(begin + i * pace, sample) for i, sample in enumerate(samples)]
        self.end = self.uses[-1][0]
        self.order = order
        known = announced or samples
        self.per_use = len(known) // len(samples)
        self.times = {}
        for time, sample in enumerate(known):
            self.times.setdefault(sample, []).append(time)

    def next_use(self, sample, time):
        times = self.times[sample]
        at = bisect.bisect_right(times, time)
        return times[at] if at < len(times) else FOREVER


class Pace:
    """formats/storage/cache/entries/order_table.cpp: how far an order is, and how long it is until a use."""

    def __init__(self, time, tick):
        self.first, self.first_tick = time, tick
        self.note(time, tick)

    def note(self, time, tick):
        if time < self.first:
            self.first, self.first_tick = time, tick
        self.now, self.last_tick = time, tick

    def ticks_until(self, time, tick):
        if time <= self.now:
            return None
        pace = max(self.last_tick - self.first_tick, 1) / max(self.now - self.first, 1)
        return max((time - self.now) * pace, tick - self.last_tick)


def epochs(seed, count, samples=range(SAMPLES)):
    rng = random.Random(seed)
    return [sample for _ in range(count) for sample in rng.sample(samples, len(samples))]


def merged(jobs):
    return sorted((time, number, sample) for number, job in enumerate(jobs) for time, sample in job.uses)


def optimum(jobs, room):
    uses = [sample for _, _, sample in merged(jobs)]
    following, seen = [0] * len(uses), {}
    for at in range(len(uses) - 1, -1, -1):
        following[at] = seen.get(uses[at], len(uses) + at)
        seen[uses[at]] = at
    return ranked(uses, room, lambda at: -following[at])


def lru(jobs, room):
    return ranked([sample for _, _, sample in merged(jobs)], room, lambda at: at)


def ranked(uses, room, rank_of):
    """Removes what has the lowest rank, which each use sets again."""
    fetched, cached, heap = 0, {}, []
    for at, sample in enumerate(uses):
        fetched += sample not in cached
        cached[sample] = rank_of(at)
        heapq.heappush(heap, (cached[sample], sample))
        while len(cached) > room:
            rank, victim = heapq.heappop(heap)
            if cached.get(victim) == rank:
                del cached[victim]
    return fetched


def clock(jobs, room):
    """One next use per sample. It is announced at each use, and again shortly before it by reading ahead."""
    fetched, cached, last, orders = 0, {}, {}, {}
    ahead, slack = room // 16, max(room // 128, 1)

    def ticks_until(use, tick):
        return None if use is None else orders[use[0]].ticks_until(use[1], tick)

    def announce(job, sample, use, now, tick):
        orders.setdefault(job.order, Pace(now, tick)).note(now, tick)
        known, new = ticks_until(cached[sample], tick), ticks_until((job.order, use), tick)
        if known is None or (new is not None and new < known):
            cached[sample] = (job.order, use)

    position = [0] * len(jobs)
    for tick, number, sample in merged(jobs):
        job = jobs[number]
        fetched += sample not in cached
        cached.setdefault(sample)
        last[sample] = tick
        if job.order is not None:
            now = position[number] * job.per_use
            announce(job, sample, job.next_use(sample, now), now, tick)
            soon = position[number] + ahead
            if soon < len(job.uses) and job.uses[soon][1] in cached:
                announce(job, job.uses[soon][1], soon * job.per_use, now, tick)
        position[number] += 1
        if len(cached) > room:
            def rank(sample):
                ticks = ticks_until(cached[sample], tick)
                return tick - last[sample] if ticks is None else ticks
            for victim in heapq.nlargest(len(cached) - room + slack - 1, cached, key=rank):
                del cached[victim]
    return fetched


def hold(jobs, room, staging=0):
    """What finds no room passes through `staging`, first in, first out."""
    fetched, cached, passing = 0, {}, {}
    room -= staging
    for time, number, sample in merged(jobs):
        if sample in cached:
            cached[sample] = cached.pop(sample) | {number}  # the most recent use is the last one
            continue
        fetched += sample not in passing
        if len(cached) < room:
            cached[sample] = {number}
            continue
        victim = next((known for known, users in cached.items() if all(jobs[user].end < time for user in users)), None)
        if victim is not None:
            del cached[victim]
            cached[sample] = {number}
        else:
            passing.pop(sample, None)
            passing[sample] = None
            if len(passing) > staging:
                del passing[next(iter(passing))]
    return fetched


def weighted(seed, count, weights):
    return random.Random(seed).choices(range(SAMPLES), weights, k=count)


def node_share(seed, count, nodes):
    """What one of several nodes reads of full shuffles, and the whole order."""
    whole = epochs(seed, count)
    return whole[::nodes], whole


def cases():
    halves = range(SAMPLES // 2), range(SAMPLES // 2, SAMPLES)
    share, whole = node_share(1, 16, 4)
    draws = Job(weighted(1, 4 * SAMPLES, [1] * SAMPLES))
    yield "one job", [Job(epochs(1, 4), order=1)]
    yield "two jobs, two orders", [Job(epochs(1, 4), order=1), Job(epochs(2, 4), order=2)]
    yield "two jobs, two orders, one twice as fast", [Job(epochs(1, 4), order=1), Job(epochs(2, 8), pace=0.5, order=2)]
    for lag in (0.01, 0.1, 0.5):
        yield (f"two jobs, one order, {lag:.0%} of an epoch apart",
               [Job(epochs(1, 4), order=1), Job(epochs(1, 4), begin=lag * SAMPLES, order=1)])
    yield "two datasets", [Job(epochs(1, 4, halves[0]), order=1), Job(epochs(2, 4, halves[1]), order=2)]
    yield "two datasets, one 4 times as fast", [Job(epochs(1, 4, halves[0]), order=1), Job(epochs(2, 16, halves[1]), pace=0.25, order=2)]
    yield ("two datasets, one after the other",
           [Job(epochs(1, 4, halves[0]), order=1), Job(epochs(2, 4, halves[1]), begin=2 * SAMPLES + 1, order=2)])
    yield "node-local, one of 4 nodes", [Job(epochs(1, 4, range(SAMPLES // 4)), order=1)]
    yield "full shuffle, one of 4 nodes, 16 epochs", [Job(share, order=1, announced=whole)]
    yield "draws", [draws]
    yield "draws, weights 1 to 10", [Job(weighted(1, 4 * SAMPLES, [1 + 9 * i / SAMPLES for i in range(SAMPLES)]))]
    yield "draws, weights 1/rank", [Job(weighted(1, 4 * SAMPLES, [1 / (1 + i) for i in range(SAMPLES)]))]
    yield "draws, and a full shuffle", [draws, Job(epochs(2, 4), order=2)]


def main():
    rules = {"optimum": optimum, "clock": clock, "hold": hold, "hold+1/16": lambda jobs, room: hold(jobs, room, room // 16), "LRU": lru}
    print(f"{'':<43}room" + "".join(f"{name:>11}" for name in rules))
    for name, jobs in cases():
        for part in (0.5, 0.1):
            fetched = [rule(jobs, int(part * SAMPLES)) / SAMPLES for rule in rules.values()]
            print(f"{name:<43}{part:>4}" + "".join(f"{times:>11.2f}" for times in fetched), flush=True)


if __name__ == "__main__":
    main()
