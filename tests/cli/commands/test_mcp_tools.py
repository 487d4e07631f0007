"""The three tools of `capdisc mcp`, its prompt and its resources, as an agent gets them."""

import json
import re
from pathlib import Path

import anyio
import pytest
from mcp import MCPError

from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.tools.answer_pages import MAX_ANSWER_TOKENS
from capdisc_indexer.tools.capability_reading import TEXT_MARK
from mcp_sessions import call, call_once, run_session

COUNT = load_token_counter()
CURSOR = re.compile(r'^read on with cursor "([^"]+)"$', re.MULTILINE)
SECTIONS = "".join(
    f"## Step {number}\n\nTo do step {number}:\n\n"
    + "".join(f"- Detail {line} of step {number} is written here.\n" for line in range(40))
    + ("\n```sh\n# no heading\n```\n\n### Example\n\nAn example.\n\n" if number % 3 == 0 else "\n")
    for number in range(1, 31)
)
BODY = f"# Move house\n\nBegin early.\n\n{SECTIONS}"


@pytest.fixture
def library(hermetic, index_dir, capdisc, write_skill):
    """A short skill with files beside it, and a long one."""
    path = write_skill(
        hermetic / "skills",
        "merge-pdfs",
        "Merges PDF files into one. Use when asked to join PDFs.",
    )
    write_skill(
        hermetic / "skills",
        "move-house",
        "Plans how to move to another flat. Use when somebody moves house.",
        BODY,
    )
    references = path.parent / "references"
    references.mkdir()
    (references / "forms.md").write_text("# Forms\n\nFill them.\n\n## Flat\n\nFlatten at last.\n")
    (references / "keys.md").write_text("key: ghp_" + "a1B2" * 9 + "\n")
    (path.parent / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (hermetic / "outside.md").write_text("outside\n")
    (path.parent / "link.md").symlink_to(hermetic / "outside.md")
    assert capdisc("index", "skills").code == 0
    return hermetic


def _tool_documents(tools) -> list[dict]:
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def test_the_three_definitions_have_at_most_400_tokens(library) -> None:
    async def talk(client):
        return (await client.list_tools()).tools

    tools = run_session(talk, "--allow-run")
    documents = _tool_documents(tools)
    # A client takes this part for itself, and gives the rest to its model.
    assert all(document.pop("_meta") == {"anthropic/alwaysLoad": True} for document in documents)
    text = json.dumps(documents, separators=(",", ":"))
    assert [tool.name for tool in tools] == [
        "search_capabilities",
        "read_capability",
        "run_capability",
    ]
    assert COUNT(text) <= 400
    assert all(tool.title for tool in tools)
    assert [tool.annotations.read_only_hint for tool in tools] == [True, True, False]
    tools = run_session(talk)
    assert [tool.name for tool in tools] == ["search_capabilities", "read_capability"]


def test_every_tool_takes_a_cursor_and_says_whether_it_reads_only(library) -> None:
    async def talk(client):
        return (await client.list_tools()).tools

    tools = run_session(talk, "--tools", "all")
    assert {"search_capabilities", "list_skills", "search_tool"} <= {tool.name for tool in tools}
    for tool in tools:
        assert "cursor" in tool.input_schema["properties"]
        assert tool.annotations.read_only_hint is not None


def test_a_search_answers_a_line_each_or_that_nothing_fits(library) -> None:
    async def talk(client):
        async def search(query: str, **others) -> str:
            is_error, text = await call(client, "search_capabilities", {"query": query, **others})
            assert not is_error, text
            return text

        assert (await search("join PDF files")).startswith(
            "skill:merge-pdfs: Merges PDF files into one. "
            "Use when asked to join PDFs. (skills/merge-pdfs/SKILL.md)"
        )
        # Of three skills too little is found for it to be called talk.
        assert await search("thanks a lot!") == (
            "Nothing here fits.\nNothing here mentions: thanks, lot\n"
            "Try other words, or work without."
        )
        assert "frobnicate" in await search("frobnicate the zorglub")
        assert "merge-pdfs" in await search("")
        assert "merge-pdfs" in await search("pdf", kinds=["skill"])
        assert "merge-pdfs" in await search("merge-pdfs", limit=1)
        is_error, text = await call(
            client, "search_capabilities", {"query": "pdf", "kinds": ["skil"]}
        )
        assert is_error
        assert "did you mean skill?" in text

    run_session(talk)


async def _read_pages(client, **arguments) -> list[str]:
    """The texts of all pages; each answer fits."""
    pages, cursor = [], {}
    while True:
        is_error, answer = await call(client, "read_capability", {**arguments, **cursor})
        assert not is_error, answer
        assert COUNT(answer) <= MAX_ANSWER_TOKENS
        head, _, text = answer.partition(f"\n{TEXT_MARK}\n")
        pages.append(text)
        match = CURSOR.search(head)
        if match is None:
            return pages
        cursor = {"cursor": match[1]}


def test_a_long_capability_is_read_in_pages_that_end_before_sections(library, capdisc) -> None:
    async def talk(client):
        _, first = await call(client, "read_capability", {"id": "move-house"})
        assert "- Move house (" in first
        assert "  - Step 30 (" in first
        assert "- example-9 (" in first  # ten sections are called so
        pages = await _read_pages(client, id="move-house")
        assert len(pages) > 3
        assert BODY.strip() in "".join(pages)
        assert all(page.startswith("##") for page in pages[1:])
        whole = "".join(pages)
        by_path = await _read_pages(client, id="skills/move-house/SKILL.md")
        assert "".join(by_path) == "".join(await _read_pages(client, id="skills/move-house"))
        assert "".join(by_path) == whole
        return whole

    text = run_session(talk)
    assert text.strip() in capdisc("show", "skill:move-house").out


def test_a_section_is_read_by_its_heading_or_anchor(library) -> None:
    async def talk(client):
        async def read(section: str) -> str:
            [text] = await _read_pages(client, id="move-house", section=section)
            return text

        assert (await read("Step 7")).startswith("## Step 7\n\nTo do step 7:")
        assert "Step 8" not in await read("step-7")
        assert (await read("example-1")).strip() == "### Example\n\nAn example."
        is_error, text = await call(
            client, "read_capability", {"id": "move-house", "section": "Step 77"}
        )
        assert is_error
        assert "Step 30" in text

    run_session(talk)


def test_files_of_the_folder_are_read_and_nothing_else(library) -> None:
    async def talk(client):
        async def read(file: str, **others) -> tuple[bool, str]:
            return await call(
                client, "read_capability", {"id": "merge-pdfs", "file": file, **others}
            )

        _, answer = await call(client, "read_capability", {"id": "merge-pdfs"})
        assert "file: skills/merge-pdfs/SKILL.md" in answer
        assert "beside it: references/forms.md, references/keys.md\n" in answer
        is_error, answer = await read("references/forms.md")
        assert not is_error
        assert answer.endswith("# Forms\n\nFill them.\n\n## Flat\n\nFlatten at last.\n")
        assert (await read("references/forms.md", section="flat"))[1].endswith(
            f"{TEXT_MARK}\n## Flat\n\nFlatten at last.\n"
        )
        assert "ghp_a1B2" not in (await read("references/keys.md"))[1]
        for outside in (
            "../../outside.md",
            "link.md",
            "/etc/passwd",
            "~/x",
            "..%2f..%2foutside.md",
        ):
            is_error, answer = await read(outside)
            assert is_error, outside
            assert "outside\n" not in answer
        is_error, answer = await read("id_rsa")
        assert is_error
        assert "private key" in answer
        is_error, answer = await read("references/from.md")
        assert is_error
        assert "references/forms.md" in answer

    run_session(talk)


def test_a_cursor_outlives_a_new_index_unless_its_text_has_changed(library, capdisc) -> None:
    path = Path("skills/move-house/SKILL.md")

    async def talk(client):
        _, first = await call(client, "read_capability", {"id": "move-house"})
        cursor = {"id": "move-house", "cursor": CURSOR.search(first)[1]}
        (path.parent.parent / "merge-pdfs" / "SKILL.md").write_text(
            "---\nname: merge-pdfs\ndescription: Merges. Use when asked.\n---\n\nOther.\n"
        )
        await anyio.to_thread.run_sync(capdisc, "index", "skills")
        assert not (await call(client, "read_capability", cursor))[0]
        path.write_text(path.read_text() + "\nOne more line.\n")
        await anyio.to_thread.run_sync(capdisc, "index", "skills")
        is_error, text = await call(client, "read_capability", cursor)
        assert is_error
        assert "changed since" in text
        assert "without the cursor" in text
        assert (await call(client, "read_capability", {**cursor, "cursor": "x"}))[0]

    run_session(talk)


def test_long_lists_come_in_pages_of_json(library, capdisc) -> None:
    rows = [
        {"name": f"tool-{number}", "kind": "tool", "description": f"Does thing {number}. " * 12}
        for number in range(400)
    ]
    (library / "skills" / "capabilities.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows)
    )
    assert capdisc("index", "skills").code == 0

    async def talk(client):
        names, cursor = [], {}
        while True:
            is_error, text = await call(client, "search_tool", {"query": "", **cursor})
            assert not is_error, text
            assert COUNT(text) <= MAX_ANSWER_TOKENS
            page = json.loads(text)
            names += page["tools"]
            if "next_cursor" not in page:
                return names
            cursor = {"cursor": page["next_cursor"]}

    names = run_session(talk, "--tools", "search_tool")
    assert len(names) == 402
    assert names == sorted(set(names))


def test_a_long_result_of_a_run_is_read_on_without_running_again(catalogue, library) -> None:
    catalogue(
        "count-up",
        'run: {command: [sh, -c, "echo run >> runs; seq 1 9000"]}\n',
    )

    async def talk(client):
        printed, cursor = "", {}
        while True:
            is_error, text = await call(
                client, "run_capability", {"id": "count-up", "arguments": {}, **cursor}
            )
            assert not is_error, text
            assert COUNT(text) <= MAX_ANSWER_TOKENS
            page = json.loads(text)
            printed += page.get("stdout", "")
            if "next_cursor" not in page:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert printed.split() == [str(number) for number in range(1, 9001)]
        other = "00000000" + cursor["cursor"][8:]
        is_error, text = await call(client, "run_capability", {"id": "count-up", "cursor": other})
        assert is_error
        assert "no longer kept" in text

    run_session(talk, "--allow-run", "--yes")
    assert sum(path.read_text().count("run") for path in library.rglob("runs")) == 1


def test_the_prompt_and_the_resources_hold_what_the_tools_answer(library) -> None:
    async def talk(client):
        [prompt] = (await client.list_prompts()).prompts
        assert (prompt.name, prompt.arguments[0].name) == ("find-capabilities", "task")
        answer = await client.get_prompt("find-capabilities", {"task": "join PDF files"})
        assert "skill:merge-pdfs" in answer.messages[0].content.text
        answer = await client.get_prompt("find-capabilities", {"task": "thank you!"})
        assert answer.messages[0].content.text.startswith("Nothing here fits")
        for task in ("", "-"):
            with pytest.raises(MCPError, match="task is empty"):
                await client.get_prompt("find-capabilities", {"task": task})
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == [
            "capdisc://capability/{id}",
            "skill://{+path}",
        ]
        for name in ("skill:merge-pdfs", "skill%3Amerge-pdfs", "merge-pdfs"):
            read = await client.read_resource(f"capdisc://capability/{name}")
            assert "Do it." in read.contents[0].text
        with pytest.raises(MCPError, match="no capability"):
            await client.read_resource("capdisc://capability/nothing-of-the-kind")
        with pytest.raises(MCPError, match="no resource"):
            await client.read_resource("capdisc://else")
        assert "search_capabilities" in client.instructions

    run_session(talk)


def test_ids_of_resources_are_completed(library) -> None:
    async def talk(client):
        from mcp.types import ResourceTemplateReference

        reference = ResourceTemplateReference(uri="capdisc://capability/{id}")
        answer = await client.complete(reference, {"name": "id", "value": "merge"})
        return answer.completion.values

    assert run_session(talk) == ["skill:merge-pdfs"]


def test_without_an_index_a_search_builds_one(hermetic, index_dir, write_skill) -> None:
    write_skill(hermetic / ".claude" / "skills", "merge-pdfs", "Merges PDF files. Use when asked.")

    async def talk(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["search_capabilities", "read_capability"]
        return await call(client, "search_capabilities", {"query": "merge PDF files"})

    is_error, text = run_session(talk)
    assert not is_error, text
    assert text.startswith("skill:merge-pdfs")
    assert ".claude/skills/merge-pdfs/SKILL.md" in text


def test_an_index_that_cannot_be_built_is_said(hermetic, index_dir) -> None:
    index_dir.write_text("no folder")
    is_error, text = call_once("search_capabilities", {"query": "merge PDF files"})
    assert is_error
    assert "capdisc index" in text


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ("search_capabilites", "did you mean search_capabilities"),
        ("discovry", "did you mean discovery"),
        ("al", "groups: agent, apis"),
    ],
)
def test_a_name_of_no_tool_is_refused_with_the_nearest(capdisc, names: str, hint: str) -> None:
    result = capdisc("mcp", "--tools", names)
    assert (result.code, result.out) == (2, "")
    assert hint in result.err
