"""Stage 1, traces: from trace files of any supported format to one row per decision, and counted rejects."""
