"""The certificate of a proof by induction: an invariant, and what it is to show."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from snpjax_formats.atomic import atomic_write
from snpjax_formats.strict_json import JsonError, parse_json

from ...io.source import load


#: The version of the JSON of certificates.
FORMAT = 1
_KIND = "snpjax certificate"


class CertificateError(ValueError):
    """A text that is no certificate: what is wrong, and where."""


@dataclass(frozen=True)
class Certificate:
    """A proof that a condition holds in every configuration that can be reached, as `certify`
    checks it: the invariant holds initially, every step keeps it, and it implies the condition.

    - `property`: the query, "always ..." or "never ..." of a condition on one configuration.
    - `invariant`: a condition of the query language over the names of the model: linear comparisons
      and congruences of spikes or tokens, `timer(n)`, `open(n)` and `pending(n)`, joined by `and`,
      `or`, `not` and `implies`.
    - `model`: the digest of the model, see `model_digest`.
    - `facts`: how the parts of the invariant were found, in words; nothing depends on them.
    - `k`: the invariant is k-inductive: it holds in the first k configurations of every
      computation, and after any k consecutive ones in which it holds. 1: it is inductive.
    - `rule`: of a net, the name of the rule of its steps: `"petri"`.
    """

    property: str
    invariant: str
    model: str
    facts: tuple[str, ...] = ()
    k: int = 1
    rule: str = ""

    def __post_init__(self) -> None:
        for name in ("property", "invariant", "model", "rule"):
            if not isinstance(getattr(self, name), str):
                raise CertificateError(f"`{name}` is {getattr(self, name)!r:.60}. Give a string.")
        if not all(isinstance(fact, str) for fact in self.facts):
            raise CertificateError("`facts` holds something else than strings. Give strings.")
        if type(self.k) is not int or not 1 <= self.k <= 1000:
            raise CertificateError(f"`k` is {self.k!r:.60}. Give an integer from 1 to 1000.")
        object.__setattr__(self, "facts", tuple(self.facts))

    def to_dict(self) -> dict[str, Any]:
        """The certificate as an object of JSON, with its format and version."""
        fields = {**asdict(self), "facts": list(self.facts)}
        if not self.rule:
            del fields["rule"]
        return {"format": _KIND, "version": FORMAT, **fields}

    def to_json(self) -> str:
        """The certificate as a text of JSON, which `from_json` reads."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, path: str = "certificate") -> "Certificate":
        """Read the certificate in a text of JSON.

        **Arguments:**

        - `text`: what `to_json` returns.
        - `path`: what errors name as the file.

        **Raises:** `CertificateError` with the place for a text that is no JSON, another version,
        and a field that is missing, unknown or of the wrong type.
        """
        try:
            found = parse_json(text, path=path)
        except JsonError as error:
            raise CertificateError(f"{error}") from None
        if not isinstance(found, dict) or found.pop("format", None) != _KIND:
            problem = f'this is not a certificate (it has no "format": "{_KIND}")'
            raise CertificateError(f"{path}: {problem}")
        version = found.pop("version", None)
        if type(version) is not int or version != FORMAT:
            problem = f"certificates of version {version!r:.60} are not read, only version {FORMAT}"
            raise CertificateError(f"{path}: {problem} (write it with this version of snpjax)")
        known = cls.__dataclass_fields__
        for name in found:
            if name not in known:
                raise CertificateError(f'{path}: unknown field "{name:.60}" (leave it out)')
        for name in ("property", "invariant", "model"):
            if name not in found:
                raise CertificateError(f'{path}: the field "{name}" is missing (add it)')
        if not isinstance(found.get("facts", []), list):
            raise CertificateError(f'{path}: the field "facts" is not a list (give strings)')
        try:
            return cls(**found)
        except CertificateError as error:
            raise CertificateError(f"{path}: {error}") from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file of JSON, atomically."""
        atomic_write(Path(path), self.to_json())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Certificate":
        """The certificate in a file.

        **Raises:** `CertificateError` with the place; `ReadError` for a file that cannot be read.
        """
        return cls.from_json(load(path).text, path=os.fspath(path))
