"""Users' SQL: a text becomes exactly one checked expression in the dialect of its engine."""

from __future__ import annotations

from analytics_core._engine.compile.fragments.parser import FragmentNames, FragmentParser, FragmentSlot

__all__ = ["FragmentNames", "FragmentParser", "FragmentSlot"]
