"""The course for nbgrader: this folder is its root.

Works from here, and from the repository's root with JUPYTER_CONFIG_PATH=$PWD/assignments. nbgrader runs this
file several times in one process, so everything in it may be done twice.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BESIDE_PYTHON = os.path.dirname(sys.executable)
if BESIDE_PYTHON not in os.environ.get("PATH", "").split(os.pathsep):
    # nbgrader starts alembic by its name, also where nobody has activated the environment
    os.environ["PATH"] = os.pathsep.join([BESIDE_PYTHON, os.environ.get("PATH", os.defpath)])
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))  # grader/, ahead of anything a submission could be named

from nbgrader.converters import GenerateAssignment  # noqa: E402
from nbgrader.preprocessors import AssignLatePenalties, ClearSolutions  # noqa: E402

from grader.nbgrader_plugin.assignments import EXERCISE, LANGUAGE  # noqa: E402
from grader.nbgrader_plugin.form import Form, FormExporter  # noqa: E402
from grader.nbgrader_plugin.judging import Judge, SaveScores  # noqa: E402
from grader.nbgrader_plugin.release import ReleaseKit  # noqa: E402

c = get_config()  # noqa: F821, nbgrader puts it here

c.CourseDirectory.root = str(HERE)
c.CourseDirectory.course_id = "attention-course"

# The release: the notebook, and the kit as the last step. No solution is ever in the notebook, and
# ClearSolutions would put its English words into each answer cell.
STEPS = GenerateAssignment.class_traits()["preprocessors"].default()
c.GenerateAssignment.preprocessors = [*(step for step in STEPS if step is not ClearSolutions), ReleaseKit]

# Collecting takes the two files that count, and follows no link.
c.ExchangeFactory.collect = "grader.nbgrader_plugin.collect.Collect"

# Grading: the notebook is a form, and the isolated judge stands in for the kernel. nbgrader's other steps
# clean, repair and check what students have handed in: of that, nothing is left after Form.
c.Autograde.exporter_class = FormExporter
c.Autograde.pre_convert_hook = "grader.nbgrader_plugin.intake.before_autograde"
c.Autograde.sanitize_preprocessors = [Form]
c.Autograde.autograde_preprocessors = [Judge, SaveScores, AssignLatePenalties]
c.Autograde.exclude_overwriting = {assignment: [EXERCISE] for assignment in LANGUAGE}

c.ExportApp.plugin_class = "grader.nbgrader_plugin.export.Scores"
