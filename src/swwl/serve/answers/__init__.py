"""Answers: numbers, fields, and the forms of PLAID and MLflow."""
