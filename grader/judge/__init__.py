"""What decides: the truth, the calls into a submission, the comparisons and the score."""
