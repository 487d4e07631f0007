"""What capdisc mcp serves keeps to the skills extension of MCP, rule by rule.

The rules are those of `specification/stable/skills.mdx` in its state of September 2026: the newest
text that was at hand. Answers are checked as they came over stdio.
"""

import base64
import hashlib
import posixpath
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from mcp_sessions import ask, refusal, run_session

FILE = {
    "type": "object",
    "required": ["uri", "digest", "size"],
    "properties": {
        "uri": {"type": "string"},
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        "size": {"type": "integer", "minimum": 0},
    },
}
ENTRY = {
    "type": "object",
    "required": ["uri", "frontmatter", "resources"],
    "properties": {
        "uri": {"type": "string", "pattern": "^skill://.+/SKILL\\.md$"},
        "frontmatter": {
            "type": "object",
            "required": ["name", "description"],
            "properties": {
                "name": {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64},
                "description": {"type": "string", "minLength": 1, "maxLength": 1024},
            },
        },
        "resources": {"type": "array", "items": FILE, "minItems": 1, "maxItems": 512},
    },
}
CACHEABLE = {
    "resultType": {"const": "complete"},
    "ttlMs": {"type": "integer", "minimum": 0},
    "cacheScope": {"enum": ["public", "private"]},
}
LIST = {
    "required": [*CACHEABLE, "skills"],
    "properties": {
        **CACHEABLE,
        "skills": {"type": "array", "items": ENTRY},
        "nextCursor": {"type": "string", "minLength": 1},
    },
}
GET = {"required": [*CACHEABLE, "skill"], "properties": {**CACHEABLE, "skill": ENTRY}}
CHILD = {
    "required": ["uri", "name", "mimeType"],
    "properties": {"uri": {"not": {"pattern": "/$"}}, "mimeType": {"type": "string"}},
}
DIRECTORY = {
    "required": ["resultType", "resources"],
    "properties": {"resultType": {"const": "complete"}, "resources": {"items": CHILD}},
}
READ, UNKNOWN = "resources/directory/read", -32602


def write_skills(tools: Path, write_skill) -> None:
    """Skills with fields, folders and files of all kinds, one inside another, one hidden, and one
    with more files than a host has to accept.
    """
    path = write_skill(tools, "review", "Reviews code. Use it for reviews.")
    fields = '\nlicense: MIT\nmetadata: {version: "1.0", author: "Zoë"}\n---\n\n'
    path.write_text(path.read_text().replace("\n---\n\n", fields))
    for name, data in {
        "forms/a b.md": b"# Form\r\n", "forms/eu/c.txt": b"", "logo.png": b"\x89PNG\0\xff",
    }.items():  # fmt: skip
        (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (path.parent / name).write_bytes(data)
    write_skill(path.parent, "inner", "Reviews what is inside. Use it for insides.")
    hidden = write_skill(tools, "quiet", "Is quiet. Use it in silence.")
    text = hidden.read_text().replace("\n---\n\n", "\ndisable-model-invocation: true\n---\n\n")
    hidden.write_text(text)
    large = write_skill(tools, "large", "Has many files. Use it for many.").parent
    for number in range(512):
        (large / f"{number}.txt").write_text("x")


async def read_all(client) -> tuple[dict, dict, dict, dict]:
    """The entries that are listed and those that `skills/get` gives, by their URIs; the bytes of
    each file, and what each folder holds.
    """
    listed, cursor = {}, None
    while cursor or not listed:
        page = await ask(client, "skills/list", **({"cursor": cursor} if cursor else {}))
        Draft202012Validator(LIST).validate(page)
        listed |= {entry["uri"]: entry for entry in page["skills"]}
        cursor = page.get("nextCursor")
    got, files, folders = {}, {}, {}
    for uri, entry in listed.items():
        answer = await ask(client, "skills/get", uri=uri)
        Draft202012Validator(GET).validate(answer)
        got[uri] = answer["skill"]
        for resource in entry["resources"]:
            [content] = (await client.read_resource(resource["uri"])).contents
            blob = getattr(content, "blob", None)
            data = content.text.encode() if blob is None else base64.b64decode(blob)
            files[resource["uri"]] = data
    for folder in {posixpath.dirname(uri) for uri in files}:
        answer = await ask(client, READ, uri=folder)
        Draft202012Validator(DIRECTORY).validate(answer)
        folders[folder] = {child["uri"]: child["mimeType"] for child in answer["resources"]}
    return listed, got, files, folders


def test_skills_are_served_by_the_rules_of_the_extension(
    catalogue, hermetic: Path, write_skill
) -> None:
    tools = hermetic / "tools"
    write_skills(tools, write_skill)
    catalogue("say-bye")

    async def talk(client):
        declared = client.server_capabilities
        everything = await read_all(client)
        hidden = await ask(client, "skills/get", uri="skill://quiet/SKILL.md")
        codes = [
            (await refusal(each))[0]
            for each in (
                ask(client, "skills/get", uri="skill://none/SKILL.md"),
                ask(client, "skills/get", uri="skill://review/forms/a%20b.md"),
                ask(client, "skills/get", uri="skill://large/SKILL.md"),
                ask(client, READ, uri="skill://none"),
                ask(client, READ, uri="skill://review/SKILL.md"),
                client.read_resource("skill://review/none.md"),
            )
        ]
        return declared, everything, hidden, codes

    declared, (listed, got, files, folders), hidden, codes = run_session(talk)
    assert declared.resources is not None  # whoever declares the extension declares this, too
    assert declared.extensions == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
    assert [uri.removeprefix("skill://").removesuffix("/SKILL.md") for uri in listed] == [
        "merge-pdfs",
        "review",
        "review/inner",
    ]
    # A hidden skill is answered for; it is an entry like any other.
    Draft202012Validator(GET).validate(hidden)
    assert set(codes) == {UNKNOWN}
    for uri, entry in listed.items():
        root = uri.removesuffix("/SKILL.md")
        assert got[uri] == entry
        assert root.rpartition("/")[2] == entry["frontmatter"]["name"]
        assert entry["frontmatter"] == yaml.safe_load(files[uri].decode().split("---\n")[1])
        resources = {resource["uri"]: resource for resource in entry["resources"]}
        assert len(resources) == len(entry["resources"])
        assert uri in resources and all(name.startswith(f"{root}/") for name in resources)
        # All of the files, those of a skill inside of it among them.
        on_disk = [
            path for path in (tools / root.removeprefix("skill://")).rglob("*") if path.is_file()
        ]
        assert len(on_disk) == len(resources)
        for name, resource in resources.items():
            digest = hashlib.sha256(files[name]).hexdigest()
            assert (resource["digest"], resource["size"]) == (
                f"sha256:{digest}",
                len(files[name]),
            )
    for folder, children in folders.items():
        inside = [uri.removeprefix(f"{folder}/") for uri in files if uri.startswith(f"{folder}/")]
        expected = {f"{folder}/{path.partition('/')[0]}": "/" in path for path in inside}
        kinds = {uri: kind == "inode/directory" for uri, kind in children.items()}
        assert kinds == expected
