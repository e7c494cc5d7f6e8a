"""The files of VTK: legacy and XML, text and binary."""
