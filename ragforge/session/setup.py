"""Set up a model from within the program: a key, an endpoint, and the choice of models."""

import asyncio
import re
from urllib.parse import urlsplit

from ragforge.config.edit import set_value
from ragforge.config.paths import user_file
from ragforge.config.secrets import find_key, save_key
from ragforge.providers.discover import FoundEndpoint, find_local_endpoints
from ragforge.providers.registry import ModelName, parse_model
from ragforge.session.model import GEMINI_DEFAULT, connect
from ragforge.session.open import reload_settings
from ragforge.session.state import Workspace

__all__ = [
    "FoundEndpoint",
    "add_endpoint",
    "find_local_endpoints",
    "gemini_key_source",
    "models_of",
    "save_gemini_key",
]


async def gemini_key_source(workspace: Workspace) -> str:
    """Return where the Gemini key comes from, for users; empty if there is none."""
    found = await asyncio.to_thread(find_key, "gemini", workspace.environ)
    return found.source if found else ""


async def save_gemini_key(workspace: Workspace, key: str) -> tuple[Workspace, str]:
    """Return the workspace with the key, and a sentence that says where it is saved.

    A cheap call checks it first; an invalid key is not saved. Raises ModelError or UsageError.
    """
    provider = await connect(workspace, parse_model(GEMINI_DEFAULT), key=key.strip())
    try:
        await provider.verify()
    finally:
        await provider.close()
    where = await asyncio.to_thread(save_key, "gemini", key, workspace.environ)
    return await reload_settings(workspace), where


async def models_of(workspace: Workspace, provider_name: str) -> list[str]:
    """Return the models of a provider, as `provider:name`. Raises ModelError or UsageError."""
    provider = await connect(workspace, ModelName(provider_name, "any"))  # the name is never sent
    try:
        return [f"{provider_name}:{model}" for model in await provider.models()]
    finally:
        await provider.close()


async def add_endpoint(workspace: Workspace, url: str, key: str = "") -> tuple[Workspace, str]:
    """Save the endpoint in the user's file; return the workspace with it, and its name.

    Raises UsageError for any other URL.
    """
    url = url.strip().rstrip("/")
    name = _name_for(url, workspace)
    file = user_file(workspace.environ)
    await asyncio.to_thread(set_value, file, f"endpoints.{name}.base_url", url)
    if key.strip():
        variable = re.sub(r"\W", "_", name).upper() + "_API_KEY"
        await asyncio.to_thread(set_value, file, f"endpoints.{name}.key_env", variable)
        await asyncio.to_thread(save_key, name, key, workspace.environ)
    return await reload_settings(workspace), name


def _name_for(url: str, workspace: Workspace) -> str:
    """Return the name of an endpoint known at this URL, else one made of its host and port."""
    for name, endpoint in workspace.settings.endpoints.items():
        if endpoint.base_url.rstrip("/") == url:
            return name
    host = urlsplit(url if "://" in url else f"http://{url}").netloc.lower()
    return re.sub(r"[^a-z0-9_-]+", "-", f"at-{host}").strip("-")[:40]
