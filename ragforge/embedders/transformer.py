"""The forward pass of BERT in NumPy: from pieces of words to one vector per text.

Arrays are identified by names: `words`, `positions`, `norm`, `heads`, and for each layer from `0.` on
`attention` (queries, keys and values one after the other), `attended`, `attended_norm`, `inner`, `outer`,
`norm`. A matrix has a row for each of its results and a `.bias`; one of 8-bit numbers also has a `.scale` for
each row, and one of bytes consists of blocks in the form Q4_0 of llama.cpp: a factor of 16 bits, then 32
numbers of 4 bits. A norm has two rows, its factors and what is added.
Source: Devlin et al., "BERT" (2019).
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Arrays: TypeAlias = Mapping[str, np.ndarray[Any, Any]]

BLOCK_BYTES = 18
BLOCK_ZERO = 8
"""Represents 0 in 4 bits."""


class _Dense(Struct, frozen=True):
    weight: Floats
    """A column for each result."""
    bias: Floats

    def __call__(self, state: Floats) -> Floats:
        made = state @ self.weight
        made += self.bias
        return made


class _Layer(Struct, frozen=True):
    attention: _Dense
    attended: _Dense
    attended_norm: Floats
    inner: _Dense
    outer: _Dense
    norm: Floats


class Transformer:
    """Create a model of these arrays; raises KeyError, ValueError or IndexError if they are not one's.

    dimensions: the length of a vector. pieces_max: of a text; more have no position.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._words = arrays["words"]
        self._scales: Floats | None = arrays.get("words.scale")
        self._positions: Floats = arrays["positions"]
        self._norm: Floats = arrays["norm"]
        self._heads = int(arrays["heads"])
        self.pieces_max, self.dimensions = self._positions.shape
        if self._embedded(np.zeros(1, np.intp)).shape[1] != self.dimensions or self.dimensions % self._heads:
            raise ValueError(
                f"{self._words.shape} pieces, {self._positions.shape} positions, {self._heads} heads"
            )
        self._layers: list[_Layer] = []
        while f"{len(self._layers)}.attention" in arrays:
            self._layers.append(_layer(arrays, f"{len(self._layers)}."))

    def vectors(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Return the mean of the outputs for each text's pieces; all are computed together, none empty.

        Raises IndexError for an unknown piece, and ValueError for a text with more than `pieces_max`.
        """
        places = np.array(list(itertools.chain.from_iterable(texts)))
        ends = list(itertools.accumulate(map(len, texts)))
        spans = [slice(end - len(text), end) for text, end in zip(texts, ends, strict=True)]
        state = self._embedded(places)
        for span in spans:
            state[span] += self._positions[: span.stop - span.start]
        state = _normed(state, self._norm)
        for layer in self._layers:
            attended = self._attended(layer.attention(state), spans)
            state = _normed(state + layer.attended(attended), layer.attended_norm)
            state = _normed(state + layer.outer(_gelu(layer.inner(state))), layer.norm)
        return np.stack([state[span].mean(axis=0) for span in spans])

    def _embedded(self, places: "np.ndarray[Any, np.dtype[np.intp]]") -> Floats:
        """Return the rows of these pieces."""
        return _floats(self._words[places], None if self._scales is None else self._scales[places])

    def _attended(self, made: Floats, spans: Sequence[slice]) -> Floats:
        """Return the attention of each piece to the others of its text."""
        width = self.dimensions // self._heads
        root = np.float32(np.sqrt(width))
        attended = np.empty((len(made), self.dimensions), np.float32)
        for span in spans:
            queries, keys, values = made[span].reshape(-1, 3, self._heads, width).transpose(1, 2, 0, 3)
            shares = queries @ keys.transpose(0, 2, 1) / root
            shares -= shares.max(axis=-1, keepdims=True)
            np.exp(shares, out=shares)
            shares /= shares.sum(axis=-1, keepdims=True)
            attended[span] = (shares @ values).transpose(1, 0, 2).reshape(-1, self.dimensions)
        return attended


def _layer(arrays: Arrays, prefix: str) -> _Layer:
    def dense(name: str) -> _Dense:
        rows = _floats(arrays[prefix + name], arrays.get(f"{prefix}{name}.scale"))
        return _Dense(np.ascontiguousarray(rows.T), arrays[f"{prefix}{name}.bias"])

    norms = arrays[f"{prefix}attended_norm"], arrays[f"{prefix}norm"]
    attended, inner, outer = dense("attended"), dense("inner"), dense("outer")
    return _Layer(dense("attention"), attended, norms[0], inner, outer, norms[1])


def _floats(rows: np.ndarray[Any, Any], scales: Floats | None) -> Floats:
    """Return the numbers of stored rows."""
    if rows.dtype == np.uint8:
        blocks = rows.reshape(len(rows), -1, BLOCK_BYTES)
        factors = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
        halves = blocks[..., 2:]
        numbers = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32)
        numbers -= BLOCK_ZERO
        numbers *= factors
        return numbers.reshape(len(rows), -1)
    made = rows.astype(np.float32)
    if scales is not None:
        made *= scales[:, None]
    return made


def _normed(state: Floats, norm: Floats) -> Floats:
    centred = state - state.mean(axis=-1, keepdims=True)
    spread = (centred * centred).mean(axis=-1, keepdims=True)
    centred /= np.sqrt(spread + np.float32(1e-12))
    centred *= norm[0]
    centred += norm[1]
    return centred


def _gelu(x: Floats) -> Floats:
    """Return x times the normal share below it. erf: Abramowitz and Stegun 7.1.26, to 1.5e-7."""
    size = np.abs(x)
    size *= np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.zeros_like(x)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += np.float32(factor)
        series *= t
    size *= -size
    series *= np.exp(size, out=size)
    np.copysign(1 - series, x, out=series)
    series += 1
    series *= x
    series *= np.float32(0.5)
    return series
