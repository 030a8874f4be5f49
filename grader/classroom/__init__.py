"""A class: many submissions graded in parallel, each in isolation, into one folder of results."""
