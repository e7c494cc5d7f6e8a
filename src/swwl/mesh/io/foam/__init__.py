"""OpenFOAM: its files, and cases as folders."""
