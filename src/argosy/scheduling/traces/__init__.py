"""Traces of jobs: one reader a format, found by what the file holds."""
