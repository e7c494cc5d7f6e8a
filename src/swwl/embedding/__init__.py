"""Graphs in, rows out: Weisfeiler-Lehman iterations, projected quantiles, distances and components of rows.

``transformer`` (`SWWLEmbedding`) and ``summaries`` are the embeddings, ``options`` checks what they are told.
``runner`` brings them meshes, as graphs or as ``clouds`` of points; ``pipeline`` embeds these by ``wl`` and ``sliced``.
Rows go on to ``distances`` and ``components``. ``linear`` takes one mesh back from a gradient in its row
(``sliced_adjoint``), and ``stores/`` is for very many meshes.
"""

from swwl.embedding.distances import pairwise_distances
from swwl.embedding.transformer import SWWLEmbedding

__all__ = ["SWWLEmbedding", "pairwise_distances"]
