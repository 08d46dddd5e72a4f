"""Recourse beside DiCE, and contributions beside shap."""
