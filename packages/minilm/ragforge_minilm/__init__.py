"""The weights of the embedder minilm; ragforge reads them."""
