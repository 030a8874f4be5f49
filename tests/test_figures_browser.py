"""The animations in a real browser (Chromium, from $CHROMIUM or the PATH): they play, one by one."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from student import figures

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: tests/requirements.txt")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page that shows the same animation twice."""
    animation = figures.play_fully_connected("en")
    page: Path = tmp_path_factory.mktemp("page") / "page.html"
    page.write_text(f'<meta charset="utf-8">{animation._repr_html_()}{animation._repr_html_()}', "utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        reason = "needs Chromium (Debian: apt-get install chromium)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def shown(page: sync_api.Page) -> list[sync_api.ElementHandle]:
    return [scene for scene in page.query_selector_all(".scene") if scene.is_visible()]


def frame(scene: sync_api.ElementHandle) -> int:
    return int(scene.query_selector("input[type=range]").evaluate("slider => slider.value"))


def test_it_plays_to_the_end_and_again(browser, address):
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.clock.install()  # a frame is there for a second: not to be waited for
    page.goto(address)
    page.clock.run_for(100)
    first, second = shown(page)
    picture = first.query_selector("img").get_attribute("src")
    for _ in range(2):
        first.query_selector("[title=Play]").click()
        assert frame(first) == 0
        page.clock.run_for(10_000)
        assert frame(first) == figures.play_fully_connected("en").scenes[0].frames - 1
    assert first.query_selector("img").get_attribute("src") != picture
    assert frame(second) == 0
    assert second.query_selector("img").get_attribute("src") == picture
    assert not errors
    page.close()


def test_a_sentence_is_chosen_for_one_animation_alone(browser, address):
    page = browser.new_page()
    page.goto(address)
    page.query_selector_all(".choices")[0].query_selector_all("label")[2].click()
    first, second = shown(page)
    assert "Birds sing" in first.query_selector("img").get_attribute("alt")
    assert "Kittens chase" in second.query_selector("img").get_attribute("alt")
    page.close()


def test_the_first_frame_shows_without_scripts(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    for scene in shown(page):
        box = scene.query_selector("img").bounding_box()
        assert box["width"] > 600
        assert box["height"] > 250
    context.close()
