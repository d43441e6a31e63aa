"""Stage 6, scores: one judgement per choice, of seven kinds, each with its reason."""
