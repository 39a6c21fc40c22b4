"""The what-if page: a server on this machine that computes what a browser shows; nothing leaves it."""

from argosy.web.app import create_app
from argosy.web.limits import Limits
from argosy.web.serve import serve

__all__ = ["Limits", "create_app", "serve"]
