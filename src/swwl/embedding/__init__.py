"""Graphs in, rows out: Weisfeiler-Lehman iterations, projected quantiles, distances and components of rows."""

from swwl.embedding.distances import pairwise_distances
from swwl.embedding.transformer import SWWLEmbedding

__all__ = ["SWWLEmbedding", "pairwise_distances"]
