"""A bar of two hexahedra and a wedge upon them, as small files of several programs that need not be there."""

import gzip
import struct

import numpy as np

# Two cubes side by side, and a roof over the first.
POINTS = np.array(
    [[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1, 2)] + [[0, 0.5, 2], [1, 0.5, 2]], np.float64
)
HEXAHEDRA = np.array([[0, 1, 4, 3, 6, 7, 10, 9], [1, 2, 5, 4, 7, 8, 11, 10]])
WEDGES = np.array([[6, 9, 12, 7, 10, 13]])
LABELS = 10 * np.arange(len(POINTS)) + 7  # node numbers that are neither from one nor without gaps
STRESS = np.arange(6.0 * len(POINTS)).reshape(-1, 6)


def frd(form=1, steps=(1.0, 2.0)):
    """Return results of CalculiX: short text (0), long text (1), binary (2: floats, 3: doubles for points)."""
    width = 5 if form == 0 else 10
    out = [b"    1C\n", _head("    2C", len(POINTS), form)]
    if form < 2:
        out += [
            f" -1{n:{width}d}{x:12.5E}{y:12.5E}{z:12.5E}\n".encode()
            for n, (x, y, z) in zip(LABELS, POINTS, strict=True)
        ]
        out.append(b" -3\n")
    else:
        kind = "<i3d" if form == 3 else "<i3f"
        out += [struct.pack(kind, n, *point) for n, point in zip(LABELS, POINTS, strict=True)]
    cells = [(1, row) for row in HEXAHEDRA] + [(2, row) for row in WEDGES]
    out.append(_head("    3C", len(cells), form))
    for number, (kind, row) in enumerate(cells, 1):
        nodes = LABELS[row]
        if form < 2:
            out.append(f" -1{number:{width}d}{kind:5d}{0:5d}{1:5d}\n".encode())
            out.append((" -2" + "".join(f"{n:{width}d}" for n in nodes) + "\n").encode())
        else:
            out.append(struct.pack(f"<4i{len(nodes)}i", number, kind, 0, 1, *nodes))
    out.append(b" -3\n" if form < 2 else b"")
    for number, time in enumerate(steps, 1):
        values = {"DISP": time * POINTS, "STRESS": time * STRESS, "NDTEMP": time * POINTS[:, :1]}
        for name, rows in values.items():
            out.append(b"    1PSTEP\n")
            head = f"  100CL  101{time:12.6f} {len(rows):11d}{'':20s}{0:2d}{number:5d}{'':10s}{min(form, 2):2d}\n"
            out.append(head.encode())
            extra = [" -5  ALL         1    2    0    0    1ALL\n"] if name == "DISP" else []
            out.append(f" -4  {name:8s}{rows.shape[1] + len(extra):5d}    1\n".encode())
            out += [f" -5  C{k:<7d}    1    4    1    1\n".encode() for k in range(rows.shape[1])]
            out += [line.encode() for line in extra]
            for n, row in zip(LABELS, rows, strict=True):
                if form < 2:
                    out.append((f" -1{n:{width}d}" + "".join(f"{v:12.5E}" for v in row) + "\n").encode())
                else:
                    out.append(struct.pack(f"<i{len(row)}f", n, *row))
            out.append(b" -3\n" if form < 2 else b"")
    return b"".join([*out, b" 9999\n"])


def _head(key, count, form):
    return f"{key}{'':18s}{count:12d}{'':37s}{form:d}\n".encode()


FRD_SETS = """*NODE, NSET=ALL
7, 0, 0, 0
17, 1, 0, 0
*ELEMENT, TYPE=C3D8, ELSET=BLOCKS
1, 7, 17, 47, 37, 67, 77, 107,
97
2, 17, 27, 57, 47, 77, 87, 117, 107
*NSET, NSET=LEFT
7, 37,
67, 97
*NSET, NSET=GENERATED, GENERATE
7, 37, 10
*NSET, NSET=BOTH
LEFT, 27
*ELSET, ELSET=ROOF
3
"""


def unv():
    """Return a universal file with nodes, elements, groups, and nodal results at two times, one of them a tensor."""
    lines = ["    -1", "  2411"]
    for n, point in zip(LABELS, POINTS, strict=True):
        lines += [f"{n:10d}{1:10d}{1:10d}{11:10d}", "".join(f"{x:25.16E}".replace("E", "D") for x in point)]
    lines += ["    -1", "    -1", "  2412"]
    for number, (kind, row) in enumerate([(115, r) for r in HEXAHEDRA] + [(112, r) for r in WEDGES], 1):
        lines.append("".join(f"{v:10d}" for v in (number, kind, 1, 1, 7, len(row))))
        lines.append("".join(f"{n:10d}" for n in LABELS[row]))
    lines += ["".join(f"{v:10d}" for v in (4, 21, 1, 1, 7, 2)), f"{0:10d}{0:10d}{0:10d}", f"{7:10d}{17:10d}"]
    lines += ["    -1", "    -1", "  2467"]
    lines += ["".join(f"{v:10d}" for v in (1, 0, 0, 0, 0, 0, 0, 3)), "LEFT", f"{7:10d}{7:10d}{0:10d}{0:10d}"]
    lines += [f"{7:10d}{37:10d}{0:10d}{0:10d}{7:10d}{67:10d}{0:10d}{0:10d}"]
    lines += ["".join(f"{v:10d}" for v in (2, 0, 0, 0, 0, 0, 0, 1)), "ROOF", f"{8:10d}{3:10d}{0:10d}{0:10d}", "    -1"]
    for time in (0.5, 1.5):
        for name, character, rows in (("TEMP", 1, POINTS[:, :1]), ("STRESS", 4, STRESS)):
            lines += ["    -1", "  2414", f"{1:10d}", name, f"{1:10d}", *["NONE"] * 5]
            lines.append("".join(f"{v:10d}" for v in (1, 4, character, 2, 2, rows.shape[1])))
            lines += ["".join(f"{v:10d}" for v in (1, 1, 1, 0, 1, 1, 1, 0)), f"{0:10d}{0:10d}"]
            lines += ["".join(f"{v:13.5E}" for v in (time, 0, 0, 0, 0, 0)), "".join(f"{0:13.5E}" for _ in range(6))]
            for n, row in zip(LABELS, rows, strict=True):
                lines += [f"{n:10d}", "".join(f"{time * v:13.5E}" for v in row)]
            lines.append("    -1")
    return ("\n".join(lines) + "\n").encode()


def dyna(form="fixed"):
    """Return a keyword file with columns ("fixed"), wide ones ("long") or commas."""
    label, number, other = {"fixed": (8, 16, 10), "long": (20, 20, 20), "comma": (0, 0, 0)}[form]

    def card(values, width):
        if form == "comma":
            return ",".join(map(str, values))
        return "".join(f"{v:>{width if isinstance(v, (int, np.integer)) else number}}" for v in values)

    lines = ["$ a bar", "*KEYWORD" + (" LONG=Y" if form == "long" else ""), "*TITLE", "a bar", "*NODE"]
    lines += [card([n, *map(float, point)], label) for n, point in zip(LABELS, POINTS, strict=True)]
    a, b, c, d, e, f = LABELS[WEDGES[0]]
    lines += ["*ELEMENT_SOLID", card([1, 5, *LABELS[HEXAHEDRA[0]]], label), card([2, 5], label)]
    lines += [card([*LABELS[HEXAHEDRA[1]]], label), card([3, 6, a, b, e, d, c, c, f, f], label)]
    lines += ["*ELEMENT_SHELL_THICKNESS", card([11, 7, 7, 17, 47, 37], label), "$ comment", "   1.0   1.0   1.0   1.0"]
    lines += [
        card([12, 7, 17, 27, 57, 57], label),
        "   1.0   1.0   1.0   1.0",
        "*ELEMENT_BEAM",
        card([21, 8, 7, 17, 27], label),
    ]
    lines += [
        "*PART",
        "the bar",
        card([5, 1, 1], other),
        "the roof",
        card([6, 1, 1], other),
        "*PART",
        "skin",
        card([7, 1, 1], other),
    ]
    lines += ["*SET_NODE_LIST_TITLE", "left", card([1], other), card([7, 37, 67, 97], other)]
    lines += ["*SET_NODE_LIST_GENERATE", card([2], other), card([7, 37], other)]
    lines += ["*SET_SEGMENT", card([3], other), card([7, 37, 97, 67], other), card([7, 17, 47, 47], other), "*END"]
    return ("\n".join(lines) + "\n").encode()


_FACES = [  # nodes, owner, neighbour
    ([1, 4, 10, 7], 0, 1), ([6, 7, 10, 9], 0, 2),
    ([0, 3, 4, 1], 0, -1), ([1, 4, 5, 2], 1, -1), ([0, 6, 9, 3], 0, -1), ([2, 5, 11, 8], 1, -1),
    ([0, 1, 7, 6], 0, -1), ([3, 9, 10, 4], 0, -1), ([1, 2, 8, 7], 1, -1), ([4, 10, 11, 5], 1, -1),
    ([7, 8, 11, 10], 1, -1), ([6, 12, 9], 2, -1), ([7, 10, 13], 2, -1), ([6, 7, 13, 12], 2, -1),
    ([9, 12, 13, 10], 2, -1),
]  # fmt: skip
_PATCHES = {"bottom": (2, 2), "left": (4, 1), "right": (5, 1), "walls": (6, 9)}


def foam(form="ascii", label=32, scalar=64, packed=False):
    """Return the files of an OpenFOAM case by their paths: text or binary, 32 or 64 bits, plain or gzipped."""
    ints, reals = (np.dtype(f"<i{label // 8}"), np.dtype(f"<f{scalar // 8}"))

    def written(name, kind, body):
        arch = f'arch "LSB;label={label};scalar={scalar}"; '
        head = f"FoamFile {{ version 2.0; format {form}; {arch}class {kind}; object {name}; }}\n// * * //\n"
        return head.encode() + body + b"\n// end\n"

    def numbers(values, dtype):
        values = np.asarray(values)
        if form == "binary":
            return b"%d\n(" % len(values) + values.astype(dtype).tobytes() + b")"
        rows = [" ".join(f"{v:.17g}" for v in np.atleast_1d(row)) for row in values]
        return (f"{len(values)}\n(\n" + "\n".join(f"({r})" if values.ndim > 1 else r for r in rows) + "\n)").encode()

    nodes = [face for face, _, _ in _FACES]
    if form == "binary":
        faces = (
            "faceCompactList",
            numbers(np.cumsum([0, *map(len, nodes)]), ints) + b"\n" + numbers(sum(nodes, []), ints),
        )
    else:
        rows = "\n".join(f"{len(face)}({' '.join(map(str, face))})" for face in nodes)
        faces = "faceList", f"{len(nodes)}\n(\n{rows}\n)".encode()
    patches = "\n".join(f"{n} {{ type patch; nFaces {c}; startFace {s}; }}" for n, (s, c) in _PATCHES.items())
    mesh = "constant/polyMesh/"
    files = {
        f"{mesh}points": written("points", "vectorField", numbers(POINTS, reals)),
        f"{mesh}faces": written("faces", *faces),
        f"{mesh}owner": written("owner", "labelList", numbers([face[1] for face in _FACES], ints)),
        f"{mesh}neighbour": written("neighbour", "labelList", numbers([1, 2], ints)),
        f"{mesh}boundary": written("boundary", "polyBoundaryMesh", f"{len(_PATCHES)}\n(\n{patches}\n)".encode()),
        f"{mesh}cellZones": written(
            "cellZones",
            "regIOobject",
            b"1\n(\nroof\n{\ntype cellZone;\ncellLabels List<label> " + numbers([2], ints) + b";\n}\n)",
        ),
    }
    tensor = np.arange(18.0).reshape(3, 6)
    for time in ("0", "0.5"):
        scale = 1 + float(time)
        for name, kind, own in (("p", "Scalar", [1.0, 2, 3]), ("U", "Vector", POINTS[:3]), ("S", "SymmTensor", tensor)):
            body = numbers(scale * np.asarray(own), reals)
            kinds = {"Scalar": "scalar", "Vector": "vector", "SymmTensor": "symmTensor"}
            text = f"dimensions [0 0 0 0 0 0 0];\ninternalField nonuniform List<{kinds[kind]}> \n".encode()
            files[f"{time}/{name}"] = written(name, f"vol{kind}Field", text + body + b";\nboundaryField\n{\n}\n")
        uniform = b"dimensions [0 0 0 0 0 0 0];\ninternalField uniform (1 2 3);\n"
        files[f"{time}/W"] = written("W", "volVectorField", uniform)
        nodal = b"dimensions [0 0 0 0 0 0 0];\ninternalField nonuniform List<scalar> " + numbers(POINTS[:, 0], reals)
        files[f"{time}/x"] = written("x", "pointScalarField", nodal + b";\n")
        files[f"{time}/phi"] = written("phi", "surfaceScalarField", uniform)
    if packed:
        files = {f"{name}.gz": gzip.compress(content) for name, content in files.items()}
    return files


def polyhedra():
    """Return a VTU file of a cube, one of whose faces is cut in two, and a tetrahedron."""
    cube = [[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [1, 3, 7, 5], [2, 6, 7, 3], [0, 4, 6], [0, 6, 2]]
    stream = [len(faces), *(number for face in faces for number in (len(face), *face))]
    arrays = {
        "connectivity": [*range(8), 4, 5, 6, 8],
        "offsets": [8, 12],
        "types": [42, 10],
        "faces": stream,
        "faceoffsets": [len(stream), -1],
    }
    text = "".join(
        f'<DataArray type="Int64" Name="{name}" format="ascii">{" ".join(map(str, values))}</DataArray>'
        for name, values in arrays.items()
    )
    points = " ".join(str(x) for point in [*cube, [0, 0, 2]] for x in point)
    field = " ".join(map(str, range(9)))
    return f"""<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian"><UnstructuredGrid>
<Piece NumberOfPoints="9" NumberOfCells="2">
<PointData><DataArray type="Float64" Name="T" format="ascii">{field}</DataArray></PointData>
<CellData><DataArray type="Float64" Name="p" format="ascii">1 2</DataArray></CellData>
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">{points}</DataArray></Points>
<Cells>{text}</Cells></Piece></UnstructuredGrid></VTKFile>""".encode()


def write_case(folder, files):
    """Write the files of a case; return its folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
