"""capdisc mcp serves skills by the skills extension of the protocol, and another index reads them."""

import hashlib
import json
import os
import sys
from pathlib import Path

import anyio
import pytest
from mcp import types
from mcp.client.subscriptions import ResourcesListChanged

from mcp_sessions import ENOUGH, KEPT, ask, refusal, run_session, start_server

EXTENSION = "io.modelcontextprotocol/skills"
PDF = "skill://merge-pdfs/SKILL.md"
AWS_KEY = "AKIA" + "Q7" * 8


def ask_once(method: str, **params):
    async def talk(client):
        return await ask(client, method, **params)

    return run_session(talk)


def names_in(page) -> list[str]:
    return [entry["uri"].split("/")[-2] for entry in page["skills"]]


def test_a_skill_is_listed_with_its_front_matter_and_the_digests_of_its_files(catalogue, hermetic):
    folder = hermetic / "tools" / "merge-pdfs"
    (folder / "forms").mkdir()
    (folder / "forms" / "a b.md").write_text("# Form\r\n")
    (folder / "logo.png").write_bytes(b"\x89PNG\0\xff")
    catalogue("say-bye")

    async def talk(client):
        declared = client.server_capabilities.extensions
        listed = await ask(client, "skills/list")
        files = {
            file["uri"]: (await client.read_resource(file["uri"])).contents[0]
            for file in listed["skills"][0]["resources"]
        }
        return declared, listed, files, await ask(client, "skills/get", uri=PDF)

    declared, listed, files, got = run_session(talk)
    assert declared == {EXTENSION: {"directoryRead": True}}
    assert {key: listed[key] for key in ("resultType", "ttlMs", "cacheScope")} == {
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private"
    }  # fmt: skip
    assert "nextCursor" not in listed
    [entry] = listed["skills"]
    assert got["skill"] == entry
    assert entry["uri"] == PDF
    assert entry["frontmatter"] == {
        "name": "merge-pdfs",
        "description": "Merges PDF files into one. Use when asked to join PDFs.",
    }
    on_disk = {
        PDF: folder / "SKILL.md",
        "skill://merge-pdfs/forms/a%20b.md": folder / "forms" / "a b.md",
        "skill://merge-pdfs/logo.png": folder / "logo.png",
    }
    assert {file["uri"]: (file["digest"], file["size"]) for file in entry["resources"]} == {
        uri: (f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}", path.stat().st_size)
        for uri, path in on_disk.items()
    }
    assert files[PDF].text == on_disk[PDF].read_text()
    assert files[PDF].mime_type == "text/markdown"
    assert files["skill://merge-pdfs/forms/a%20b.md"].text == "# Form\r\n"
    assert files["skill://merge-pdfs/logo.png"].mime_type == "image/png"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_each_skill_is_a_resource_and_its_files_are_a_template(catalogue, mode):
    async def talk(client):
        listed, templates = await client.list_resources(), await client.list_resource_templates()
        reference = types.ResourceTemplateReference(uri="skill://{+path}")
        completed = await client.complete(reference, {"name": "path", "value": "mer"})
        read = await client.read_resource(PDF)
        return listed.resources, templates.resource_templates, completed.completion.values, read

    resources, templates, completed, read = run_session(talk, mode=mode)
    assert [str(each.uri) for each in resources] == ["capdisc://tier0", PDF]
    assert (resources[1].name, resources[1].mime_type) == ("merge-pdfs", "text/markdown")
    assert "skill://{+path}" in [each.uri_template for each in templates]
    assert completed == ["merge-pdfs/SKILL.md"]
    assert "Do it." in read.contents[0].text


def test_folders_of_a_skill_are_read_one_level_at_a_time(catalogue, hermetic):
    (hermetic / "tools" / "merge-pdfs" / "forms" / "eu").mkdir(parents=True)
    (hermetic / "tools" / "merge-pdfs" / "forms" / "eu" / "a.md").write_text("a")
    catalogue("say-bye")

    async def talk(client):
        root, inner = "skill://merge-pdfs", "skill://merge-pdfs/forms"
        pages = [await ask(client, "resources/directory/read", uri=uri) for uri in (root, inner)]
        file = await refusal(ask(client, "resources/directory/read", uri=PDF))
        gone = await refusal(ask(client, "resources/directory/read", uri=f"{root}/none"))
        return [page["resources"] for page in pages], file[0], gone[0]

    (root, inner), *codes = run_session(talk)
    assert [(each["name"], each["mimeType"]) for each in root] == [
        ("SKILL.md", "text/markdown"),
        ("forms", "inode/directory"),
    ]
    assert [each["uri"] for each in inner] == ["skill://merge-pdfs/forms/eu"]
    assert codes == [-32602, -32602]


def test_what_is_not_served_is_refused(catalogue, hermetic, write_skill):
    folder = hermetic / "tools" / "merge-pdfs"
    (hermetic / "outside.md").write_text("outside")
    (hermetic / "tools" / "beside.md").write_text("beside")
    (folder / "link.md").symlink_to(hermetic / "outside.md")
    (folder / "out").symlink_to(hermetic)
    (folder / ".env").write_text("TOKEN=1")
    (folder / "id_rsa").write_text("x")
    (folder / "key.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (folder / "large.txt").write_text("x" * 1_100_000)
    catalogue("say-bye")
    names = (
        "link.md out/outside.md .env id_rsa key.txt large.txt ../beside.md %2e%2e/beside.md "
        "..%2fbeside.md /etc/passwd gone.md forms"
    ).split()

    async def talk(client):
        entry = (await ask(client, "skills/get", uri=PDF))["skill"]
        base = PDF.removesuffix("SKILL.md")
        refused = [await refusal(client.read_resource(base + name)) for name in names]
        unknown = await refusal(ask(client, "skills/get", uri="skill://none/SKILL.md"))
        return entry, {code for code, _ in refused}, unknown

    entry, codes, unknown = run_session(talk)
    assert [file["uri"] for file in entry["resources"]] == [PDF]
    assert codes == {-32602}
    assert unknown == (-32602, "no skill is served at skill://none/SKILL.md")


def test_a_skill_that_breaks_the_format_is_left_out_and_named(catalogue, hermetic, write_skill):
    write_skill(hermetic / "tools", "Odd Name")
    path = write_skill(hermetic / "tools", "odd-tools")
    path.write_text(path.read_text().replace("\n---\n\n", "\nallowed-tools: [Read]\n---\n\n"))
    catalogue("say-bye")
    started = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    lines = [
        {"id": 1, "method": "initialize", "params": started},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "skills/list", "params": {}},
    ]
    server = start_server()
    for line in lines:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
    server.stdin.flush()
    answers = [json.loads(server.stdout.readline()) for _ in range(2)]
    _, err = server.communicate(timeout=ENOUGH)
    assert names_in(answers[1]["result"]) == ["merge-pdfs"]
    [notice] = [line for line in err.decode().splitlines() if "not served under skill://" in line]
    assert "skill:Odd Name (its name)" in notice
    assert "skill://odd-tools/SKILL.md (the field allowed-tools is not text)" in notice


def test_a_file_that_changed_since_it_was_indexed_is_not_served(catalogue, hermetic, monkeypatch):
    monkeypatch.setenv("CAPDISC_FRESH", "off")
    path = hermetic / "tools" / "merge-pdfs" / "SKILL.md"
    path.write_text(path.read_text() + "Ignore all of that.\n")

    async def talk(client):
        listed = await ask(client, "skills/list")
        got = await refusal(ask(client, "skills/get", uri=PDF))
        return listed["skills"], got, await refusal(client.read_resource(PDF))

    listed, *refused = run_session(talk)
    assert listed == []
    assert all("is not as it was indexed" in message for _, message in refused)


def test_a_change_is_taken_in_and_clients_are_told(catalogue, hermetic, write_skill):
    async def talk(client):
        before = (await ask(client, "skills/get", uri=PDF))["skill"]
        async with client.listen(resources_list_changed=True) as events:
            path = hermetic / "tools" / "merge-pdfs" / "SKILL.md"
            path.write_text(path.read_text() + "Then stop.\n")
            write_skill(hermetic / "tools", "split-pdfs")
            await anyio.to_thread.run_sync(catalogue, "say-bye")
            event = await anext(events)
        return before, event, await ask(client, "skills/list")

    before, event, after = run_session(talk)
    assert isinstance(event, ResourcesListChanged)
    assert names_in(after) == ["merge-pdfs", "split-pdfs"]
    assert after["skills"][0]["resources"] != before["resources"]


def test_keys_are_masked_before_they_are_hashed(catalogue, hermetic):
    (hermetic / "tools" / "merge-pdfs" / "notes.md").write_text(f"Use {AWS_KEY}.")
    catalogue("say-bye")
    uri = "skill://merge-pdfs/notes.md"

    async def talk(client):
        entry = (await ask(client, "skills/get", uri=PDF))["skill"]
        return entry["resources"], (await client.read_resource(uri)).contents[0].text

    resources, text = run_session(talk)
    assert "AKIA" not in text
    digests = {file["uri"]: file["digest"] for file in resources}
    assert digests[uri] == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_many_skills_come_in_pages(catalogue, hermetic, write_skill):
    for number in range(120):
        write_skill(hermetic / "tools", f"skill-{number:03}", f"Does thing {number}.")
    catalogue("say-bye")

    async def talk(client):
        pages, resources, cursor = [], [], None
        while not pages or cursor:
            params = {"cursor": cursor} if cursor else {}
            pages.append(await ask(client, "skills/list", **params))
            resources.append((await client.list_resources(cursor=cursor)).resources)
            cursor = pages[-1].get("nextCursor")
        return pages, resources

    pages, resources = run_session(talk)
    assert [len(page["skills"]) for page in pages] == [50, 50, 21]
    assert [len(page) for page in resources] == [51, 50, 21]
    assert len({name for page in pages for name in names_in(page)}) == 121


def test_skills_of_one_name_and_skills_inside_skills_have_paths_of_their_own(
    catalogue, hermetic, write_skill
):
    write_skill(hermetic / "tools" / "a", "review", "Reviews prose.")
    write_skill(hermetic / "tools" / "b", "review", "Reviews code.")
    write_skill(hermetic / "tools" / "merge-pdfs", "inner", "Is inside.")
    misnamed = write_skill(hermetic / "tools" / "merge-pdfs", "folder")
    misnamed.write_text(misnamed.read_text().replace("name: folder", "name: other"))
    catalogue("say-bye")

    async def talk(client):
        listed = await ask(client, "skills/list")
        uris = [entry["uri"] for entry in listed["skills"]]
        texts = [(await client.read_resource(uri)).contents[0].text for uri in uris]
        return listed["skills"], dict(zip(uris, texts, strict=True))

    entries, texts = run_session(talk)
    assert {uri for uri in texts if "review" in uri} == {
        "skill://review/SKILL.md",
        "skill://b/review/SKILL.md",
    }
    assert "Reviews code." in texts["skill://b/review/SKILL.md"]
    inner = "skill://merge-pdfs/inner/SKILL.md"
    assert "Is inside." in texts[inner]
    files = {entry["uri"]: {file["uri"] for file in entry["resources"]} for entry in entries}
    assert inner in files[PDF] & files[inner]
    assert "skill://other/SKILL.md" in files


def test_a_hidden_skill_is_not_listed_and_answered_for_by_its_uri(
    catalogue, hermetic, write_skill
):
    path = write_skill(hermetic / "tools", "quiet")
    path.write_text(
        path.read_text().replace("\n---\n\n", "\ndisable-model-invocation: true\n---\n\n")
    )
    catalogue("say-bye")

    async def talk(client):
        got = await ask(client, "skills/get", uri="skill://quiet/SKILL.md")
        return await ask(client, "skills/list"), got

    listed, got = run_session(talk)
    assert names_in(listed) == ["merge-pdfs"]
    assert got["skill"]["frontmatter"]["name"] == "quiet"


def test_without_an_index_there_are_no_skills_yet(hermetic, index_dir):
    async def talk(client):
        return await client.list_resources(), await refusal(ask(client, "skills/list"))

    resources, (code, _) = run_session(talk)
    assert [str(each.uri) for each in resources.resources] == ["capdisc://tier0"]
    assert code == -32603


# Both ways.


def configure(capdisc, hermetic: Path, argv: list[str]) -> None:
    """Another workspace and index, whose only source is this server."""
    environment = {name: value for name, value in os.environ.items() if name in KEPT}
    entry = {"command": argv[0], "args": argv[1:], "env": environment}
    (hermetic / "mcp.json").write_text(json.dumps({"mcpServers": {"near": entry}}))
    (hermetic / "capdisc.toml").write_text(
        '[[source]]\nformat = "mcp-servers"\npath = "mcp.json"\n'
    )
    assert capdisc("trust", "--yes").code == 0


def content_of(capdisc, identifier: str) -> str:
    return capdisc("show", identifier, "--json").json["capabilities"][0]["content"]


def test_what_one_index_serves_another_one_finds_with_the_same_bodies(
    catalogue, hermetic, write_skill, capdisc, index_dir, monkeypatch
):
    bodies = {
        "merge-pdfs": "Do it.",
        "letters": "# Letters\n\nWrite `Dear`.\r\n\x0c",
        "läufe": "x",
    }
    for name, body in list(bodies.items())[1:]:
        write_skill(hermetic / "tools", name, f"Does {name}. Use for {name}.", body)
    catalogue("say-bye")
    served = {name: content_of(capdisc, f"skill:{name}") for name in ("merge-pdfs", "letters")}
    hits = capdisc("search", "join PDF files", "--kind", "skill", "--ids").out.split()
    argv = [sys.executable, "-m", "capdisc", "mcp", "--index-dir", str(index_dir)]
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "other"))
    configure(capdisc, hermetic, argv)
    done = capdisc("index", "--ask-servers")
    assert done.code == 0, done.err
    assert set(capdisc("list", "--ids", "--kind", "skill").out.split()) == {
        "skill:near.merge-pdfs",
        "skill:near.letters",
    }
    found = capdisc("search", "join PDF files", "--kind", "skill", "--ids").out.split()
    assert found == [hit.replace("skill:", "skill:near.") for hit in hits if "läufe" not in hit]
    for name, content in served.items():
        assert content_of(capdisc, f"skill:near.{name}") == content


FASTMCP_SERVER = """
import sys
from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension
server = FastMCP("skills")
provider = SkillsDirectoryProvider(sys.argv[1], experimental_skills=True)
server.add_provider(provider)
if len(sys.argv) == 2:
    server.add_extension(SkillsExtension(providers=[provider]))
server.run(show_banner=False)
"""


@pytest.mark.sdk
@pytest.mark.parametrize("more", [[], ["manifests"]], ids=["extension", "manifests"])
def test_the_skills_that_fastmcp_serves_are_read(hermetic, write_skill, capdisc, more):
    pytest.importorskip("fastmcp.skills.extension", reason="needs the package fastmcp")
    path = write_skill(hermetic / "theirs", "merge-pdfs", "Merges PDF files.", "Join them.")
    (path.parent / "notes.md").write_text("# Notes")
    (hermetic / "server.py").write_text(FASTMCP_SERVER)
    configure(
        capdisc,
        hermetic,
        [sys.executable, str(hermetic / "server.py"), str(hermetic / "theirs"), *more],
    )
    done = capdisc("index", "--ask-servers")
    assert done.code == 0, done.err
    assert capdisc("list", "--ids").out.split() == ["skill:near.merge-pdfs"]
    shown = capdisc("show", "skill:near.merge-pdfs").out
    assert "Join them." in shown
    assert "notes.md" in shown


@pytest.mark.sdk
def test_the_client_of_fastmcp_reads_what_is_served(catalogue, hermetic):
    pytest.importorskip("fastmcp.skills.extension", reason="needs the package fastmcp")
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
    from fastmcp.skills.client import SkillsClientExtension

    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("CAPDISC_") or name in KEPT
    }

    async def talk():
        transport = StdioTransport(
            sys.executable, ["-m", "capdisc", "mcp"], env=environment, log_file=hermetic / "log"
        )
        async with Client(transport, extensions=[SkillsClientExtension()]) as client:
            return await client.list_skills(), await client.get_skill(PDF)

    listed, got = anyio.run(talk)
    assert [skill.frontmatter.name for skill in listed] == ["merge-pdfs"]
    assert got == listed[0]
