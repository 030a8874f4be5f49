"""The known mistakes, a file for each topic; see judge/mistakes.py for what an entry is."""
