"""`core.css_templates`: style sheets that dashboards may start from."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from analytics_core._content.changes import reject_later_change, repeated
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import Listing, ResourceLists, all_of_it
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.user_directory import read_users
from analytics_core._content.written_back import read_changes
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.dashboard import CssTemplate
from analytics_core.models.dashboard import CssTemplateGet, CssTemplateListItem, CssTemplatePost, CssTemplatePut
from analytics_core.models.parsing import Payload, parse, payload_error

LISTS = ResourceLists(
    listing=Listing(shape="CSS template", item=CssTemplateListItem, texts=("template_name", "css")),
    repository=lambda unit: unit.css_templates,
    item=lambda template, facts: facts.answer(CssTemplateListItem, template),
    permission=lambda policy, actor: policy.require(Permission.READ_CSS_TEMPLATES, actor),
    visibility=all_of_it,
    distinct=("template_name",),
)


class CssTemplates(NamespaceWithDistinct[CssTemplateListItem]):
    """CSS templates: every signed-in user reads and creates them, creators and administrators change them.

    `related` takes `created_by` or `changed_by`, `distinct` takes `template_name`.
    """

    _resource = LISTS

    def create(self, payload: CssTemplatePost | Payload) -> CssTemplateGet:
        """Store a template (contract, `CssTemplateRestApi.post`).

        Raises:
            PayloadError: the payload breaks the shape, or the CSS would end the `<style>` element around it.

        Examples:
            >>> core.css_templates.create({"template_name": "Wide", "css": ".grid { width: 100%; }"}).id
            2
        """
        self._runtime.policy.require(Permission.ADD_CSS_TEMPLATE, self._actor)
        post = parse(CssTemplatePost, payload, shape="CssTemplateRestApi.post")
        check_css(post.css, shape="CssTemplateRestApi.post")
        with self._acting("css_template.create") as (act, unit):
            stored = act.add(unit, unit.css_templates, CssTemplate(**post.given()), "css_template")
        return self._answer(stored)

    def get(self, template_id: int) -> CssTemplateGet:
        """Return a template; NotFoundError when there is none.

        Examples:
            >>> core.css_templates.get(1).css
            '.header { color: gray; }'
        """
        self._runtime.policy.require(Permission.READ_CSS_TEMPLATES, self._actor)
        with self._runtime.store.unit_of_work() as unit:
            template = unit.css_templates.get(template_id)
        return self._answer(template)

    @repeated
    def update(
        self,
        template_id: int,
        payload: CssTemplatePut | CssTemplateGet | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> CssTemplateGet:
        """Change a template; only its creator and administrators may (contract, `CssTemplateRestApi.put`).

        With `unchanged_since`, the `changed_on` of the template that the caller read (an attribute: the contract has no
        field for it), a change that somebody else made since is not overwritten.

        Raises:
            PayloadError: as in `create`.
            OwnershipError: somebody else made the template.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.css_templates.update(1, {"template_name": "Calm"}).template_name
            'Calm'
        """
        answers = self._answers(CssTemplateGet, self.get, template_id)
        put = read_changes(CssTemplatePut, payload, shape="CssTemplateRestApi.put", answers=answers)
        check_css(put.css, shape="CssTemplateRestApi.put")
        with self._acting("css_template.update") as (act, unit):
            before = unit.css_templates.get(template_id)
            self._runtime.policy.require_write_css_template(self._actor, before)
            reject_later_change(before, unchanged_since)
            after = replace(before, **put.given())
            stored = act.update(unit, unit.css_templates, before, after, details={"css_template": template_id})
        return self._answer(stored)

    @repeated
    def delete(self, template_id: int) -> None:
        """Remove a template; only its creator and administrators may. Dashboards have copies and stay as they are.

        Examples:
            >>> core.css_templates.delete(1)
            >>> core.css_templates.list().count
            0
        """
        with self._acting("css_template.delete") as (act, unit):
            self._runtime.policy.require_write_css_template(self._actor, unit.css_templates.get(template_id))
            act.delete(unit, unit.css_templates, template_id, details={"css_template": template_id})

    def _answer(self, template: CssTemplate) -> CssTemplateGet:
        people = read_users(self._runtime.people, (template.audit.created_by,))
        return answer_as(CssTemplateGet, template, created_by=people.reference(template.audit.created_by))


def check_css(css: str | None, *, shape: str) -> None:
    """Raise PayloadSchemaError for CSS that would end the `<style>` element that a page puts it into."""
    if "</style" in (css or "").casefold():
        raise payload_error(shape, "css", "must be CSS only; it may not hold the text </style")
