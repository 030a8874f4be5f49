"""The HTML pages in a real browser: accessible, one file, nothing executes, nothing breaks the layout."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import chromium_page, picture
from conftest import REFERENCE
from hostile_text import WORDS, submission
from playwright.sync_api import Page
from report_scores import TEXTS, class_of, score_of

from grader.judge.score import Score
from grader.reports import class_page, html_report

LOOKS = {"light": ("light", 1000), "dark": ("dark", 1000), "narrow": ("light", 360)}  # scheme, width


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Score]:
    folder = str(tmp_path_factory.mktemp("scores"))
    return {name: score_of(folder, name, official=name == "62") for name in TEXTS}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """One page for all; whatever it asks the network for is noted, and nothing but the file may be."""
    with chromium_page() as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: asked.append(str(error)))
        yield page
        assert {url.partition(":")[0] for url in asked} == {"file"}
        assert all(url.endswith(".html") for url in asked)


def look(page: Page, html: str, folder: Path, scheme: str = "light", width: int = 1000) -> None:
    """Open a page as it is opened from a folder, with all that can be unfolded unfolded."""
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(file.as_uri())


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")


def fits(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def problems(page: Page) -> list[str]:
    """What axe-core finds, be it serious or not."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_report_fits_every_screen(page, scores, tmp_path, name, lang):
    html = html_report.as_html(scores[name], lang)
    for kind, (scheme, width) in LOOKS.items():
        look(page, html, tmp_path, scheme, width)
        picture(page, f"report-{name}-{lang}-{kind}")
        unfold(page)
        assert fits(page), kind


@pytest.mark.parametrize(("students", "lang"), [(200, "en"), (200, "zh"), (1000, "en")])
def test_a_class_fits_every_screen(page, scores, tmp_path, students, lang):
    earlier = class_of({"0": scores["0"], "62": scores["62"]}, students - 3)
    html = class_page.as_html(class_of(scores, students, earlier), lang)
    for kind, (scheme, width) in LOOKS.items():
        look(page, html, tmp_path, scheme, width)
        picture(page, f"class-{students}-{lang}-{kind}")
        assert fits(page), kind


@pytest.mark.parametrize("kind", LOOKS)
@pytest.mark.parametrize("name", [*TEXTS, "class"])
def test_pages_are_accessible(page, scores, tmp_path, name, kind):
    lang = "zh" if name == "0" else "en"
    earlier = class_of({"0": scores["0"]}, 4)
    summary = class_of(scores, 6, earlier)
    html = class_page.as_html(summary, lang) if name == "class" else html_report.as_html(scores[name], lang)
    look(page, html, tmp_path, *LOOKS[kind])
    unfold(page)
    assert problems(page) == []


def test_a_class_can_be_sorted_and_filtered(page, scores, tmp_path):
    look(page, class_page.as_html(class_of(scores, 9), "en"), tmp_path)
    names = page.locator("#students tbody tr:visible th")
    assert names.all_inner_texts() == [f"student-{n:04d}" for n in range(9)]
    heading = page.locator("#students thead th").nth(1)
    points = page.locator("#students tbody td:nth-child(2)")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    up = [float(one) for one in points.all_inner_texts()]
    assert up == sorted(up)
    heading.get_by_role("button").press("Enter")  # by keyboard as well
    assert [float(one) for one in points.all_inner_texts()] == sorted(up, reverse=True)
    page.get_by_label("Filter", exact=True).fill("STUDENT-0004")
    assert names.all_inner_texts() == ["student-0004"]
    assert page.locator("#shown").inner_text() == "1 of 9"


def test_pages_can_be_read_without_script(page, scores, tmp_path):
    plain = page.context.browser.new_page(java_script_enabled=False)
    look(plain, class_page.as_html(class_of(scores, 5), "en"), tmp_path)
    assert plain.locator("#students tbody tr:visible").count() == 5
    assert not plain.locator("form").is_visible()
    plain.close()


@pytest.mark.parametrize("name", WORDS)
def test_what_a_student_writes_stays_text(page, tmp_path, name):
    """A dialog would fail the page's fixture."""
    score = score_of(str(tmp_path), REFERENCE + submission(WORDS[name]))
    html = html_report.as_html(score, "en")
    look(page, html, tmp_path, width=360)
    unfold(page)
    assert fits(page)
    page.locator("dd.theirs").first.hover()
    plain = html_report.as_html(score_of(str(tmp_path), REFERENCE + submission("plain")), "en")
    kinds = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].map((one) => one.localName))].sort()"
    )
    look(page, plain, tmp_path)
    assert set(kinds) <= set(page.evaluate("[...document.querySelectorAll('*')].map((one) => one.localName)"))
    assert len(html) < 2 * len(plain)


def test_a_script_that_got_in_would_not_run(page, scores, tmp_path):
    html = html_report.as_html(scores["0"], "en")
    page = page.context.browser.new_page()
    for trick in (
        "<script>document.title = 'ran'</script>",
        "<img src='x' onerror=\"document.title = 'ran'\">",
    ):
        look(page, html.replace("<main>", f"<main>{trick}"), tmp_path)
        assert page.title() != "ran"
    page.close()
