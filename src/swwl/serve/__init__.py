"""Models in a browser and over HTTP: a second shell around ``jobs/``, beside the command line.

``served.py`` holds a model with what is known of it, ``meshes.py`` the meshes that clients may name; ``answers.py`` and
``fields.py`` are functions of the two. ``app.py`` puts them under addresses, behind ``guard.py``, which refuses what is
too large, too slow or not allowed. ``page/`` is what a browser shows: plain HTML, CSS and modules.

It needs the extra ``[serve]``: ``pip install 'swwl[serve]'``.
"""
