"""Every number that the lesson shows: plain functions, seeded, that draw nothing."""
