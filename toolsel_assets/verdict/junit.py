"""Findings as a JUnit file, which CI systems show: one test case a finding.

A rejection is a failure; what could not be decided, or does not apply, is skipped with its sentence.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

Row = Mapping[str, Any]


def junit(verdicts: Sequence[Row], findings: Sequence[Row]) -> str:
    """Give the XML of all candidates: one suite a ladder, and a case for the verdict as a whole."""
    root = ElementTree.Element("testsuites", name="toolsel")
    for verdict in verdicts:
        rows = [row for row in findings if (row["ladder"], row["rung"]) == (verdict["ladder"], verdict["rung"])]
        name = f"{verdict['ladder']}.{verdict['rung']}"
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        _case(suite, name, "verdict", verdict["state"], verdict["why"])
        for row in rows:
            _case(suite, name, f"{row['rule']} {row['slice']} {row['subject']}", row["state"], row["sentence"])
        cases = list(suite)
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, classname: str, name: str, state: str, sentence: str) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=classname, name=name)
    if state == "reject":
        ElementTree.SubElement(case, "failure", message=sentence)
    elif state != "accept":
        ElementTree.SubElement(case, "skipped", message=f"{state}: {sentence}")
