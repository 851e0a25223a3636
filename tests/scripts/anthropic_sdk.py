"""The official Python client against `quarterdeck playbook serve`.

Not part of `cargo test`: it needs the `anthropic` package. To run it from the repository:

    python3 -m venv "$SCRATCH/venv" && "$SCRATCH/venv/bin/pip" install anthropic
    cargo build
    "$SCRATCH/venv/bin/python" tests/scripts/anthropic_sdk.py target/debug/quarterdeck

where SCRATCH is a temporary directory. It starts the server itself, streams and calls tools,
meets faults, and prints what it saw as JSON. Any complaint of the client ends it with an error.
What it printed is kept in tests/playbooks/wire.sdk.json; tests/playbook/client.rs shows that our
own client sees the same.
"""

import json
import pathlib
import subprocess
import sys
import warnings

import anthropic

warnings.simplefilter("error")

PLAYBOOK = pathlib.Path(__file__).parent.parent / "playbooks" / "wire.yaml"
TOOLS = [
    {"name": "get_weather", "description": "The weather", "input_schema": {"type": "object"}},
    {"name": "get_time", "description": "The time", "input_schema": {"type": "object"}},
]
SYSTEM = [{"type": "text", "text": "You are helpful. " * 50, "cache_control": {"type": "ephemeral"}}]
COMMON = {"model": "rehearsal", "max_tokens": 500, "tools": TOOLS, "system": SYSTEM}


MARK = {"cache_control": {"type": "ephemeral"}}


def ask(text):
    """One question, marked for the prompt cache as our own client marks it."""
    return [{"role": "user", "content": [{"type": "text", "text": text, **MARK}]}]


def usage(message):
    got = message.usage
    return {
        "input": got.input_tokens,
        "output": got.output_tokens,
        "cache_write": got.cache_creation_input_tokens,
        "cache_read": got.cache_read_input_tokens,
    }


def shown(message):
    return {
        "blocks": [block.type for block in message.content],
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "inputs": [block.input for block in message.content if block.type == "tool_use"],
        "stop_reason": message.stop_reason,
        "usage": usage(message),
    }


def with_tools(client):
    """A turn with two calls, streamed, and the turn that answers their results."""
    events = []
    messages = ask("What is the weather in Oslo?")
    with client.messages.stream(messages=messages, **COMMON) as stream:
        for event in stream:
            if event.type not in events:
                events.append(event.type)
        first = stream.get_final_message()
    calls = [block for block in first.content if block.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": calls[0].id, "content": '{"sky":"clear","degrees":-3}'},
        {"type": "tool_result", "tool_use_id": calls[1].id, "content": "noon", **MARK},
    ]
    # The mark moves on.
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is the weather in Oslo?"}]}]
    messages.append({"role": "assistant", "content": first.content})
    messages.append({"role": "user", "content": results})
    with client.messages.stream(messages=messages, **COMMON) as stream:
        text = "".join(stream.text_stream)
        second = stream.get_final_message()
    assert text == shown(second)["text"], text
    return {"events": events, "first": shown(first), "second": shown(second)}


def without_streaming(client):
    """The same question gets the same answer."""
    return shown(client.messages.create(messages=ask("What is the weather in Oslo?"), **COMMON))


def kind_of_error(client, text, **changes):
    try:
        client.messages.create(messages=ask(text), **{**COMMON, **changes})
    except anthropic.APIStatusError as error:
        return {"class": type(error).__name__, "status": error.status_code, "body": error.body["error"]}
    raise AssertionError(f"{text}: no error")


def broken_stream(client):
    try:
        with client.messages.stream(messages=ask("cut"), **COMMON) as stream:
            stream.get_final_message()
    except Exception as error:  # whatever the transport calls it
        first = type(error).__name__
    with client.messages.stream(messages=ask("cut"), **COMMON) as stream:
        return {"error": first, "then": stream.get_final_text()}


def everything(client):
    patient = client.messages.create(messages=ask("busy"), **COMMON)
    count = client.messages.count_tokens(
        model="rehearsal", messages=ask("hello"), system=SYSTEM, tools=TOOLS
    )
    return {
        "python": sys.version.split()[0],
        "anthropic": anthropic.__version__,
        "after_two_529": {"text": shown(patient)["text"], "usage": usage(patient)},
        "with_tools": with_tools(client),
        "without_streaming": without_streaming(client),
        "count_tokens": count.input_tokens,
        "unauthorized": kind_of_error(client, "key"),
        "bad_request": kind_of_error(client, "hello", max_tokens=0),
        "no_turn": kind_of_error(client, "something else"),
        "broken_stream": broken_stream(client),
    }


def main():
    command = [sys.argv[1], "playbook", "serve", str(PLAYBOOK), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().removeprefix("listening on ").strip()
            with anthropic.Anthropic(base_url=address, api_key="none", max_retries=3) as client:
                seen = everything(client)
        finally:
            server.terminate()
        status = server.wait(timeout=10)
    print(json.dumps(seen, indent=2, ensure_ascii=False))
    assert status == 0, f"the server ended with {status}"


main()
