"""Parsers and compiled queries of the registered languages. A grammar is imported at its first use."""

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query, Tree

    from cockpit.plugin.languages import Language

CPP_SYNTAX = re.compile(rb"(?m)^\s*(class|namespace|template|public|private|protected|using)\b")
OUTLINE_KINDS = frozenset({"key", "heading", "table"})


class GrammarSpec(NamedTuple):
    """What parsing a language needs; a parsing process need not load the values of plugins."""

    name: str
    globs: tuple[str, ...]
    grammar: str
    queries: Mapping[str, str]


ParsableLanguage: TypeAlias = "Language | GrammarSpec"


def grammar_specs(languages: Sequence[ParsableLanguage]) -> tuple[GrammarSpec, ...]:
    """The specs of the languages that have a grammar."""
    return tuple(
        GrammarSpec(language.name, language.globs, language.grammar, language.queries)
        for language in languages
        if language.grammar
    )


class LanguageParser:
    """The parser and queries of one language, created at first use."""

    def __init__(self, language: ParsableLanguage) -> None:
        self.language = language
        self.name = language.name
        self._grammar: Grammar | None = None
        self._parser: Parser | None = None
        self._queries: dict[str, Query | None] = {}

    def grammar(self) -> "Grammar":
        """Raises ImportError or AttributeError if the grammar's package is missing or incompatible."""
        if self._grammar is None:
            from tree_sitter import Language as Grammar

            module, _, function = self.language.grammar.partition(":")
            self._grammar = Grammar(getattr(importlib.import_module(module), function or "language")())
        return self._grammar

    def parse(self, text: bytes) -> "Tree":
        if self._parser is None:
            from tree_sitter import Parser

            self._parser = Parser(self.grammar())
        return self._parser.parse(text)

    def query(self, name: str) -> "Query | None":
        """The compiled query; None if the language has none of that name."""
        if name not in self._queries:
            from tree_sitter import Query

            text = self.language.queries.get(name, "")
            self._queries[name] = Query(self.grammar(), text) if text.strip() else None
        return self._queries[name]


@dataclass(slots=True)
class LanguageParsers:
    """The parsers of all languages that have a grammar, by file name."""

    languages: Sequence[ParsableLanguage]
    by_suffix: dict[str, list[LanguageParser]] = field(default_factory=dict)
    by_file: dict[str, list[LanguageParser]] = field(default_factory=dict)
    by_pattern: list[tuple[re.Pattern[str], LanguageParser]] = field(default_factory=list)
    by_name: dict[str, LanguageParser] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for language in self.languages:
            if not language.grammar:
                continue
            reader = self.by_name[language.name] = LanguageParser(language)
            for glob in language.globs:
                self._add(glob, reader)

    def _add(self, glob: str, reader: LanguageParser) -> None:
        suffix = re.fullmatch(r"\*(\.[\w+-]+)", glob)
        if suffix:
            self.by_suffix.setdefault(suffix[1], []).append(reader)
        elif not set(glob) & set("*?["):
            self.by_file.setdefault(glob, []).append(reader)
        else:
            from fnmatch import translate

            self.by_pattern.append((re.compile(translate(glob)), reader))

    def candidates(self, path: str) -> list[LanguageParser]:
        """The parsers for a file of this name, the first registered first."""
        name = path[path.rfind("/") + 1 :]
        dot = name.rfind(".")
        parsers = list(self.by_suffix.get(name[dot:], ())) if dot >= 0 else []
        parsers += self.by_file.get(name, ())
        parsers += [reader for pattern, reader in self.by_pattern if pattern.match(name)]
        return [reader for reader in parsers if reader.name not in self.broken]

    def parse(self, path: str, text: bytes) -> "tuple[LanguageParser, Tree] | None":
        """`text` parsed by the first language without a syntax error, else by the first candidate; None if
        there is none."""
        first: tuple[LanguageParser, Tree] | None = None
        candidates = self.candidates(path)
        if len(candidates) > 1 and CPP_SYNTAX.search(text):
            # A C parser takes `class A { public: int f(); };` for a function with a label.
            candidates.sort(key=lambda reader: reader.name != "cpp")
        for reader in candidates:
            try:
                tree = reader.parse(text)
                reader.query("tags")
            except (ImportError, AttributeError, ValueError) as error:
                # The grammar is not installed or does not fit its queries: do without this language.
                self.broken[reader.name] = str(error)
                continue
            if not tree.root_node.has_error:
                return reader, tree
            first = first or (reader, tree)
        return first
