"""Geometry behind fields: finite elements, node descriptors, bodies in plane domains and maps around them."""
