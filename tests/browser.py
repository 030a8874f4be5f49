"""A page in Chromium (from $CHROMIUM or the PATH) for tests that look at what a person sees."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright


@contextlib.contextmanager
def chromium_page(**options: object) -> Iterator[Page]:
    """A page of a browser that nothing has made say anything: a script that ran would open a dialog."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        reason = "needs Chromium (Debian: apt-get install chromium)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(**options)
        said = []
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        yield page
        browser.close()
        assert said == []


def picture(page: Page, name: str, full_page: bool = True) -> None:
    """A screenshot into the folder $SCREENSHOTS, for people to look at."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=full_page)
