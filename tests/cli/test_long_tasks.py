"""A task prompt of many words finds the skill whose body is about the matter, whatever few of its
words a description or the beginning of a body has.
"""

from __future__ import annotations

import pytest

FILLER = (
    "Read the notes of the team first, agree on a plan with them, and say what was done in plain words. "
    "Keep old files where they lie, name new ones by date, and ask before anything is thrown away. When "
    "a step fails, stop, write down why, and try the smallest change that could mend it; never guess "
    "twice in a row. Colleagues who join later should find every decision, its reason and its author "
    "within minutes, without scrolling through chats, mails or meetings that nobody remembers. "
)
# Each says in its description and at the beginning of its body what a part of the prompt says.
OTHERS = {
    "reports": ("Writes reports in JSON for every center.", "The report lists rows and columns."),
    "tables": ("Cleans tables: missing values, rows, columns.", "A table has rows and columns."),
    "charts": ("Draws curves and bands as PNG.", "Curves of every center by years."),
    "registries": ("Reads extracts of a registry.", "An extract has rows, columns and notes."),
    "letters": ("Writes letters to patients and centers.", "A letter is read by patients."),
}
SURVIVAL = (
    "A lost graft is an event; observations whose last follow-up shows a working graft stay in the risk "
    "set by months until they are censored. Compare the hazard of two groups of donors with a model of "
    "proportional hazard, and treat the death of those who died as a competing event. "
)
PROMPT = """Our transplant registry extract is in /data/renal/followup.csv (4,118 rows). Columns: graft_id,
months_followed, graft_lost (1 = lost, 0 = still working at the last follow-up), donor_age, center. Many
observations have graft_lost = 0, and 212 patients died with a functioning graft; death must not be
treated as if they simply left. I need by Thursday: curves.png with the probability over ten years and
bands, a hazard model trained on six centers and checked on two groups of centers, and a report in JSON
with the event counts. Missing values in some columns: tell me how you filled them, I will count the rows."""


@pytest.fixture
def library(capdisc, hermetic, write_skill, monkeypatch):
    """Six skills with long bodies, of which one is about the matter of the prompt."""
    folder = hermetic / "skills"
    for name, (description, beginning) in OTHERS.items():
        write_skill(folder, name, description, f"# {name}\n\n{beginning}\n\n{8 * FILLER}")
    body = f"# Method\n\n{6 * FILLER}\n\n## Analysis\n\n{4 * SURVIVAL}"
    write_skill(folder, "statistics-kit", "Statistical methods for medical studies.", body)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index", "skills").code == 0
    return folder


@pytest.mark.parametrize("mode", ["auto", "lexical"])
def test_a_task_finds_what_its_matter_is_explained_in(capdisc, library, mode: str) -> None:
    hits = capdisc("search", PROMPT, "--mode", mode, "--json").json["hits"]
    assert hits[0]["id"] == "skill:statistics-kit"


def test_a_short_request_goes_by_what_descriptions_say(capdisc, library) -> None:
    hits = capdisc("search", "letters to patients", "--json").json["hits"]
    assert hits[0]["id"] == "skill:letters"


def test_keywords_said_over_and_over_are_no_topic(capdisc, library, write_skill) -> None:
    keywords = (
        "transplant registry extract columns graft months lost working follow donor age center years "
        "observations patients died death treated probability bands hazard model trained checked groups "
        "report event counts missing values rows need filled functioning simply left proportional "
    )
    write_skill(
        library, "anything", "A helper for anything.", f"# Help\n\n{5 * FILLER}\n\n{60 * keywords}"
    )
    assert capdisc("index", "skills").code == 0
    hits = capdisc("search", PROMPT, "--json").json["hits"]
    assert hits[0]["id"] == "skill:statistics-kit"


CHINESE_FILLER = "".join(chr(0x4E00 + 7 * number % 2_900) for number in range(2_500))
CHINESE_MATTER = (
    "订单系统越来越慢时,看看哪些查询扫描了整张表,为什么事务在等待锁;索引加快查询,按时间分区保存订单,"
    "再决定要不要分区表,锁等待让事务变慢,每天检查执行计划。"
)
CHINESE_PROMPT = (
    "我们的订单系统越来越慢,客户每天都在抱怨。请看看哪些查询扫描了整张表,事务为什么在等待锁,"
    "再决定要不要按时间分区,完成后给同事写一份简单的说明。"
)


def test_a_task_of_a_script_without_blanks_is_a_task(capdisc, library, write_skill) -> None:
    for name, description, matter in (
        ("信件", "给客户写信,给同事写说明", ""),
        ("图表", "画图表,看看系统", ""),
        ("数据库", "常用方法", 6 * CHINESE_MATTER),
    ):
        write_skill(library, name, description, f"# {name}\n\n{CHINESE_FILLER}\n\n{matter}")
    assert capdisc("index", "skills").code == 0
    hits = capdisc("search", CHINESE_PROMPT, "--json").json["hits"]
    assert hits[0]["id"] == "skill:数据库"
