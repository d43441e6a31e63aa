"""Stage 3, labels: label set versions, immutable and content-hashed."""
