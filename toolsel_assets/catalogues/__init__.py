"""Stage 4, catalogues: the tools that rungs show to the model."""
