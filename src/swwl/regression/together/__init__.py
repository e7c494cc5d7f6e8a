"""Answers that belong together: targets with missing cells that help each other, and two fidelities."""
