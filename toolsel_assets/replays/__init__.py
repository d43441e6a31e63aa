"""Stage 5, replays: the labelled requests asked again under each rung, one choice per (rung, seed, draw, request)."""
