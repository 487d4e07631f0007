"""What a plug-in adds to capdisc: one frozen value of rows and names.

Code is named as "package.module:attribute" and imported when it is needed, so that a command pays
for the plug-ins that it uses and no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import RuleExplanation

if TYPE_CHECKING:
    from capdisc_indexer.sources.source_format import SourceFormat

_NOTHING: Mapping[str, str] = MappingProxyType({})


@frozen(kw_only=True)
class PluginCommand:
    """A command of the terminal: its line in the overview, and "module:function" of what runs it,
    which returns the exit status. In lists it stands below the command named `below`, "" last.
    """

    about: str
    function: str
    below: str = ""


@frozen(kw_only=True)
class Plugin:
    """What a plug-in adds.

    - `formats`: formats of source files, each a row of the table of sources.
    - `render_formats`: "module:attribute" of a `RenderFormat` by its name.
    - `tools`: "module:attribute" of tuples of discovery tools (`Tool`).
    - `definition_formats`: "module:function" by the name of a format of `tools`; the function gets
      the name and the definitions, and returns the text and the function's name for each id.
    - `commands`: commands of the terminal by name.
    - `rules`: what explains the codes of the findings of its checks.
    - `checks`: "module:function" of checks of `validate`. Each is called with a `Descriptor` and
      the path that findings name, and returns findings with codes of `rules`.
    - `stores`: "module" by the scheme of addresses at which an index may lie, such as "s3".
    - `services`: "module" by the name of what the core asks for and does not do itself: "sessions"
      (what an agent found and used), "databases" (their tables), "servers", "server-lists",
      "server-tools", "gateway" and "gateway-setup" (MCP servers), "runner" and "agent-runner"
      (running capabilities), "web" (documents). The first plug-in that has one provides it.
    """

    name: str
    formats: tuple[SourceFormat, ...] = ()
    render_formats: Mapping[str, str] = _NOTHING
    tools: tuple[str, ...] = ()
    definition_formats: Mapping[str, str] = _NOTHING
    commands: Mapping[str, PluginCommand] = MappingProxyType({})
    rules: tuple[RuleExplanation, ...] = ()
    checks: tuple[str, ...] = ()
    stores: Mapping[str, str] = _NOTHING
    services: Mapping[str, str] = _NOTHING
