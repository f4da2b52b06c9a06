"""The pages people read: one for recipients, one that stays in the house."""

from sequester.report.page import external_page, internal_page

__all__ = ["external_page", "internal_page"]
