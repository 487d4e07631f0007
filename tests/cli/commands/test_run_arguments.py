"""capdisc run, call and validate: no argument becomes program text or an option."""

import pytest

FIELDS = """hasSideEffects: false
inputSchema:
  type: object
  properties: {x: {type: string}}
  required: [x]
"""
INJECTED = FIELDS + 'run: {command: ["sh","-c","echo {x}"]}\n'


@pytest.fixture
def tool(hermetic, monkeypatch, capdisc):
    """Write a capability called `say` and index it."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def write(fields: str):
        path = hermetic / "tools" / "say" / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"name: say\nkind: tool\ndescription: Says what it is told.\n{fields}")
        assert capdisc("index", "tools").code == 0
        return path

    return write


def test_validate_says_where_it_stands_and_fix_passes_it_apart(capdisc, tool) -> None:
    """Once validate had no finding for an argument in program text."""
    path = tool(f"# kept as it is\n{INJECTED}")
    [finding] = capdisc("validate", "tools", "--format", "json").json["findings"]
    assert (finding["code"], finding["severity"]) == ("program-text", "error")
    assert (finding["line"], finding["column"]) == (10, 27)
    assert capdisc("validate", "tools").code == 1
    before = path.read_text()
    assert capdisc("validate", "tools", "--fix", "--write").code == 0
    assert path.read_text() == before.replace('"echo {x}"', r'"echo \"$1\"","sh","{x}"')
    assert capdisc("validate", "tools").code == 0
    capdisc("index", "tools")
    assert capdisc("run", "say", '{"x": "a  b; id"}', "--yes").out == "a  b; id\n"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (
            "  command: [sh, -c, 'echo ''{x}''']\n",
            "  command: [sh, -c, 'echo \"$1\"', sh, '{x}']\n",
        ),
        (
            "  command:\n    - bash\n    - -ec\n    - echo {x} >&2  # loudly\n",
            '  command:\n    - bash\n    - -ec\n    - echo "$1" >&2  # loudly\n    - bash\n    - "{x}"\n',
        ),
        (
            '  command: [\n    "sh",\n    "-c",\n    "cat {x} | wc -l",\n  ]\n',
            '  command: [\n    "sh",\n    "-c",\n    "cat \\"$1\\" | wc -l", "sh", "{x}",\n  ]\n',
        ),
    ],
    ids=["single-quotes", "block", "lines"],
)
def test_fix_keeps_the_way_a_command_is_written(capdisc, tool, written: str, wanted: str) -> None:
    path = tool(f"{FIELDS}run:\n{written}  timeout: 5  # seconds\n")
    before = path.read_text()
    capdisc("validate", "tools", "--fix", "--write")
    assert path.read_text() == before.replace(written, wanted)
    assert capdisc("validate", "tools").code == 0


@pytest.mark.parametrize(
    "written",
    [
        'run: {command: ["python3", "-c", "print({x})"]}\n',
        'run: {command: ["sh", "-c", "echo \\"<{x}>\\""]}\n',
        "run:\n  command:\n    - sh\n    - -c\n    - |\n      echo {x}\n",
        'run: {command: ["sh"], stdin: "{x}"}\n',
    ],
    ids=["python", "quoted", "block-scalar", "stdin"],
)
def test_what_fix_cannot_put_right_for_sure_stays_an_error(capdisc, tool, written: str) -> None:
    path = tool(FIELDS + written)
    before = path.read_text()
    assert capdisc("validate", "tools", "--fix", "--write", "--select", "program-text").code == 1
    assert path.read_text() == before
    assert capdisc("run", "say", '{"x": "1"}', "--yes").code == 5
