"""The judge of the exercise "Attention from scratch"."""
