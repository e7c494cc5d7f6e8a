"""CAD files (STEP, IGES, BREP), whose surfaces gmsh meshes in a process of its own."""
