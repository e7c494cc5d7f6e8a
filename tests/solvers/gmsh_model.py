"""A model of gmsh in this process, which is left as it was found."""

import signal
from contextlib import contextmanager


@contextmanager
def gmsh_model():
    """Start gmsh without a word, and end it.

    gmsh takes back Python's choice to ignore SIGPIPE: without the last line, whatever the process later writes to a
    connection that the other side has closed would kill it.
    """
    import gmsh

    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        yield gmsh
    finally:
        gmsh.finalize()
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
