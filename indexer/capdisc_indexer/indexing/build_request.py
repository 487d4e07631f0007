"""What a build is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.indexing.change_detection import Progress
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import BuildOptions

# Which encoder a build goes by.


@frozen(kw_only=True)
class SelectedEncoder:
    """An encoder by its name; None with a notice where it cannot be used."""

    name: str
    encoder: Encoder | None = None
    notices: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The encoder's, "" for none."""
        return self.encoder.fingerprint if self.encoder else ""


def select_encoder(name: str, required: bool) -> SelectedEncoder:
    """The encoder, checked to the last byte. Raises EncoderError when it cannot be used and is
    required.
    """
    try:
        encoder = encoders.load_encoder(name)
        encoder.check()
    except EncoderError as error:
        if required:
            raise
        notice = f"{error.message}; searching will go by words alone ({error.hint})"
        return SelectedEncoder(name=name, notices=(notice,))
    return SelectedEncoder(name=name, encoder=encoder)


@frozen(kw_only=True)
class BuildRequest:
    """Bring the index in `index_dir` up to date with these folders, and say through `progress` how
    far it is.
    """

    roots: Sequence[Path]
    index_dir: Path
    options: BuildOptions
    progress: Progress

    @property
    def root_names(self) -> tuple[str, ...]:
        """The roots as text."""
        return tuple(map(str, self.roots))
