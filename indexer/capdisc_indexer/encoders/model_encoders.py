"""Any text embedding model as an encoder, by name or path.

In the form of ONNX (the extra `onnx`, no torch), its `tokenizer.json` lies next to the model.
Where the configuration of sentence-transformers lies there, too, its pooling and its prompts hold
("query: " and "passage: " of E5); else the mean of all tokens is taken.

In the form of sentence-transformers (the extra `transformers`), the model's own prompts and
pooling are used. `NAME@DIM` keeps the first DIM dimensions of a model trained for that
(Matryoshka).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders.quantisation import quantise
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, EncoderError
from capdisc_indexer.model.json_types import JsonObject

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TOKENS = 256
_PROMPTS, _POOLING = "config_sentence_transformers.json", "1_Pooling/config.json"
_TOKENIZER = "tokenizer.json"
_ONNX_HINT = "give the path of an ONNX model of text embeddings"
_HINT = (
    "give the path of a sentence-transformers folder, or of one with model.onnx and tokenizer.json"
)
_MODEL_FILES = ("*.safetensors", "*.onnx", "*.json", "*.txt", "*.model")
_ENCODE_OPTIONS = {
    "normalize_embeddings": True,
    "show_progress_bar": False,
    "convert_to_numpy": True,
}


class _ModelEncoder:
    """What both kinds of models share; a subclass sets the fields and implements `encode`."""

    name: str
    dim: int
    fingerprint: str

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows."""
        raise NotImplementedError

    def encode_few(self, texts: Sequence[str]) -> bytes:
        """The rows of `encode` as bytes."""
        return self.encode(texts).tobytes()

    def check(self) -> None:
        """Does nothing: the fingerprint is a digest of the files that were loaded."""


def _digest_files(files: Iterable[tuple[str, Path]]) -> str:
    """Sixteen hexadecimal digits of a digest over these files and their names."""
    total = hashlib.sha256()
    for name, path in files:
        with path.open("rb") as file:
            total.update(f"{name}:{hashlib.file_digest(file, 'sha256').hexdigest()}".encode())
    return total.hexdigest()[:16]


class OnnxEncoder(_ModelEncoder):
    """A loaded ONNX model. Only local files are read.

    Each text is encoded by itself in one thread: in a batch, a quantised model gives a text other
    numbers next to other texts. Several texts are encoded at once, each in a thread of its own.
    """

    def __init__(self, name: str, model: Path) -> None:
        runtime, tokenizers = lazy_imports.onnx_libraries()
        self._files = _list_model_files(model)
        tokenizer = self._files.get(_TOKENIZER)
        if tokenizer is None:
            raise EncoderError(
                f"there is no {_TOKENIZER} next to {model}",
                "copy that of the model into its folder",
            )
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session = runtime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(MAX_TOKENS)
            prompts = self._read_config(_PROMPTS).get("prompts") or {}
            self._query_prompt = str(prompts.get("query") or "")
            self._text_prompt = str(prompts.get("document") or prompts.get("passage") or "")
            pooling = self._read_config(_POOLING)
            self._takes_first = bool(pooling.get("pooling_mode_cls_token"))
            self._inputs = {value.name for value in self._session.get_inputs()}
            self.dim = len(self._encode_text("dimension"))
        except Exception as error:
            raise _describe_failed_load(name, error, _ONNX_HINT) from error
        self.name = name
        digest = _digest_files(sorted(self._files.items()))
        self.fingerprint = f"{model.stem}:{digest}:{self.dim}"

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows."""
        np = lazy_imports.numpy()
        result: NDArray[Any] = np.zeros((len(texts), self.dim), np.float32)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            prompted_texts = (self._text_prompt + text for text in texts)
            for place, row in enumerate(threads.map(self._encode_text, prompted_texts)):
                result[place] = row
        return result

    def encode_query(self, text: str) -> bytes:
        """dim int8 values in the direction of the query's vector."""
        row = self._encode_text(self._query_prompt + text)
        return quantise(row.reshape(1, -1)).tobytes()

    def _encode_text(self, text: str) -> NDArray[Any]:
        """The unit row of a text."""
        np = lazy_imports.numpy()
        ids = np.array([self._tokenizer.encode(text).ids], np.int64)
        values = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        (row,) = self._session.run(None, {key: values[key] for key in self._inputs})[0]
        if row.ndim == 2:  # a row for each token; else the model has pooled them
            row = row[0] if self._takes_first else row.mean(axis=0)
        unit_row: NDArray[Any] = row / (np.linalg.norm(row) or 1.0)
        return unit_row

    def _read_config(self, name: str) -> JsonObject:
        """The content of a JSON file of the model; empty without it."""
        try:
            content = json.loads(self._files[name].read_bytes())
        except (KeyError, OSError, *MALFORMED_DATA_ERRORS):
            return {}
        return content if isinstance(content, dict) else {}


@lru_cache(maxsize=2)
def open_onnx_encoder(name: str, model: Path, _mtime_ns: int) -> OnnxEncoder:
    """The encoder, loaded once: a server builds and answers with it again and again."""
    return OnnxEncoder(name, model)


def find_onnx_file(name: str) -> Path | None:
    """The ONNX model at this path, in the folder or in the installed package of this name; None
    where there is none, or where the weights for sentence-transformers lie there as well.
    """
    path = Path(name)
    if path.suffix == ".onnx" and path.is_file():
        return path
    for folder in [path] if path.is_dir() else _find_package_folders(name):
        files = sorted(folder.rglob("*.onnx"), key=lambda file: (file.name != "model.onnx", file))
        if files and not any(folder.rglob("*.safetensors")):
            return files[0]
    return None


def _describe_failed_load(name: str, error: Exception, hint: str) -> EncoderError:
    """The error for a model that a library cannot load, with the first line of its reason."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return EncoderError(f"the encoder cannot be loaded: {name} ({reason})", hint)


def _find_package_folders(name: str) -> list[Path]:
    """The folders of the installed package of this name, if there is one; it is not imported."""
    from importlib.util import find_spec

    module = name.replace("-", "_")
    spec = find_spec(module) if module.isidentifier() else None
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []


def _list_model_files(model: Path) -> dict[str, Path]:
    """The files that decide the vectors, by their names. The configuration lies next to the
    model or in the folder around it: a repository keeps its ONNX files in a folder of their own.
    """
    files = {"model.onnx": model}
    for folder in (model.parent.parent, model.parent):
        names = (_TOKENIZER, _PROMPTS, _POOLING)
        files |= {name: folder / name for name in names if (folder / name).is_file()}
    return files


class TransformerEncoder(_ModelEncoder):
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
            raise _describe_failed_load(name, error, _HINT) from error
        self.name = name
        self.dim = int(self._model.encode(["dimension"], **_ENCODE_OPTIONS).shape[1])
        if dim and dim != self.dim:
            raise EncoderError(
                f"{model} has {self.dim} dimensions, not {dim}",
                "give a smaller number behind @, or none",
            )
        folder = Path(_find_folder(model))
        paths = {path for pattern in _MODEL_FILES for path in folder.rglob(pattern)}
        digest = _digest_files((str(path.relative_to(folder)), path) for path in sorted(paths))
        self.fingerprint = f"{Path(model).name}:{digest}:{self.dim}"

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

    def encode_query(self, text: str) -> bytes:
        """dim int8 values in the direction of the query's vector."""
        return quantise(self._model.encode_query([text], **_ENCODE_OPTIONS)).tobytes()


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
    for folder in _find_package_folders(name):
        for modules in sorted(folder.rglob("modules.json")):
            return str(modules.parent)
    return name
