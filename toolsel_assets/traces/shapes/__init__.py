"""How providers and frameworks shape what they log: answers, messages, envelopes, streams.

What belongs here: what two formats share, or what would make one format's file too long to read. What does not: which
records are of a format and what a unit of it is (formats/), the noun that all are turned into (model_call.py).
"""
