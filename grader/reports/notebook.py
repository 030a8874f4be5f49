"""The report inside a notebook: from grader.reports.notebook import show_report; show_report()"""

from html import escape
from pathlib import Path

REPORT = Path(__file__).resolve().parents[2] / "report" / "report.html"
_MISSING = """There is no report yet. Run the checks first: !pytest grader
还没有报告。请先运行检查：!pytest grader"""


def show_report(file: str | Path = REPORT) -> None:
    """Show the last report below the cell, in a frame of its own, so that neither styles the other."""
    from IPython.display import HTML, display

    try:
        page = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        print(_MISSING)
        return
    # sandbox without a word allows the page nothing, whatever stands in it
    style = "width: 100%; height: 80vh; min-height: 30rem; border: 1px solid #8885; border-radius: 6px"
    frame = f'<iframe sandbox title="report" style="{style}" srcdoc="{escape(page)}"></iframe>'
    display(HTML(f"<div>{frame}</div>"))
