"""The same shape with other nodes: coarser meshes, and fields carried from one mesh to another."""
