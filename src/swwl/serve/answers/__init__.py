"""Answers: functions of a served model, meshes and a question."""
