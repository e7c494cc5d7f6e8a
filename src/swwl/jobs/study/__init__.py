"""Studies: choose, simulate, fit and choose again, with the user's own solver, in plain files.

``study.py`` reads what a study is, ``candidates.py`` knows where cases come from, ``runs.py`` runs one, ``steps.py``
goes from batch to batch, and ``page.py`` shows it.
"""
