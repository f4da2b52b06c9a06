"""Labels and their codes: dense, small, and ordered so that ties break the same way everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import SchemaError
from sequester.hierarchies.labels import in_label_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester._typing import Codes

__all__ = ["Codebook", "in_label_order"]


@dataclass(frozen=True)
class Codebook:
    """The labels of a column; the code of a label is its place in `labels`.

    Examples
    --------
    >>> book = Codebook.of(["news", "10", "9"])
    >>> book.labels
    ('10', '9', 'news')
    >>> book.encode(["news", "9"]).tolist()
    [2, 1]
    >>> book.decode([2, 1])
    ['news', '9']
    """

    labels: tuple[str, ...]
    """Distinct labels in label order."""

    @classmethod
    def of(cls, labels: Iterable[str]) -> Codebook:
        """Make the codebook of all labels that occur."""
        return cls(tuple(in_label_order(labels)))

    @cached_property
    def codes(self) -> dict[str, int]:
        """Label to code."""
        return {label: code for code, label in enumerate(self.labels)}

    def encode(self, labels: Iterable[str]) -> Codes:
        """Turn labels into codes; an unknown label is refused by name."""
        try:
            return np.array([self.codes[label] for label in labels], np.int32)
        except KeyError as error:
            msg = f"unknown label {error.args[0]!r}"
            raise SchemaError(msg) from None

    def decode(self, codes: Sequence[int] | Codes) -> list[str]:
        """Turn codes into labels."""
        return [self.labels[code] for code in codes]

    def __len__(self) -> int:
        return len(self.labels)
