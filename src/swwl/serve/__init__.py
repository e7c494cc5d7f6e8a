"""Models in a browser and over HTTP: a second shell around ``jobs/``, beside the command line.

``http/`` is the server: ``app.py`` puts functions under addresses, behind ``guard.py``, which refuses what is too
large, too slow or not allowed. ``requests/`` declares what clients may ask and reads it. ``models/`` holds models with
what is known of them, and the meshes that clients may name. ``answers/`` are functions of a model, meshes and a
question. ``page/`` is what a browser shows: plain HTML, CSS and modules.

It needs the extra ``[serve]``: ``pip install 'swwl[serve]'``.
"""
