"""What a mesh is as a shape: its skin, points and sizes on its cells, plain numbers; each beside its adjoint."""
