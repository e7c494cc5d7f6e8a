"""Formats in HDF5 and netCDF: CGNS and Exodus."""
