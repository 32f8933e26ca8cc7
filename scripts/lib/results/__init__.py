"""Reads, groups and judges the results of campaigns."""
