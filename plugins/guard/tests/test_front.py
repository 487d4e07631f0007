"""The public names of the guard: all there, typed, and loaded on first use."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import capdisc_guard

README = Path(__file__).parents[1] / "README.md"
TREE = ast.parse(Path(capdisc_guard.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
TYPED = {
    alias.name: node.module.removeprefix("capdisc_guard.")
    for node in ast.walk(TREE)
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("capdisc_guard.")
    for alias in node.names
}


def test_the_names_for_type_checkers_are_those_that_load() -> None:
    loaded = capdisc_guard._NAMES_BY_MODULE.items()
    assert {name: module for module, names in loaded for name in names.split()} == TYPED


@pytest.mark.parametrize("name", TYPED)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(capdisc_guard, name) is not None


def test_any_other_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'find_everything'"):
        capdisc_guard.find_everything  # noqa: B018


def test_importing_the_guard_loads_none_of_its_modules() -> None:
    code = "import sys, capdisc_guard; print(*[name for name in sys.modules if 'guard.' in name])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_the_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(README), "exec"), {})
    codes, masked, reasons = capsys.readouterr().out.splitlines()
    assert "injection-phrase" in codes
    assert "[secret]" in masked and "ghp_" not in masked
    assert "a new sentence gives the model orders" in reasons
