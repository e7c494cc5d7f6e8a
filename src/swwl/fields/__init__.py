"""Whole fields on new meshes: what describes a node, independently of how its domain was meshed.

``walls.py`` finds bodies in a plane domain, ``panels.py`` cuts their outlines, ``slitmap.py`` maps what is around them.
"""
