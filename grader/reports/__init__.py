"""Views of a Score."""
