"""`torchdoctor mcp`: the tools of doctor/agents.py over stdio."""

from __future__ import annotations

import click


@click.command()
def command() -> int:
    """Serve check, judge, plan, compare, ticket and explain to agents over the Model Context Protocol (stdio).

    Read-only: nothing is changed, no command of a plan is run. Needs the extra: torchdoctor[mcp].
    """
    from doctor import agents

    try:
        server = agents.server()
    except ImportError as error:
        raise click.UsageError("this command needs the extra mcp: install torchdoctor[mcp].") from error
    server.run("stdio")
    return 0
