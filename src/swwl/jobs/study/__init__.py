"""Studies: choose, simulate, fit and choose again, with the user's own solver, in plain files.

``study.py`` reads what a study is, ``runs.py`` runs one case, ``steps.py`` goes from batch to batch, ``page.py`` shows it.
"""
