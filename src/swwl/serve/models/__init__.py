"""Models and meshes that are served."""
