"""The pages that bale writes, in Debian's Chromium. scripts/checks/check_pages.sh installs and runs this."""
import subprocess
import sys

import pytest
from page_support import CHROMIUM, LOOK, PAGES, Browser, make_folder
from python_support import ENVIRONMENT

pytestmark = PAGES

KINDS = ["report", "report of a folder", "bench", "doctor", "preview", "notebook"]
SIZES = {"few": (10, 12), "many": (10_000, 1)}
NOTEBOOK = """
import sys, bale
dataset = bale.Dataset(sys.argv[1])
with bale.Loader(sys.argv[1], batch_size=2, threads=True, workers=1, transform=bale.transforms.train(32)) as loader:
    parts = [dataset._repr_html_(), dataset.show(6)._repr_html_(), loader._repr_html_()]
print('<!doctype html><html lang="en"><meta charset="utf-8"><style>:root{color-scheme:light dark}'
      'body{font:13px sans-serif;margin:16px}table{border-spacing:0}@media print{:root{color-scheme:light}}</style><body>' + "".join(parts))
"""


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Browser(chromium)
        chromium.close()


@pytest.fixture(scope="module")
def pages(bale, tmp_path_factory):
    """The pages by (kind, size)."""
    made = {}
    for size, (num_classes, per_class) in SIZES.items():
        root = tmp_path_factory.mktemp(size)
        make_folder(root / "in", num_classes, per_class)
        bale.pack(root / "in", root / "packed")
        quick = ["--batch", "4", "--size", "32", "--threads", "--workers", "1", "--html"]
        commands = {"report": ["report", "packed", "-o"], "report of a folder": ["report", "in", "packed", "-o"],
                    "bench": ["bench", "packed", "--max-batches", "8", *quick], "doctor": ["doctor", "packed", "--seconds", "0.2", *quick],
                    "preview": ["preview", "packed"]}
        for kind, words in commands.items():
            made[kind, size] = root / f"{kind}.html"
            bale.ok(*words, made[kind, size], cwd=root)
        shown = subprocess.run([sys.executable, "-c", NOTEBOOK, root / "packed"], capture_output=True, check=True, env=ENVIRONMENT)
        made["notebook", size] = root / "notebook.html"
        made["notebook", size].write_bytes(shown.stdout)
    return made


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_or_overlaps(browser, pages, kind, size):
    """No message, no request, no text that is cut, under other text or hard to see, at each width, light and dark."""
    faults = {(width, scheme): browser.faults(pages[kind, size], width=width, scheme=scheme)
              for width in (360, 800, 1600) for scheme in ("light", "dark")}
    wrong = [f"{setting}: {fault}" for setting, found in faults.items() for fault in found]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_all_of_it_can_be_printed(browser, pages, kind, size):
    """On A4: what is folded on the screen is there, dark text on white in either scheme."""
    for scheme in ("light", "dark"):
        with browser.opened(pages[kind, size], width=794, scheme=scheme, media="print") as (page, wrong):
            wrong += page.evaluate(LOOK)
            assert not wrong, "\n".join(wrong)
            hidden = page.evaluate("[...document.querySelectorAll('details > *')].filter(one => !one.checkVisibility({contentVisibilityAuto: true})).length")
            assert hidden == 0, f"{hidden} elements are not printed"
            assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("kind", KINDS)
def test_keys_reach_all_that_can_be_used(browser, pages, kind):
    """Tab goes to each link and fold in their order, where one sees it; Enter opens a fold."""
    with browser.opened(pages[kind, "many"]) as (page, _):
        wanted = page.evaluate("""[...document.querySelectorAll("a[href], summary, [tabindex='0']")]
            .filter(one => one.checkVisibility({contentVisibilityAuto: true})).slice(0, 60).map((one, i) => (one.dataset.order = i))""")
        for number in wanted:
            page.keyboard.press("Tab")
            reached, outline = page.evaluate("[document.activeElement.dataset.order, getComputedStyle(document.activeElement).outlineStyle]")
            assert (reached, outline != "none") == (str(number), True)
        closed = page.query_selector("details:not([open]) > summary")
        if closed is not None:
            closed.focus()
            page.keyboard.press("Enter")
            assert closed.evaluate("one => one.parentElement.open")


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_what_a_screen_reader_says(browser, pages, kind):
    """One main part, one title, headings without a gap, tables with heads or a name."""
    with browser.opened(pages[kind, "few"]) as (page, _):
        assert page.title() and page.evaluate("document.documentElement.lang") == "en"
        assert page.evaluate("[document.querySelectorAll('main').length, document.querySelectorAll('h1').length]") == [1, 1]
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(one => Number(one.tagName[1]))")
        assert levels[0] == 1 and all(after <= before + 1 for before, after in zip(levels, levels[1:]))
