"""What the loader draws for an image: to the letter torchvision's get_params over our generator, and in distribution
torchvision's own.
"""
import functools
import math

import numpy as np
import pytest
from augment_support import JITTER, draws, replay

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix64(x):
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


class KeyedRandom:
    def __init__(self, *parts):
        self.state = 0
        for part in parts:
            self.state = mix64((self.state + GAMMA + mix64((part + GAMMA) & MASK)) & MASK)

    def next(self):
        self.state = (self.state + GAMMA) & MASK
        return mix64(self.state)

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53

    def below(self, bound):
        while True:
            product = self.next() * bound
            if product & MASK >= bound or product & MASK >= -bound % (1 << 64) % bound:
                return product >> 64


def torchvision_crop(random, width, height, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    """RandomResizedCrop.get_params, line by line, over our generator."""
    area = height * width
    log_ratio = [math.log(r) for r in ratio]
    for _ in range(10):
        target_area = area * (scale[0] + (scale[1] - scale[0]) * random.uniform())
        aspect_ratio = math.exp(log_ratio[0] + (log_ratio[1] - log_ratio[0]) * random.uniform())
        w = int(round(math.sqrt(target_area * aspect_ratio)))
        h = int(round(math.sqrt(target_area / aspect_ratio)))
        if 0 < w <= width and 0 < h <= height:
            i = random.below(height - h + 1)
            j = random.below(width - w + 1)
            return [j, i, w, h]
    in_ratio = float(width) / float(height)
    w, h = width, height
    if in_ratio < min(ratio):
        h = int(round(w / min(ratio)))
    elif in_ratio > max(ratio):
        w = int(round(h * max(ratio)))
    return [(width - w) // 2, (height - h) // 2, w, h]


@pytest.mark.parametrize("size", [(500, 375), (375, 500), (224, 224), (7, 5), (1, 1), (1000, 20), (20, 1000), (6000, 4000)])
def test_draws_follow_get_params_to_the_letter(size):
    key = (11, 5)
    for sample, draw in enumerate(draws(*size, 500, seed=key[0], epoch=key[1], jitter="0.4,0.4,0.4,0.1", gray=0.2)):
        assert draw["crop"] == torchvision_crop(KeyedRandom(*key, sample, 0, 1), *size), sample
        assert draw["flip"] == (KeyedRandom(*key, sample, 0, 2).uniform() < 0.5)
        assert draw["gray"] == (KeyedRandom(*key, sample, 0, 8).uniform() < 0.2)
        hue = KeyedRandom(*key, sample, 0, 7).uniform()
        assert draw["factors"][3] == -0.1 + (0.1 - -0.1) * hue


def distance(ours, theirs):
    """Kolmogorov and Smirnov's: the largest difference of the two empirical distribution functions."""
    at = np.union1d(ours, theirs)
    shares = [np.searchsorted(np.sort(sample), at, side="right") / len(sample) for sample in (ours, theirs)]
    return float(abs(shares[0] - shares[1]).max())


def crop_statistics(rows, size):
    x, y, w, h = rows[:, :4].T
    free_x, free_y = size[0] - w, size[1] - h
    return {"w": w, "h": h, "area": w * h, "ratio": w / h, "x": x[free_x > 0] / free_x[free_x > 0],
            "y": y[free_y > 0] / free_y[free_y > 0]}


COUNT = 20000
# Two samples of 20,000 from one distribution are farther apart than this once in 100,000 times.
BOUND = math.sqrt(-math.log(1e-5 / 2) / COUNT)
DISTRIBUTION_SIZES = [(500, 375), (375, 500), (300, 60)]


def our_rows(size):
    found = draws(*size, COUNT, seed=20, jitter=",".join(map(str, JITTER)), gray=0.2)
    rows = np.array([[*d["crop"], *d["order"], *d["factors"]] for d in found])
    return rows, np.array([d["flip"] for d in found]), np.array([d["gray"] for d in found])


@functools.cache
def torchvision_rows(size):
    out = replay("torchvision", "params", image=size, count=COUNT, seed=30, jitter=JITTER)
    return np.frombuffer(out).reshape(COUNT, 12)


def distances(rows, size):
    ours, theirs = crop_statistics(rows, size), crop_statistics(torchvision_rows(size), size)
    return {name: distance(ours[name], theirs[name]) for name in ours}


@pytest.mark.parametrize("size", DISTRIBUTION_SIZES)
def test_draws_are_distributed_as_torchvisions(size):
    rows, flip, gray = our_rows(size)
    assert max(distances(rows, size).values()) < BOUND, distances(rows, size)
    theirs = torchvision_rows(size)
    for column in range(8, 12):
        assert distance(rows[:, column], theirs[:, column]) < BOUND, column
    five_sigma = 5 / math.sqrt(COUNT)
    assert abs(flip.mean() - 0.5) < five_sigma * 0.5
    assert abs(gray.mean() - 0.2) < five_sigma * 0.4
    for sample in (rows, theirs):
        orders, counts = np.unique(sample[:, 4:8], axis=0, return_counts=True)
        assert len(orders) == 24 and abs(counts / COUNT - 1 / 24).max() < five_sigma * 0.2
    columns = np.column_stack([rows[:, :4], rows[:, 8:], flip, gray])
    related = np.corrcoef(columns.T) - np.eye(columns.shape[1])
    related[:4, :4] = 0  # place and size of a crop depend on each other
    assert abs(related).max() < five_sigma


def wrong_rows(size, area_of, ratio_of):
    """Crops by other formulas, for images that never need the fallback."""
    random = np.random.default_rng(40)
    area = size[0] * size[1] * area_of(random.random(4 * COUNT))
    ratio = ratio_of(random.random(4 * COUNT))
    w, h = np.round(np.sqrt(area * ratio)), np.round(np.sqrt(area / ratio))
    fits = (w <= size[0]) & (h <= size[1])
    w, h = w[fits][:COUNT], h[fits][:COUNT]
    x, y = (np.floor(random.random(COUNT) * (room + 1)) for room in (size[0] - w, size[1] - h))
    return np.column_stack([x, y, w, h])


def right_area(u):
    return 0.08 + 0.92 * u


def right_ratio(u):
    return np.exp(np.log(3 / 4) + (np.log(4 / 3) - np.log(3 / 4)) * u)


def test_the_statistics_tell_wrong_distributions():
    size = (500, 375)
    assert max(distances(wrong_rows(size, right_area, right_ratio), size).values()) < BOUND
    wrong = {
        "side instead of area": (lambda u: np.square(np.sqrt(0.08) + (1 - np.sqrt(0.08)) * u), right_ratio),
        "square root of the area": (lambda u: np.sqrt(right_area(u)), right_ratio),
        "least area of 0.1": (lambda u: 0.1 + 0.9 * u, right_ratio),
        "ratio without logarithm": (right_area, lambda u: 3 / 4 + (4 / 3 - 3 / 4) * u),
        "ratio from 4/5 to 5/4": (right_area, lambda u: np.exp(np.log(4 / 5) + 2 * np.log(5 / 4) * u)),
    }
    for name, formulas in wrong.items():
        assert max(distances(wrong_rows(size, *formulas), size).values()) > BOUND, name
    rows = wrong_rows(size, right_area, right_ratio)
    rows[:, 0] = np.floor(rows[:, 0] * 0.97)  # never quite at the right
    assert distances(rows, size)["x"] > BOUND
