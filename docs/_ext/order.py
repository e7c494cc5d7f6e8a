"""The order of the gallery: from the first surrogate to what few will need."""

from __future__ import annotations

ORDER = (
    "scalars curves fields default_model calibration domain own_kernel classification networkx_graphs "
    "molecules materials pipelines pyvista_objects plaid check_table merging distances "
    "accuracy_and_cost save_and_report select_cases suggest_next design_loop sensitivity large_n"
).split()


class GalleryOrder:
    """Sorts scripts as listed; those that are not come last."""

    def __init__(self, src_dir: str):
        self.src_dir = src_dir

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the key of a script."""
        stem = filename.removesuffix(".py")
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)

    def __repr__(self) -> str:
        return "GalleryOrder"
