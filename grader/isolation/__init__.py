"""Runs code that nobody trusts in a process of its own, and takes nothing from it but bounded numbers."""
