"""Which encoder a build goes by."""

from __future__ import annotations

from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import EncoderError
from capdisc_indexer.frozen import frozen


@frozen(kw_only=True)
class Chosen:
    """An encoder by its name; None with a notice where it cannot be used."""

    name: str
    encoder: Encoder | None = None
    notices: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The encoder's, "" for none."""
        return self.encoder.fingerprint if self.encoder else ""


def choose(name: str, required: bool) -> Chosen:
    """The encoder, checked to the last byte. Raises EncoderError when it cannot be used and is required."""
    try:
        encoder = encoders.load(name)
        encoder.check()
    except EncoderError as error:
        if required:
            raise
        notice = f"{error.message}; searching will go by words alone ({error.hint})"
        return Chosen(name=name, notices=(notice,))
    return Chosen(name=name, encoder=encoder)
