"""Text formats of solvers and mesh generators."""
