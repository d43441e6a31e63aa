"""A live source of a catalogue: an MCP server, as `catalogues/<name>.mcp.yaml` states it.

What belongs here: what a person writes of a server. What does not: speaking to it (catalogues/mcp.py). A secret is
never written: the file names the environment variables that hold it.
"""

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

#: The ending of a source's file; what stands before it is the catalogue's name.
ENDING = ".mcp.yaml"


class LiveSource(BaseModel):
    """An MCP server: a program that is started (stdio), or a url (streamable HTTP)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: tuple[str, ...] | None = Field(None, min_length=1, description="the program and its arguments")
    env: tuple[str, ...] = Field((), description="names of environment variables that the program is given")
    cwd: str | None = Field(None, description="where it is started, relative to the study; absent: in the study")
    url: str | None = Field(None, description="of a server that is running")
    headers_from_env: dict[str, str] = Field(
        {}, description="a header and the environment variable that holds its whole value"
    )
    timeout_s: float = Field(30, gt=0, le=600, description="seconds until the whole list must have come")
    may_be_empty: bool = Field(False, description="take a list without tools, rather than refuse it")

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> "LiveSource":
        if (self.command is None) == (self.url is None):
            raise ValueError("needs either command or url")
        if self.url and (self.env or self.cwd):
            raise ValueError("env and cwd go with command; a url takes headers_from_env")
        if self.command and self.headers_from_env:
            raise ValueError("headers_from_env goes with url; a command takes env")
        return self

    # A mistake in one field is reported with the text that was found there. What should be a variable's name may be the
    # secret itself, and a url may hold one, so that these are looked at here, where only the message is shown.
    @model_validator(mode="after")
    def _names_and_no_secrets(self) -> "LiveSource":
        for key, names in (("env", self.env), ("headers_from_env", self.headers_from_env.values())):
            if not all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names):
                raise ValueError(f"{key} takes names of environment variables, and no values")
        if self.url:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("url must begin with http:// or https:// and a host")
            if parts.username is not None or parts.password is not None:
                raise ValueError("url has a user name or a password in it; use headers_from_env")
        return self

    @property
    def origin(self) -> Literal["mcp stdio", "mcp http"]:
        """Say how the server is reached."""
        return "mcp stdio" if self.command else "mcp http"

    @property
    def shown(self) -> str:
        """Name the server in messages: without what follows a ? in its url, and without a program's arguments."""
        return self.command[0] if self.command else (self.url or "").partition("?")[0]
