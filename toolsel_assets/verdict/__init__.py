"""Stage 8, verdict: findings per committed rule, and accept, reject or not enough data."""
