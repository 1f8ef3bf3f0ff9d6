"""The names that the clause of a row rule knows: who acts, and nothing that a payload could say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analytics_core._compile.templates.sandbox import Macro, RenderState
from analytics_core._compile.templates.text import raw_text, user_value
from analytics_core._error_texts import short_repr
from analytics_core.errors import MissingTemplateValueError


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorFacts:
    """Who acts, as row rules see it; an attribute may have several values, `values` are those of a guest's rule."""

    user_id: int | None = None
    username: str | None = None
    email: str | None = None
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


def actor_macros(actor: ActorFacts) -> dict[str, Any]:
    """Return the macros of row rules; what the actor does not have has no value, and stops the query."""

    def attribute(_state: RenderState, name: str, default: Any = None) -> Any:
        values = actor.attributes.get(str(raw_text(name)), ())
        if not values and default is not None:
            return user_value(default)
        if not values:
            missing = MissingTemplateValueError("you lack an attribute that it needs; ask an administrator for it")
            missing.detail = f"the person has no attribute {short_repr(str(raw_text(name)))}, which it needs"
            raise missing
        return user_value(values[0] if len(values) == 1 else list(values))

    def rule_value(_state: RenderState, name: str) -> Any:
        known = str(raw_text(name))
        if known not in actor.values:
            raise MissingTemplateValueError("it needs a value that is not among the rule's values; add it there")
        return user_value(actor.values[known])

    def fact(value: Any) -> Macro:
        def run(_state: RenderState) -> Any:
            if value is None:
                raise MissingTemplateValueError("it needs to know more of you than is stored; ask an administrator")
            return user_value(value)

        return Macro(run)

    return {
        "current_user_id": fact(actor.user_id),
        "current_username": fact(actor.username),
        "current_user_email": fact(actor.email),
        "current_user_roles": fact(sorted(actor.roles)),
        "current_user_attribute": Macro(attribute),
        "value": Macro(rule_value),
    }
