"""Encoders turn text into unit vectors; `load_encoder` gives the encoder of a name."""

from capdisc_indexer.encoders.encoder import (
    NO_RERANKER,
    SHIPPED_ENCODER,
    Encoder,
    is_static,
    load_encoder,
    load_shipped_encoder,
    shipped_fingerprint,
    try_load_encoder,
)

__all__ = [
    "NO_RERANKER",
    "SHIPPED_ENCODER",
    "Encoder",
    "is_static",
    "load_encoder",
    "load_shipped_encoder",
    "shipped_fingerprint",
    "try_load_encoder",
]
