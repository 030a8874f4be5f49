"""What assignments/nbgrader_config.py names: release, intake, grading and exports with nbgrader."""
