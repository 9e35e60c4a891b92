"""The report in a real browser: nothing complains, every figure is visible, tables sort, phones and paper fit."""

import os
import shutil

import pytest
from report_folders import make_results

from riftsim.report import write_report

REQUIRED = os.environ.get("RIFTSIM_CHROMIUM")
"""A browser that is named has to be there: set, these tests fail instead of being skipped."""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
CHROMIUM = REQUIRED or next(filter(None, map(shutil.which, _NAMES)), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (Debian: apt install chromium; or set RIFTSIM_CHROMIUM)"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    return write_report(make_results(folder), notes=folder / "notes")


@pytest.fixture(scope="module")
def browser():
    if REQUIRED is None:
        pytest.importorskip("playwright.sync_api")
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints():
    return []


@pytest.fixture(params=["desktop", "phone"])
def page(request, browser, report, complaints):
    width, height = {"desktop": (1280, 900), "phone": (390, 844)}[request.param]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda sent: sent.url.startswith(("data:", "file:")) or complaints.append(sent.url))
    page.goto(report.as_uri())
    yield page
    page.close()
    assert complaints == []


def column(page, table: int, number: int) -> list[str]:
    """The texts of a column of a table, from top to bottom."""
    rows = page.locator("table.sortable").nth(table).locator("tbody tr")
    return [rows.nth(at).locator("td").nth(number).inner_text() for at in range(rows.count())]


def test_every_figure_is_visible(page):
    images = page.locator("figure img")
    assert images.count() == 2
    for at in range(images.count()):
        assert images.nth(at).is_visible()
        shape = images.nth(at).evaluate("image => [image.complete, image.naturalWidth, image.clientWidth]")
        assert shape[0]
        assert min(shape[1:]) > 100


def test_tables_sort_upwards_and_downwards_by_value(page):
    board = page.get_by_label("Scoreboard", exact=True)
    assert "P01" in board.locator("tbody tr").first.inner_text()
    ratio = board.get_by_role("button", name="ratio")
    ratio.click()
    assert ratio.locator("..").get_attribute("aria-sort") == "ascending"
    number = page.locator("table.sortable").evaluate_all(
        "(tables) => tables.findIndex((table) => table.getAttribute('aria-label') === 'Scoreboard')"
    )
    assert column(page, number, 4) == ["0.315", "1.04", "1.25", ""]
    ratio.click()
    assert ratio.locator("..").get_attribute("aria-sort") == "descending"
    assert column(page, number, 4) == ["1.25", "1.04", "0.315", ""]
    # 31.5, 104 and 1,250 are numbers and not texts.
    board.get_by_role("button", name="ours").click()
    assert [text.split()[0] for text in column(page, number, 3) if text] == ["31.5", "104", "1250"]
    # As they stood: the claims' own order, in which P10 comes before P03.
    board.get_by_role("button", name="claim").click()
    assert column(page, number, 0) == ["P01", "P02", "P10", "P03"]


def test_nothing_is_wider_than_the_window(page):
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_text_can_be_read(page):
    sizes = page.evaluate(
        "[...document.querySelectorAll('td, dd, p, figcaption')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12


def test_links_of_the_scoreboard_lead_to_figures(page):
    page.get_by_label("Scoreboard", exact=True).get_by_role("link", name="quickstart").first.click()
    assert page.url.endswith("#experiment-quickstart")
    assert page.locator("#experiment-quickstart").is_visible()


def test_it_prints(browser, report, tmp_path):
    page = browser.new_page()
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    assert page.locator("figure img").first.is_visible()
    assert not page.locator("nav").is_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.evaluate("window.innerWidth")
    page.pdf(path=str(tmp_path / "report.pdf"), format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
    page.close()
