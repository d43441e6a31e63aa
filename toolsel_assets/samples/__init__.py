"""Stage 2, samples: a stratified sample of decision states by position in the run, with its populations kept."""
