"""Checks for official grading, never in a release: the same tiers at secret seeds and sizes, and more.

`draw` has sizes here that the seed decides. Students learn the category of a failed check and no number.
"""
