"""toolsel measures how well an LLM agent chooses tools, the choice of no tool included.

It turns agent traces into decisions, a stratified sample and a versioned set of labels into scored rows per rung of
a ladder, and those into tables and a verdict on a change to the tool catalogue. `vocabulary/` is the place to begin
reading; `definitions.py` lists the stages in the order a decision travels.
"""

__version__ = "0.1.0"

#: Changes whenever scored rows stop being comparable with earlier ones; stored on every scored row.
INSTRUMENT_VERSION = "1"
