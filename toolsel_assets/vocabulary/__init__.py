"""The nouns of the product, pure: pydantic and the standard library only.

What belongs here: what two stages must both understand (an action, a label, a rung, a kind, the criteria). What does
not: reading files (study.py), tables (store.py), anything that knows Dagster, DuckDB or a model provider.

Read in this order: action, decision, label, kind, tool, ladder, criteria.
"""
