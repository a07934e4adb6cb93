"""Datasets whose class names are of many scripts, the pages that bale makes of them, and a browser that looks at them."""
import contextlib
import os
import pathlib

import numpy as np
import pytest
from PIL import Image

PAGES = pytest.mark.skipif("BALE_TEST_PAGES" not in os.environ, reason="scripts/checks/check_pages.sh installs a browser and runs this")
CHROMIUM = os.environ.get("BALE_CHROMIUM", "/usr/bin/chromium")
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text()
NAMES = ["猫と犬", "قطة سوداء صغيرة", "😀🐈‍⬛🏳️‍🌈", "ελληνικά", "हिन्दी", "a" * 120, "words " * 15 + "end", "Ümläut", "<b>&amp;\"quote'", "שלום עולם"]


def make_folder(folder, num_classes, per_class):
    """Noise of many sizes; one file of the first class is cut, and one image is in two classes."""
    random = np.random.default_rng(1)
    for number in range(num_classes):
        name = NAMES[number] if number < len(NAMES) else f"{NAMES[number % 5]} {number:05}"
        (folder / name).mkdir(parents=True)
        for i in range(per_class):
            height, width = random.integers(16, 64, 2)
            pixels = random.integers(0, 255, (height, width, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{NAMES[i % 5]}-{i}.jpg", quality=60)
    first = sorted((folder / NAMES[0]).iterdir())[0]
    (folder / NAMES[1] / "again.jpg").write_bytes(first.read_bytes())
    (folder / NAMES[2] / "cut.jpg").write_bytes(first.read_bytes()[:300])


class Browser:
    """Opens a page and says what is wrong with it. Messages of the console and requests are wrong in any case."""

    def __init__(self, chromium):
        self._chromium = chromium

    @contextlib.contextmanager
    def opened(self, path, width=1600, scheme="light", media="screen"):
        """(page, list of what was wrong while it was open)"""
        context = self._chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page, wrong = context.new_page(), []
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        url = pathlib.Path(path).as_uri()
        page.on("request", lambda request: wrong.append(f"request: {request.url[:100]}")
                if request.url != url and not request.url.startswith("data:") else None)
        try:
            page.emulate_media(media=media, color_scheme=scheme)
            page.goto(url)
            yield page, wrong
        finally:
            context.close()

    def faults(self, path, **setting):
        with self.opened(path, **setting) as (page, wrong):
            return wrong + page.evaluate(LOOK)
