"""What assignments/nbgrader_config.py names: the release, the intake, the grading and the exports of nbgrader."""
