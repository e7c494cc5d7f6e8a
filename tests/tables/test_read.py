"""Tables of every dialect are read as what they say, or refused with the line and the cure."""

import datetime
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swwl
from swwl import Categories, InputError, Matern52, RobustGPRegressor
from swwl.tables.columns import as_column
from swwl.tables.read import mesh_file, read_table_file
from tests.helpers import plate


def read(folder, text, name="t.csv", encoding="utf-8"):
    (folder / name).write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return swwl.read_table(folder / name)


@pytest.mark.parametrize(
    "text",
    [
        "mesh,load,y\na.vtu,1.5,20\nb.vtu,2.5,31\n",
        "mesh;load;y\na.vtu;1,5;20\nb.vtu;2,5;31\n",
        "mesh;load;y\na.vtu;1.5;20\nb.vtu;2.5;31\n",
        "mesh\tload\ty\na.vtu\t1,5\t20\nb.vtu\t2,5\t31\n",
        "mesh\tload\ty\r\na.vtu\t1.5\t20\r\nb.vtu\t2.5\t31\r\n",
        "\ufeffmesh , load,y\n a.vtu , 1.5 ,20\nb.vtu,2.5,31\n\n",
        'mesh,load,y\na.vtu,"1,5",20\n"b.vtu","2,5",31',
        "mesh;load;y;\na.vtu;1,5;20;\nb.vtu;2,5;31;\n",
    ],
)
def test_dialects(tmp_path, text):
    table = read(tmp_path, text)
    assert list(table.columns) == ["mesh", "load", "y"]
    assert table["load"].tolist() == [1.5, 2.5]
    assert table["y"].dtype == np.int64 and table["y"].tolist() == [20, 31]
    assert table["mesh"].tolist() == [str(tmp_path / "a.vtu"), str(tmp_path / "b.vtu")]


@pytest.mark.parametrize(
    "text, message",
    [
        ("a,b;c\nx,y;z\n", r"semicolons \(a,b \| c\) or by commas \(a \| b;c\); put quotes"),
        (
            "x;y\n1,5;2.5\n",
            "line 2 holds 1,5 in column 'x', but line 2 holds 2.5 in column 'y': write all numbers with",
        ),
        ("x\ty\n1,234\t5\n", "line 2 holds 1,234 in column 'x', which may be 1.234 or 1234: write one of these"),
        ("x,y\n1,5,2,5\n", "line 2 has 4 cells, but the header has 2.*decimal commas, separate by semicolons"),
        ("x,y,z\n1,2,3\n1,2\n", "line 3 has 2 cells, but the header has 3"),
        ("load,x,load\n1,2,3\n", "columns 1 and 3 are both called 'load'; rename one"),
        ("mesh,y ,y\na.vtu,2,3\n", "columns 2 and 3 are both called 'y'"),
        ("", "the table is empty"),
        ("x,y\n", "a header but no rows"),
        ("größe,y\n1,2\n".encode("latin-1"), "line 1 is not text in UTF-8.*save it as UTF-8"),
        ("x,y\n1,2\n".encode("utf-16"), "UTF-16; save it as UTF-8"),
        (b"x,y\n1,\x00\n", "binary data"),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_cure(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 't.csv'}: ")


def test_numbers_decide_between_separators(tmp_path):
    table = read(tmp_path, "load, kN;y\n1,5;2\n2,5;3\n")  # two cells in each line by commas, too
    assert table.columns.tolist() == ["load, kN", "y"] and table["load, kN"].tolist() == [1.5, 2.5]
    assert read(tmp_path, "y\n1,5\n2,5\n")["y"].tolist() == [1.5, 2.5]
    assert read(tmp_path, "y;z\n1.234,5;1\n20,5;2\n")["y"].tolist() == [1234.5, 20.5]


def test_what_columns_hold():
    assert as_column(["1", "", "3"]).isna().tolist() == [False, True, False]
    assert as_column(["True", "false"]).dtype == bool
    assert as_column(["1", "2", "lost", "NaN"]).tolist()[:3] == [1.0, 2.0, "lost"]
    assert as_column(["none", "TiN", ""]).tolist()[:2] == ["none", "TiN"]  # a coating, not a missing one
    assert as_column(["1_000", "2"]).tolist() == ["1_000", "2"]
    assert as_column(["12345678901234567890", "1"]).tolist() == [12345678901234567890.0, 1.0]
    assert as_column([datetime.date(2024, 1, 31), None]).dtype.kind == "M"


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_floats_keep_every_bit(numbers):
    for mark in (".", ","):
        texts = [repr(number).replace(".", mark) for number in numbers]
        np.testing.assert_array_equal(as_column(texts, mark).to_numpy(float), numbers)


def test_lines_are_those_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('note,y\n"two\nlines",1\n\nb,2\n')
    assert read_table_file(path).lines == [2, 5]
    path.write_text("note,y\na,1\nb,2\n\n\n")
    assert read_table_file(path).lines is None


def test_excel_and_parquet(tmp_path):
    frame = pd.DataFrame({"mesh": ["a.vtu", "b.VTU"], "load": [1.5, np.nan], "n": [1, 2], "kind": ["x", "y"]})
    for name, write in {"t.xlsx": frame.to_excel, "t.parquet": frame.to_parquet}.items():
        write(tmp_path / name, index=False)
        table = swwl.read_table(tmp_path / name)
        assert table["mesh"].tolist() == [str(tmp_path / "a.vtu"), str(tmp_path / "b.VTU")]
        assert table["load"].isna().tolist() == [False, True]
        assert table["n"].tolist() == [1, 2] and table["kind"].tolist() == ["x", "y"]
    (tmp_path / "t.xlsx").write_bytes(b"not a book")
    with pytest.raises(InputError, match="cannot be read as an Excel table"):
        swwl.read_table(tmp_path / "t.xlsx")
    (tmp_path / "t.xls").write_bytes(b"old")
    with pytest.raises(InputError, match=r"save it as \.xlsx"):
        swwl.read_table(tmp_path / "t.xls")


def test_excel_is_an_extra(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"t.xlsx: reading Excel needs openpyxl: pip install 'swwl\[excel\]'"):
        swwl.read_table(tmp_path / "t.xlsx")


def test_paths_with_backslashes(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.vtu").touch()
    assert mesh_file(tmp_path / "t.csv", "meshes\\a.vtu ") == tmp_path / "meshes" / "a.vtu"
    odd = tmp_path / "b\\c.vtu"
    if sys.platform != "win32":
        odd.touch()
        assert mesh_file(tmp_path / "t.csv", "b\\c.vtu") == odd


def test_a_table_of_ones_own_is_fitted_in_python(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for k in range(12):
        points, cells = plate(30)
        width, material = rng.uniform(1, 2), "steel" if k % 2 else "copper"
        swwl.Mesh(points * [width, 1], cells).write(tmp_path / f"{k}.vtu")
        rows.append((f"{k}.vtu", material, width + k % 2))
    pd.DataFrame(rows, columns=["mesh", "material", "y"]).to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    table = swwl.read_table(tmp_path / "t.csv")
    kernel = swwl.SWWL("mesh", n_projections=5, n_quantiles=5) * Categories("material")
    model = RobustGPRegressor(kernel, calibrate=False).fit(table[:10], "y")
    model.save(tmp_path / "m.swwl")
    again = swwl.load_model(tmp_path / "m.swwl")
    np.testing.assert_array_equal(again.predict(table[10:]), model.predict(table[10:]))
    assert np.abs(model.predict(table[10:]) - table["y"][10:]).max() < 0.1
    assert model.ranges_.index.tolist() == ["mesh", "material"]
    with pytest.raises(
        InputError, match="Row 1: column 'material' holds 'glass', but the training rows only copper, ste"
    ):
        again.predict(table[10:].assign(material=["steel", "glass"]))
    with pytest.raises(InputError, match="Row 0: column 'material' is missing"):
        again.predict(table[10:].assign(material=[None, "steel"]))


def test_categories_are_one_hot_vectors():
    kernel = Categories("kind")
    rows = kernel.fit(["b", "a", "b", "c"])
    vectors = kernel.vectors(rows)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, None] - vectors, axis=2), kernel.items(rows)[0], atol=1e-15)
    x = np.linspace(0, 1, 12)
    table = pd.DataFrame({"x": x, "kind": pd.Categorical(["a", "b"] * 6), "y": x + [0, 1] * 6})
    fitted = RobustGPRegressor(calibrate=False).fit(table, "y")
    assert repr(fitted.kernel_.kernels["numbers one by one"]) == "Matern52('x') * Categories('kind')"
    with pytest.raises(InputError, match="kernel=.* Categories\\('kind'\\)"):
        RobustGPRegressor().fit(table.assign(kind=["a", "b"] * 6), "y")
    assert RobustGPRegressor(Matern52("x") * kernel, calibrate=False).fit(table, "y").predict(table).shape == (12,)


def test_a_folder_is_not_a_table(tmp_path):
    with pytest.raises(InputError, match="is a folder, but a table"):
        swwl.read_table(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such table"):
        swwl.read_table(str(Path(tmp_path) / "none.csv"))
