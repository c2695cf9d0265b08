"""Agents that paint on one canvas and foresee what it will look like; see README.md."""
