"""Embedders turn text into vectors: an included static model, or a configured service."""
