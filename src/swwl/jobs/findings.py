"""What is odd about a table or its meshes: where, what was found, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

# So many findings of one kind are told one by one; more are told together.
_MOST = 3


@dataclass(frozen=True)
class Finding:
    """One thing that the user should know before a model is fitted.

    Parameters
    ----------
    kind : str
        Such as "size", "loose nodes" or "repeated rows".
    found, advice : str
        What was found, as what is said of the mesh or the column, and what to do about it.
    severity : {"note", "error"}
        Errors are what ``swwl fit`` refuses; what was found is then its whole message.
    place : str
        Such as "line 7".
    column, mesh : str or None
        The column, and the mesh as the table names it.
    """

    kind: str
    found: str
    advice: str = ""
    severity: str = "note"
    place: str = ""
    column: str | None = None
    mesh: str | None = None

    @property
    def message(self) -> str:
        """All of it in one line.

        >>> Finding("loose nodes", "has 2 nodes that belong to no cell", "they are left out", mesh="a.vtu").message
        'a.vtu has 2 nodes that belong to no cell: they are left out.'
        """
        subject = self.mesh or (f"column {self.column!r}" if self.column else "")
        start = f"{self.place}: " if self.place else ""
        if self.severity == "error":  # as a fit says it, with its place
            subject = start = ""
        said = f"{subject} {self.found}".strip().rstrip(".")
        return f"{start}{said}{': ' if self.advice else ''}{self.advice}{'' if self.advice.endswith('?') else '.'}"

    def facts(self) -> dict[str, Any]:
        """Return it as what JSON holds."""
        names = ("kind", "severity", "place", "column", "mesh", "found", "advice", "message")
        return {name: getattr(self, name) for name in names}


def told_together(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings for people: of more than three of one kind, the first, which names the places of the others.

    Examples
    --------
    >>> many = [Finding("size", "is large", "scale it", place=f"line {k}", mesh=f"{k}.vtu") for k in range(2, 9)]
    >>> [finding.message for finding in told_together(many)]
    ['line 2: 2.vtu is large: scale it. The same for 6 more (lines 3, 4, 5, 6, 7, …).']
    """
    groups: dict[Any, list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.severity, finding.advice, finding.mesh is None), []).append(finding)
    told = []
    for group in groups.values():
        if len(group) <= _MOST or group[0].severity == "error" or not all(finding.place for finding in group):
            told += group
            continue
        first, *others = group
        word = first.place.split()[0]
        numbers = ", ".join(finding.place.split()[-1] for finding in others[:5]) + ", …" * (len(others) > 5)
        more = f"{first.advice or first.found}. The same for {len(others)} more ({word}s {numbers})"
        told.append(replace(first, advice=more) if first.advice else replace(first, found=more))
    return told
