"""The weights of the embedder e5; ragforge reads them."""
