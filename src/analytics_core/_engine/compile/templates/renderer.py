"""Renders the templates in users' SQL, in a sandbox with a closed set of names and a budget for everything.

The rendered text is parsed and checked like any other text of a user; a template widens nothing.
`docs/explanation/sql-fragments.md` tells what templates may hold and how values are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engine.compile.templates.language import STATE, make_environment, names_in
from analytics_core._engine.compile.templates.macros import (
    LOOKUP_NAMES,
    RANGE_NAMES,
    ActorFacts,
    QueryMacros,
    TemplateValues,
    actor_macros,
)
from analytics_core._engine.compile.templates.sandbox import MAX_TEXT, RenderState, TemplateSteps
from analytics_core._engine.compile.templates.text import CONTROL_CHARACTERS, hold_values, place_values
from analytics_core._records.people import Placeholder
from analytics_core._tools.memo import Memo
from analytics_core.errors import AnalyticsError, MissingTemplateValueError, TemplateError

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

_OPENINGS: Final = ("{{", "{%", "{#")
_FAULTS: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
    ValueError,
    RuntimeError,
    MemoryError,
)
"""What the operations of a template may raise; RuntimeError includes RecursionError."""


@dataclass(frozen=True, slots=True)
class RenderedSql:
    """Rendered SQL, and the filters that it took over.

    `reads_range`: the template names the range of the query, `looks_up`: it takes in what others store or a database
    knows.
    """

    text: str
    removed_filters: tuple[str, ...] = ()
    reads_range: bool = False
    looks_up: bool = False


@dataclass(frozen=True, slots=True)
class _CompiledTemplate:
    template: Template
    names: frozenset[str]


def is_template(text: str) -> bool:
    """Tell whether a text is a template, or is taken as it is written."""
    return any(opening in text for opening in _OPENINGS)


class TemplateRenderer:
    """Renders templates and keeps the latest compiled ones; safe between threads.

    Args:
        max_length: characters of a template.
        cache_size: how many compiled templates are kept.
    """

    def __init__(self, *, max_length: int = 50_000, cache_size: int = 500) -> None:
        self._max_length = max_length
        self._environment: SandboxedEnvironment | None = None
        self._compiled: Memo[str, _CompiledTemplate] = Memo(capacity=cache_size)

    def render(self, text: str, values: TemplateValues, *, place: str = "template") -> RenderedSql:
        """Return `text` with its template rendered; text without a template comes back as it is.

        Raises:
            MissingTemplateValueError: a name, macro or value that does not exist.
            TemplateError: a syntax error, a construct that is not allowed, or too much work.
        """
        if not is_template(text):
            return RenderedSql(text)
        try:
            return self._render(text, values)
        except TemplateError as error:
            if error.message.startswith(f"{place}: "):  # of a template that this one took in
                raise
            said = f"{place}: {error.message}{self._reads(text, error)}"
            raise type(error)(said, error_type=error.error_type) from None

    def _reads(self, text: str, error: TemplateError) -> str:
        """Return what a template reads, where something of it has no value."""
        names = sorted(self._template(text).names) if isinstance(error, MissingTemplateValueError) else ()
        return f"; the template uses {', '.join(names)}" if names else ""

    def render_rule(self, text: str, actor: ActorFacts, *, dialect: str | None) -> tuple[str, tuple[Placeholder, ...]]:
        """Return the clause of a row rule with its template rendered, and the values that it holds, to be bound.

        Raises:
            MissingTemplateValueError: the actor has no such attribute.
            TemplateError: as for `render`.
        """
        if not is_template(text):
            return text, ()
        state, template = RenderState(holds=True), self._template(text).template
        written = _guarded(lambda: template.render({**actor_macros(actor), STATE: state}))
        return hold_values(written, dialect)

    def _render(self, text: str, values: TemplateValues) -> RenderedSql:
        state = RenderState(steps=values.steps or TemplateSteps())
        compiled = self._template(text)
        written = _guarded(lambda: compiled.template.render({**QueryMacros(values).names(), STATE: state}))
        if len(written) > MAX_TEXT:
            raise TemplateError(f"it makes a text of more than {MAX_TEXT} characters")
        placed = place_values(written, values.dialect)
        return RenderedSql(
            placed,
            tuple(dict.fromkeys(state.removed)),
            reads_range=not RANGE_NAMES.isdisjoint(compiled.names),
            looks_up=not LOOKUP_NAMES.isdisjoint(compiled.names),
        )

    def _template(self, text: str) -> _CompiledTemplate:
        compiled = self._compiled.get(text)
        if compiled is None:
            self._environment = self._environment or make_environment()  # two at the same time are alike
            compiled = self._compile(text, self._environment)
            self._compiled.put(text, compiled)
        return compiled

    def _compile(self, text: str, environment: SandboxedEnvironment) -> _CompiledTemplate:
        if len(text) > self._max_length:
            raise TemplateError(f"it has {len(text)} characters; at most {self._max_length} are allowed")
        if CONTROL_CHARACTERS.search(text):
            raise TemplateError("it holds control characters; remove them")
        tree = _guarded(lambda: environment.parse(text))
        template: Template = _guarded(lambda: environment.from_string(tree))
        return _CompiledTemplate(template, names=frozenset(names_in(tree)))


def _guarded(work: Any) -> Any:
    """Return what `work` gives, with the errors of jinja and of a template's own operations as typed ones."""
    from jinja2 import TemplateError as JinjaError
    from jinja2 import TemplateSyntaxError, UndefinedError

    try:
        return work()
    except AnalyticsError:
        raise
    except TemplateSyntaxError as error:
        raise TemplateError(f"the template is not valid in line {error.lineno}: {error.message}") from None
    except UndefinedError as error:
        raise MissingTemplateValueError(f"the template uses what has no value: {error.message}") from None
    except RecursionError:
        raise TemplateError("the template is nested too deeply") from None
    except (JinjaError, SyntaxError, *_FAULTS) as error:
        # A template does what its author wrote: adding a text to a number is their fault, not ours.
        raise TemplateError(f"the template cannot be rendered ({type(error).__name__})") from None
