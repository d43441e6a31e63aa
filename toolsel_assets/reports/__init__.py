"""Stage 7, reports: tables that are each one SELECT over the scored rows, and what is published of all stages."""
