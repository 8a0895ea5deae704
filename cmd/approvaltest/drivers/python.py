"""Drives the official Python SDK: python3 python.py [MAX_BUFFER_SIZE], where claude-agent-sdk can be imported."""

import asyncio
import json
import os
import sys

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    __version__,
)

CLAUDE = os.environ["APPROVALTEST_CLAUDE"]
LIMIT = int(sys.argv[1]) if len(sys.argv) > 1 else None  # of a line, in bytes; the SDK's own by default
waiting: dict[str, asyncio.Future] = {}
sessions: dict[str, "Session"] = {}
tasks: set[asyncio.Task] = set()


def emit(**event):
    print(json.dumps(event), flush=True)


def background(coroutine):
    task = asyncio.create_task(coroutine)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def can_use_tool(tool, given, context):
    key = str(len(waiting) + 1)
    waiting[key] = asyncio.get_running_loop().create_future()
    emit(event="asked", key=key, tool=tool, input=given)
    try:
        answer = await waiting[key]
    except asyncio.CancelledError:
        emit(event="withdrawn", key=key)
        raise
    if answer.get("allow"):
        return PermissionResultAllow(updated_input=answer.get("input"))
    return PermissionResultDeny(message=answer.get("message", ""))


class Session:
    def __init__(self, folder, resume=None):
        self.id = resume
        self.client = ClaudeSDKClient(ClaudeAgentOptions(
            cli_path=CLAUDE, cwd=folder, permission_mode="default", setting_sources=[],
            can_use_tool=can_use_tool, resume=resume, max_buffer_size=LIMIT,
        ))

    async def run(self, text):
        try:
            await self.client.connect()
            await self.client.query(text)
            async for message in self.client.receive_messages():
                self.id = getattr(message, "session_id", None) or self.id
        except Exception as error:  # The end is an event, whatever its reason.
            print(repr(error), file=sys.stderr)
        await self.client.disconnect()
        emit(event="ended")


async def act(action):
    session = sessions.get(action["dir"])
    match action["do"]:
        case "prompt" if session:
            await session.client.query(action["text"])
        case "prompt" | "resume":
            sessions[action["dir"]] = Session(action["dir"], session.id if session else None)
            background(sessions[action["dir"]].run(action["text"]))
        case "answer":
            future = waiting.get(action["key"])
            if future and not future.done():
                future.set_result(action)
        case "interrupt":
            background(session.client.interrupt())
        case "end":
            background(session.client.disconnect())


async def main():
    emit(event="ready", host=f"Python SDK {__version__}", cannot=["restart"])
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await act(json.loads(line))


asyncio.run(main())
