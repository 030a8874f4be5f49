"""All that a judge works with, loaded: the judges of a class are forked from a process that has it."""

import gc

import torch

from grader import manifest
from grader.isolation import launcher, submission  # noqa: F401
from grader.judge import mistakes
from grader.reports import html_report, json_report  # noqa: F401

torch.set_num_threads(1)
manifest.checks(official=True)
mistakes.catalogue()
gc.collect()
gc.freeze()  # what is here stays: looking through it for garbage took a tenth of the time of grading
