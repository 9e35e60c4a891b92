"""A report has everything inside it, says what it found, and refuses folders without results."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from report_folders import make_results

from riftsim.cli import main
from riftsim.errors import ResultsError
from riftsim.report import write_report
from riftsim.report.content import configuration_of, content_of, telling
from riftsim.results.store import RunSet


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return make_results(folder), folder / "notes"


@pytest.fixture(scope="module")
def page(folders):
    results, notes = folders
    return write_report(results, notes=notes).read_text(encoding="utf-8")


class Parsed(HTMLParser):
    """What the tests look at: ids, links, sources, and whether all elements are closed."""

    VOID = ("meta", "link", "img", "br", "hr")

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        self.sources += [attributes[name] for name in ("src", "href") if name in attributes and tag != "a"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_nothing_is_loaded_from_elsewhere(page):
    parsed = Parsed(page)
    assert not parsed.open
    assert parsed.sources
    assert all(source.startswith("data:") for source in parsed.sources)
    assert "@import" not in page
    assert not re.search(r"url\((?!data:)", page)


def test_every_link_leads_into_the_page_and_ids_are_unique(page):
    parsed = Parsed(page)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert parsed.links
    assert all(link.startswith("#") and link[1:] in parsed.ids for link in parsed.links)


def test_scoreboard_figures_runs_and_provenance_are_there(page):
    assert "latency of P02" in page
    assert "0.315" in page
    assert 'href="#experiment-quickstart">quickstart</a>' in page
    assert "Differences from the paper" in page
    assert "the set is not there" in page
    assert page.count("<figure ") == 2
    assert "recall@10" in page
    assert "version of numba" in page
    assert "What differs." in page
    assert "../../docs" not in page


def test_text_of_others_is_escaped(page):
    assert "<script>console.error" not in page
    assert "&lt;script&gt;console.error" in page


def test_the_same_results_give_the_same_page(folders, page):
    results, notes = folders
    assert write_report(results, results.parent / "again.html", notes).read_text(encoding="utf-8") == page


def test_differences_are_those_that_are_not_reproduced(page):
    table = page.partition('aria-label="Numbers that are not reproduced"')[2].partition("</table>")[0]
    assert "latency of P02" in table
    assert "latency of P10 (decided a reading)" in table
    assert "latency of P01" not in table
    assert "latency of P03" not in table


def test_the_command_names_what_it_wrote(folders, capsys, tmp_path):
    assert main(["report", str(folders[0] / "scoreboard"), "--out", str(tmp_path / "page.html")]) == 0
    assert f"report: {tmp_path / 'page.html'} (" in capsys.readouterr().out


def test_settings_of_one_kind_alone_are_no_column_of_the_table():
    one = {"search.k": 10, "search.L": 16, "system.kind": "remote_vamana", "system.beam_width": 4}
    two = {"search.k": 10, "search.L": 16, "system.kind": "riftann", "system.window": 8, "system.gate.kind": "wait-all"}
    wide = two | {"system.window": 16}
    runs = RunSet([SimpleNamespace(parameters=parameters) for parameters in (one, two, wide)])
    assert telling(runs) == ["system.kind", "system.window"]
    assert configuration_of(runs) == {
        "search.k": 10,
        "search.L": 16,
        "system.beam_width": 4,
        "system.gate.kind": "wait-all",
    }


def test_folders_without_results_are_refused(tmp_path):
    with pytest.raises(ResultsError, match="no such results folder"):
        write_report(tmp_path / "none")
    with pytest.raises(ResultsError, match="found no run, figure or scoreboard"):
        write_report(tmp_path)
    (tmp_path / "scoreboard.json").write_text('{"format": "riftsim-scoreboard", "schema_version": 99}')
    with pytest.raises(ResultsError, match=r"found format and version \('riftsim-scoreboard', 99\)"):
        write_report(tmp_path)
    (tmp_path / "scoreboard.json").write_text("{")
    with pytest.raises(ResultsError, match="the scoreboard cannot be read"):
        write_report(tmp_path)


def test_published_figures_alone_make_a_report():
    content = content_of(_published())
    assert len(content.experiments) >= 1
    assert all(part.figures for part in content.experiments)


def test_scoreboards_of_one_level_on_two_profiles_have_places_and_headings_of_their_own(tmp_path):
    text = write_report(_published() / "reproduction", out=tmp_path / "page.html").read_text(encoding="utf-8")
    parsed = Parsed(text)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert all(link[1:] in parsed.ids for link in parsed.links if link.startswith("#"))
    headings = re.findall(r"<h2>(Scoreboard[^<]*)</h2>", text)
    assert len(set(headings)) == len(headings) >= 3


def _published():
    from pathlib import Path

    return Path(__file__).parents[2] / "results" / "published"
