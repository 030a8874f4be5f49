"""How the lesson's numbers are drawn: a file for each topic, with its labels in English and Chinese."""
