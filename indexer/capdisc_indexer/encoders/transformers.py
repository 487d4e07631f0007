"""Any sentence-transformers model as an encoder, by name or path; needs the extra `transformers`.

The model's own prompts and pooling are used. `NAME@DIM` keeps the first DIM dimensions of a model
trained for that (Matryoshka).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders.onnx_encoder import describe_failed_load, find_package_folders
from capdisc_indexer.encoders.quantisation import quantise
from capdisc_indexer.model.errors import EncoderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HINT = (
    "give the path of a sentence-transformers folder, or of one with model.onnx and tokenizer.json"
)
_MODEL_FILES = ("*.safetensors", "*.onnx", "*.json", "*.txt", "*.model")


class TransformerEncoder:
    """A loaded transformer. Only local files are read; weights must not be pickles."""

    def __init__(self, name: str) -> None:
        model, dim = _parse_name(name)
        # Before the library is imported, which takes seconds.
        if _is_path(model) and not Path(model).is_dir():
            raise EncoderError(f"the encoder cannot be loaded: there is no folder {model}", _HINT)
        library = lazy_imports.sentence_transformers()
        try:
            self._model = library.SentenceTransformer(
                _find_folder(model),
                device="cpu",
                truncate_dim=dim,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:
            raise describe_failed_load(name, error, _HINT) from error
        self.name = name
        self.dim = int(self._model.encode(["dimension"], **_ENCODE_OPTIONS).shape[1])
        if dim and dim != self.dim:
            raise EncoderError(
                f"{model} has {self.dim} dimensions, not {dim}",
                "give a smaller number behind @, or none",
            )
        self.fingerprint = f"{Path(model).name}:{_compute_digest(model)}:{self.dim}"

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows."""
        np = lazy_imports.numpy()
        # Sorted by length, a batch holds little padding: two to three times as fast.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        result: NDArray[Any] = np.zeros((len(texts), self.dim), np.float32)
        if texts:
            result[order] = self._model.encode_document(
                [texts[i] for i in order], batch_size=8, **_ENCODE_OPTIONS
            )
        return result

    def encode_few(self, texts: Sequence[str]) -> bytes:
        """The rows of `encode` as bytes."""
        return self.encode(texts).tobytes()

    def encode_query(self, text: str) -> bytes:
        """dim int8 values in the direction of the query's vector."""
        return quantise(self._model.encode_query([text], **_ENCODE_OPTIONS)).tobytes()

    def check(self) -> None:
        """Does nothing: the fingerprint is a digest of the files that were loaded."""


_ENCODE_OPTIONS = {
    "normalize_embeddings": True,
    "show_progress_bar": False,
    "convert_to_numpy": True,
}


def _parse_name(name: str) -> tuple[str, int | None]:
    """The model, and the number of dimensions to keep, or None for all.

    >>> _parse_name("some-model@256"), _parse_name("@scope/model")
    (('some-model', 256), ('@scope/model', None))
    """
    model, _, dim = name.rpartition("@")
    return (model, int(dim)) if model and dim.isdecimal() and int(dim) else (name, None)


def _is_path(name: str) -> bool:
    """Whether this can only be a path: on a hub, a name has one slash at most."""
    return name.startswith(("/", ".", "~")) or name.count("/") > 1


def _find_folder(name: str) -> str:
    """The path itself, or the folder of an installed package of that name that carries a model."""
    if Path(name).is_dir():
        return name
    for folder in find_package_folders(name):
        for modules in sorted(folder.rglob("modules.json")):
            return str(modules.parent)
    return name


def _compute_digest(name: str) -> str:
    """Sixteen hexadecimal digits of a digest over all files of the model."""
    folder, total = Path(_find_folder(name)), hashlib.sha256()
    for path in sorted({path for pattern in _MODEL_FILES for path in folder.rglob(pattern)}):
        with path.open("rb") as file:
            total.update(
                f"{path.relative_to(folder)}:{hashlib.file_digest(file, 'sha256').hexdigest()}".encode()
            )
    return total.hexdigest()[:16]
