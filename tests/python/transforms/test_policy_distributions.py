"""Augmentation policies draw as torchvision's and timm's own code does: the same operations as often, with the same arguments.

Both sides have fixed seeds. Bounds are so wide that equal distributions exceed them once in a million seeds."""
from bisect import bisect_right
from collections import Counter, defaultdict
from math import sqrt

import pytest
from policy_support import ours, timms, torchvisions

COUNT = 8_000
MIX_COUNT = 800
DEVIATIONS = 6
KOLMOGOROV = 3.0  # the chance of a larger sqrt(nm / (n + m)) * distance is 2 exp(-18)


def arguments(draws):
    """Of each operation. Rounded, because torchvision's have the precision of float32."""
    found = defaultdict(list)
    for steps in draws:
        for name, *rest in steps:
            found[name].append(round(rest[0], 4))
    return found


def check_frequency(what, first, first_total, second, second_total):
    rate = (first + second) / (first_total + second_total)  # above 1 for what a draw has several of
    bound = DEVIATIONS * sqrt(rate * (1 / first_total + 1 / second_total))
    assert abs(first / first_total - second / second_total) <= bound, (what, first, first_total, second, second_total)


def check_arguments(what, first, second):
    first, second = sorted(first), sorted(second)
    distance = max(abs(bisect_right(first, value + 1e-3) / len(first) - bisect_right(second, value + 1e-3) / len(second))
                   for value in {*first, *second})
    assert distance * sqrt(len(first) * len(second) / (len(first) + len(second))) <= KOLMOGOROV, what


def check_values(what, first, second):
    """Few values are the same ones, if they are frequent."""
    frequent = [value for value, count in Counter(first).items() if count >= 30]
    if len(set(first)) > 100:
        return
    for value in frequent:
        assert any(abs(value - other) <= 2e-4 for other in set(second)), (what, value, sorted(set(second)))


def check_same(first, second):
    ours_found, their_found = arguments(first), arguments(second)
    assert ours_found.keys() == their_found.keys()
    for name in ours_found:
        mine, theirs = ours_found[name], their_found[name]
        check_frequency(name, len(mine), len(first), len(theirs), len(second))
        check_arguments(name, mine, theirs)
        check_values(name, mine, theirs)
        check_values(name, theirs, mine)
    for length in range(4):
        check_frequency(f"{length} steps", sum(len(steps) == length for steps in first), len(first),
                        sum(len(steps) == length for steps in second), len(second))


def mixtures(draws):
    """Shares and weights as steps of their own; and the steps of all chains."""
    parts = [[("share", share), *(("weight", weight) for weight in weights)] for ((_, share, weights, _),) in draws]
    chains = [sum(chains, []) for ((_, _, _, chains),) in draws]
    return parts, chains


POLICIES = [("TrivialAugmentWide", {}, COUNT), ("TrivialAugmentWide", {"num_magnitude_bins": 7}, COUNT // 2),
            ("RandAugment", {}, COUNT // 2), ("RandAugment", {"num_ops": 3, "magnitude": 5, "num_magnitude_bins": 11}, COUNT // 2),
            ("AutoAugment", {"policy": "imagenet"}, COUNT // 2), ("AutoAugment", {"policy": "cifar10"}, COUNT // 2),
            ("AutoAugment", {"policy": "svhn"}, COUNT // 2)]
MIXES = [("AugMix", {}, MIX_COUNT),
         ("AugMix", {"severity": 8, "mixture_width": 2, "chain_depth": 2, "alpha": 0.4, "all_ops": False}, MIX_COUNT)]


@pytest.fixture(scope="module")
def recorded():
    return torchvisions([*POLICIES, *MIXES])


@pytest.mark.parametrize("number", range(len(POLICIES)), ids=[f"{name}-{options}" for name, options, _ in POLICIES])
def test_policies_draw_as_torchvisions(recorded, number):
    name, options, count = POLICIES[number]
    check_same(ours(name, count, **options), recorded[number])


@pytest.mark.parametrize("number", range(len(MIXES)), ids=["default", "partial"])
def test_augmix_draws_as_torchvisions(recorded, number):
    name, options, count = MIXES[number]
    theirs = mixtures(recorded[len(POLICIES) + number])
    for mine, their in zip(mixtures(ours(name, count, **options)), theirs):
        check_same(mine, their)


@pytest.mark.parametrize("config", [
    "rand-m9-mstd0.5-inc1", "rand-m7-n3-p0.7", "rand-m15-mmax20-mstd3-inc1", "rand-m8-mstd101", "rand-m9-tweights-n3",
    "rand-m6-t3a-p1.0", "rand-m6-mstd1-t3aw-n4", "original-mstd0.5", "originalr", "v0", "v0r-mstd1", "3a"])
def test_timms_configurations_draw_as_timm(config):
    check_same(ours("TimmAutoAugment", COUNT // 2, config=config), timms(config, COUNT // 2))


@pytest.mark.parametrize("config", ["augmix-m5-w4-d2", "augmix-mstd1-a0.3", "augmix"])
def test_timms_augmix_draws_as_timm(config):
    (mine, my_chains), (theirs, their_chains) = (mixtures(draws) for draws in (
        ours("TimmAutoAugment", MIX_COUNT, config=config), timms(config, MIX_COUNT)))
    check_same([steps[:1] for steps in mine], theirs)  # of timm only Image.blend's alpha is seen
    check_same(my_chains, their_chains)
