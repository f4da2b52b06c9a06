"""The pages of a release: one for recipients, one internal."""

from sequester.report.page import external_page, internal_page

__all__ = ["external_page", "internal_page"]
