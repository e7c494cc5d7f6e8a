"""What is said of new cases, in a line each: Python warns of it, and the command line prints it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import betaln

from swwl.domain.clouds import SCORES
from swwl.domain.verdict import FEW_CASES, FRAME, GROUPS, LEVEL, RANGE, Columns
from swwl.errors import CaseWarning, InputError
from swwl.formatting import percent
from swwl.mesh.io import as_mesh
from swwl.mesh.remesh.plane import thickness_of
from swwl.mesh.shape.screening import Apart, MeshFacts, Typical, apart, facts_of, motion, other_layer

# From this share of repeated nodes on, they are more than a seam.
_MANY_REPEATED = 0.05
# So many meshes that look strange are looked at again, to say what is odd about them.
_MOST_MESHES = 10
# Of so many the domain names the cause.
_MOST_CAUSES = 100
# How often cases like the training cases are called strange, or have their intervals widened, about.
_STRANGE, _UNSURE = 0.05, 0.05
# What is less probable than this surprises; of one strange case alone, that it is strange.
_RARE, _UNUSUAL = 0.01, 0.06
_CHANCE = ", no more than chance brings"
# So many cases together differ from the training cases where the mean of their p-values is lower than this, and by so
# many of its standard errors lower than that of cases like the training cases.
_SEVERAL, _LOW, _ERRORS = 10, 0.35, 4.0


def case_notes(domain: pd.DataFrame, usual: Collection[str] = ()) -> dict[str, str]:
    """Say in a line each what is odd about cases; nothing where all is well.

    Parameters
    ----------
    domain : DataFrame
        What :meth:`swwl.RobustGPRegressor.domain` says of them.
    usual : collection of str
        Kinds of notes of which cases like the training cases give rise to as many.

    Returns
    -------
    dict of str to str
        ``outside``: cases that leave the training range; ``unlike``: those that are not like the training cases;
        ``meshing``: those whose mesh is much coarser or finer than the training meshes; ``widened``: those whose
        interval is widened; ``together``: that all of them differ a little from the training cases, too little to show
        in any one of them.

    Examples
    --------
    >>> domain = pd.DataFrame({"outside": ["load", ""], "inside": [False, True], "widened": ["", "stress"],
    ...                        "kind": ["input out of range", "inside"], "far": [True, False]})
    >>> case_notes(domain)["outside"]
    '1 of 2 cases is outside the training range, where nothing has been tested (load)'
    """
    notes = {}
    n = len(domain)
    outside = domain["outside"][domain["outside"] != ""]
    if len(outside):
        are = "is" if len(outside) == 1 else "are"
        names = ", ".join(dict.fromkeys(name for text in outside for name in text.split(", ")))
        notes["outside"] = (
            f"{len(outside)} of {n} cases {are} outside the training range, where nothing has been tested ({names})"
        ) + _CHANCE * ("outside" in usual)
    kinds = _unlike(domain)
    if len(kinds):
        told = ", ".join(f"{kind}: {count}" for kind, count in kinds.value_counts().items())
        are = "is" if len(kinds) == 1 else "are"
        wrong = _CHANCE if "unlike" in usual else ", so that predictions may be wrong"
        notes["unlike"] = f"{len(kinds)} of {n} cases {are} unlike the training cases{wrong} ({told})"
    coarse = [text for text in domain.get("meshing", ()) if text]
    if coarse:
        are, meshes = ("is", "a mesh") if len(coarse) == 1 else ("are", "meshes")
        told = coarse[0] if len(coarse) == 1 else f"such as: {coarse[0]}"
        notes["meshing"] = f"{len(coarse)} of {n} cases {are} {meshes} unlike those of the training cases ({told})"
    wide = int((domain["widened"] != "").sum())
    if wide:
        have, them = ("has", "it") if wide == 1 else ("have", "them")
        notes["widened"] = (
            f"{wide} of {n} cases {have} an interval that is widened, as the model is less sure of {them}"
        )
    together = _together(domain)
    if together:
        notes["together"] = together
    return notes


def _together(domain: pd.DataFrame) -> str:
    r"""Say that cases, each like a training case, are not like them together; nothing where chance may be the reason.

    P-values of the standard deviations of n cases like the training cases are evenly distributed, so that their mean is
    1/2 with a standard error of :math:`(12 n)^{-1/2}`. Cases that share a mesh count once.
    """
    if "std" not in domain or domain["inside"].isna().any():
        return ""
    inside = domain[domain["inside"].astype(bool)]
    shapes = [name for name in inside if str(name).partition(" ")[0] in SCORES]
    p = (inside.drop_duplicates(shapes) if shapes else inside)["std"].to_numpy(dtype=float)
    if len(p) < _SEVERAL or p.mean() > min(_LOW, 0.5 - _ERRORS / np.sqrt(12 * len(p))):
        return ""
    return (
        f"{len(p)} cases, each like the training cases, differ from them as a group: half of the predictions "
        f"are less sure than {percent(1 - float(np.median(p)))} of those of left-out training cases; something may be "
        "different in all of them, such as how meshes were made or cut, or a detail of the shape"
    )


def surprising_notes(domain: pd.DataFrame, n_train: int, n_inputs: int) -> list[str]:
    """Return those of the notes that are not :func:`usual`, which Python warns of."""
    chance = usual(domain, n_train, n_inputs)
    return [note for kind, note in case_notes(domain).items() if kind not in chance]


def usual(domain: pd.DataFrame, n_train: int, n_inputs: int) -> set[str]:
    """Return the kinds of notes that cases like the training cases would give rise to, too.

    Of these, one in twenty looks strange or has its interval widened, and a new case leaves one of d ranges of N others
    with probability 2 d / (N + 1) or a little less; how far it goes then, the domain's ``tail`` says.

    Parameters
    ----------
    domain : DataFrame
        Of M cases.
    n_train : int
        Number of training cases.
    n_inputs : int
        Number of columns of numbers.

    Returns
    -------
    set of str
        Keys of what :func:`case_notes` returns.
    """
    n, tail = len(domain), float(domain["tail"].min())
    leave = 1.0 - (1.0 - 2.0 / (n_train + 1)) ** n_inputs
    far = tail < 1.0 and 1.0 - (1.0 - leave * tail) ** n < _RARE
    kinds = _unlike(domain)
    outside = far or _chance(int((domain["outside"] != "").sum()), n, leave, n_train) < _RARE
    strange = _chance(int((kinds != RANGE).sum()), n, _STRANGE, n_train) < _UNUSUAL
    surprises = {
        "outside": outside,
        "unlike": far
        or strange
        or bool(kinds.isin([FRAME, GROUPS]).any())
        or (outside and bool((kinds == RANGE).any())),
        "widened": _chance(int((domain["widened"] != "").sum()), n, _UNSURE, n_train) < _RARE,
    }
    return {kind for kind, surprising in surprises.items() if not surprising}


def _unlike(domain: pd.DataFrame) -> pd.Series:
    """Return the kinds of cases that are known to be unlike the training cases."""
    return domain.loc[~domain["inside"].astype("boolean").fillna(True).astype(bool), "kind"]


def _chance(count: int, n: int, rate: float, n_train: int) -> float:
    """Return the probability of so many or more of n cases, each with a probability of ``rate``.

    All meet the same limit, which training cases set too wide or too narrow by chance: of N numbers drawn alike, the
    share of new ones beyond the m-th is Beta(m, N + 1 - m).
    """
    if count == 0 or rate == 0.0:  # without columns of numbers there is no range to leave
        return 1.0
    share = min(rate, 1.0 - 1e-9) * (n_train + 1)
    other, many = n_train + 1 - share, np.arange(count, n + 1)
    ways = -np.log(n + 1) - betaln(n - many + 1, many + 1)
    return float(np.exp(ways + betaln(many + share, n - many + other) - betaln(share, other)).sum())


def repeated_nodes(facts: MeshFacts) -> str:
    """Say that the cells of a mesh are not joined, as in a triangle soup; nothing for most meshes."""
    if not facts.has_cells or facts.n_repeated <= _MANY_REPEATED * facts.n_nodes:
        return ""
    return f"has {facts.n_repeated} of {facts.n_nodes} nodes exactly where another one is, so that cells are not joined"


def mesh_notes(domain: pd.DataFrame, n_train: int, table: pd.DataFrame, typical: Mapping[str, object]) -> list[str]:
    """Say of meshes that look strange what is odd about them in plain sight: units, place, orientation, loose cells.

    Only those are looked at again that lie farther off than nearly all of the training meshes do.

    Parameters
    ----------
    domain : DataFrame
        Of M cases.
    n_train : int
        Number of training cases.
    table : DataFrame
        Of the same cases, with their meshes.
    typical : mapping of str to object
        What is typical of the training meshes of a column, as :meth:`Typical.plain` says it; may be empty.
    """
    return [
        f"row {row}: the mesh in {name!r} {text}."
        for name, row, facts in _strange_meshes(listed_columns(domain), n_train, listed_columns(table), _MOST_MESHES)
        for text in _odd(facts, typical.get(name))
    ]


def with_causes(
    domain: Columns, n_train: int, meshes: Mapping[str, Sequence[object]], typical: Mapping[str, object]
) -> Columns:
    """Name the cause where a strange mesh was moved, turned or is in other units, in place of what follows from that.

    Parameters
    ----------
    domain : dict of str to M values
        The columns of what :meth:`swwl.RobustGPRegressor.domain` returns.
    n_train : int
    meshes : mapping of str to sequence of M meshes
        By column; columns that hold something else are passed over.
    typical : mapping of str to object
        As for :func:`mesh_notes`.

    Returns
    -------
    dict of str to M values
    """
    if not any(Typical.from_plain(kept) is not None for kept in typical.values()):
        return domain
    domain = _with_other_layers(domain, meshes, typical)
    kinds, reasons, inside = list(domain["kind"]), list(domain["why"]), list(domain["inside"])
    for name, row, facts in _strange_meshes(domain, n_train, meshes, _MOST_CAUSES):
        found, moved = _placed_otherwise(facts, typical.get(name))
        odd = [one for one in found if one.kind != "node count"]
        causes = [one.found for one in ([] if moved is None else [moved]) + odd]
        if not causes or kinds[row] in ("inside", RANGE):
            continue
        if kinds[row] != "cannot tell":
            kinds[row] = FRAME
        elif any(one.kind != "shape" for one in odd) or (moved is not None and _is_strange(domain, name, row)):
            # Sizes, places and large turns need no statistics; small ones do, which about 30 training cases give.
            kinds[row], inside[row], reasons[row] = FRAME, False, FEW_CASES.sub("", reasons[row])
        of_mesh = f"the mesh in {name!r} "
        others = [text for text in reasons[row].split("; ") if text and not text.startswith(of_mesh)]
        reasons[row] = "; ".join([of_mesh + " and ".join(causes), *others])
    told = {"kind": kinds, "why": reasons}
    if any(value is pd.NA for value in domain["inside"]):
        told["inside"] = pd.array(inside, dtype="boolean")
    return {**domain, **told}


def _is_strange(domain: Columns, name: str, row: int) -> bool:
    """Whether a p-value of a mesh is small by itself, and not only as small as few training cases can tell."""
    return min(float(domain[f"{score} {name}"][row]) for score in SCORES) <= LEVEL


def _with_other_layers(
    domain: Columns, meshes: Mapping[str, Sequence[object]], typical: Mapping[str, object]
) -> Columns:
    """Say of layers of another thickness than that of the training meshes that they are not like these.

    In the plane, where they are learned, nothing tells them apart.
    """
    found: dict[int, str] = {}
    for name, items in meshes.items():
        usual = Typical.from_plain(typical.get(name))
        if usual is not None and usual.thickness:
            found |= dict(_other_layers(name, items, usual))
    if not found:
        return domain
    changed: dict[str, list[object]] = {key: list(domain[key]) for key in ("inside", "kind", "why", "far")}
    for row, text in found.items():
        if not pd.isna(changed["inside"][row]):
            changed["inside"][row] = False
        others = [changed["why"][row]] if changed["why"][row] else []
        changed["far"][row], changed["why"][row] = True, "; ".join([text, *map(str, others)])
        if changed["kind"][row] in ("inside", "cannot tell"):
            changed["kind"][row] = FRAME
    inside = pd.array(changed.pop("inside"), dtype="boolean")
    return {**domain, **changed, "inside": inside}


def _other_layers(name: str, items: Sequence[object], usual: Typical) -> Iterator[tuple[int, str]]:
    """Yield rows whose mesh is a layer of another thickness, and what is said of it; of at most so many meshes."""
    known: dict[int, str] = {}
    for row, item in enumerate(items):
        if id(item) not in known and len(known) < _MOST_CAUSES:
            try:
                texts = [one.found for one in other_layer(thickness_of(as_mesh(item)), usual, "the training meshes")]
            except InputError:
                continue  # a graph
            known[id(item)] = f"the mesh in {name!r} {texts[0]}" if texts else ""
        if known.get(id(item)):
            yield row, known[id(item)]


def typical_in(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return what the metadata of a model say of the training meshes of every column, as far as it is known."""
    kept = metadata.get("typical")
    return kept if isinstance(kept, dict) else {}


def listed_columns(table: pd.DataFrame) -> dict[str, list[object]]:
    """Return the columns of a table as lists, by name."""
    return {str(name): values.tolist() for name, values in table.items()}


def _strange_meshes(
    domain: Columns, n_train: int, meshes: Mapping[str, Sequence[object]], most: int
) -> Iterator[tuple[str, int, MeshFacts]]:
    """Yield columns, rows and facts of meshes that lie farther off than nearly all training meshes, at most so many."""
    for name, items in meshes.items():
        scores = [f"{score} {name}" for score in SCORES]
        if not all(score in domain for score in scores):
            continue
        lowest = np.min([np.asarray(domain[score], dtype=float) for score in scores], axis=0)
        known: dict[int, MeshFacts] = {}  # the same mesh may stand in many rows
        for row in np.flatnonzero(lowest <= max(LEVEL, 1.0 / (n_train + 1)))[:most]:
            try:
                if id(items[row]) not in known:
                    known[id(items[row])] = facts_of(as_mesh(items[row]))
                yield name, int(row), known[id(items[row])]
            except InputError:
                continue  # a graph


def _placed_otherwise(facts: MeshFacts, typical: object) -> tuple[list[Apart], Apart | None]:
    """Say what tells a strange mesh from the training meshes: its size, place or orientation, or how it was moved."""
    known = Typical.from_plain(typical)
    if known is None:
        return [], None
    found = apart(facts, known, "the training meshes")
    placed = all(one.kind == "node count" for one in found)
    return found, motion(facts, known, "the training meshes") if placed else None


def _odd(facts: MeshFacts, typical: object) -> list[str]:
    found, moved = _placed_otherwise(facts, typical)
    found = found if moved is None else [moved, *found]
    repeated = repeated_nodes(facts)
    if repeated:
        found.append(Apart("repeated nodes", repeated, "Mesh.merged() makes one of them, which joins the cells"))
    return [f"{one.found}: {one.advice}".rstrip(".") for one in found]


def warn_about_cases(notes: Sequence[str], stacklevel: int = 2) -> None:
    """Warn of what the command line would print as notes."""
    for note in notes:
        warnings.warn(f"{note.rstrip('.')}.", CaseWarning, stacklevel=stacklevel + 1)
