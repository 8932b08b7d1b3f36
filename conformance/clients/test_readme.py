"""The programs in README.md run as they are. Only addresses are those of the server under test."""

import os
import re
import subprocess
import sys

import pytest

from server import CACHE, ROOT, Server

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SNIPPETS = [(language, text) for language, text in FENCE.findall((ROOT / "README.md").read_text())]
PROGRAMS = [(language, text) for language, text in SNIPPETS if language in ("python", "js") or text.startswith("export AZURE_STORAGE")]


@pytest.fixture(scope="module")
def fresh():
    """A server that no other test has used: the names in README are taken once."""
    if os.environ.get("LAZULI_ENDPOINT"):
        pytest.skip("needs a process of its own")
    server = Server()
    yield server
    server.stop()


def placed(text, server):
    """`text` with the well-known addresses replaced by the server's."""
    base = lambda endpoint: endpoint.rsplit("/", 1)[0]
    known = {
        "UseDevelopmentStorage=true": server.connection_string,
        "http://127.0.0.1:10003": base(server.file_endpoint),
        "http://127.0.0.1:10004": base(server.dfs_endpoint),
        "127.0.0.1:10000": base(server.endpoint).removeprefix("http://"),
    }
    for address, own in known.items():
        text = text.replace(address, own)
    assert not re.search(r"127\.0\.0\.1:10\d{3}\b", text), "an address that this test does not know"
    return text


def test_there_are_programs_in_each_language():
    languages = [language for language, _ in PROGRAMS]
    assert {language: languages.count(language) for language in languages} == {"python": 7, "js": 1, "sh": 1}


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[f"{language}-{number}" for number, (language, _) in enumerate(PROGRAMS)])
def test_program(fresh, tmp_path, number):
    language, text = PROGRAMS[number]
    text = placed(text, fresh)
    file = tmp_path / {"python": "program.py", "js": "program.mjs", "sh": "program.sh"}[language]
    file.write_text(text)
    if language == "js":
        # Node looks for packages beside the program.
        (tmp_path / "node_modules").symlink_to(CACHE / "js/node_modules")
    command = {"python": [sys.executable], "js": [CACHE / "bin/node"], "sh": ["bash", "-e"]}[language]
    environment = {**os.environ, "PATH": f"{CACHE / 'bin'}:{os.environ['PATH']}", "AZURE_CONFIG_DIR": str(tmp_path / "az"), "AZURE_CORE_COLLECT_TELEMETRY": "false"}
    ran = subprocess.run([*command, file], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_flags_that_are_named_exist():
    """What README calls a flag is one that the binary knows, in the help or as Azurite's."""
    from server import BINARY

    named = set(re.findall(r"`(--[a-z][a-zA-Z-]+)", (ROOT / "README.md").read_text()))
    tools = {"--from-to", "--recursive", "--static-website", "--release"}
    for flag in sorted(named - tools):
        ran = subprocess.run([BINARY, "account", "list", "--location", "/nowhere", flag], capture_output=True, text=True, timeout=30)
        assert "unexpected argument" not in ran.stderr, f"{flag}: {ran.stderr}"
