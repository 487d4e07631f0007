"""Office documents and PDF: their text by section, and what hostile ones cost."""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from capdisc_data import document_files
from capdisc_indexer.model.types import LoadedFile
from found_files import found

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
Put = Callable[[str, Mapping[str, str]], LoadedFile]

needs_pypdf = [
    pytest.mark.documents,
    pytest.mark.skipif(
        importlib.util.find_spec("pypdf") is None, reason="needs the extra documents"
    ),
]


def relations(**targets: str) -> str:
    inside = "".join(
        f'<Relationship Id="{key}" Target="{target}"/>' for key, target in targets.items()
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inside}</Relationships>'


def paragraph(text: str, style: str = "", run: str = "") -> str:
    mark = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{mark}<w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Own"><w:name w:val="Our section"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:styleId="Aufz"><w:name w:val="List Bullet"/></w:style>
</w:styles>"""
BODY = f"""<w:document xmlns:w="{W}"><w:body>
{paragraph("Staff Handbook", "Titel")}{paragraph("Welcome.")}
{paragraph("Leave", "berschrift1")}{paragraph("Everyone has 25 days.")}
{paragraph("summer", "Aufz")}{paragraph("winter", "Aufz")}
{paragraph("Parents", "Own")}{paragraph("Twelve weeks.")}{paragraph("not shown", run="<w:vanish/>")}
<w:p><w:del><w:r><w:delText>taken out</w:delText></w:r></w:del></w:p>
<w:tbl><w:tr><w:tc>{paragraph("who")}</w:tc><w:tc>{paragraph("weeks")}</w:tc></w:tr></w:tbl>
</w:body></w:document>"""
SLIDE = f"""<p:sld xmlns:p="{P}" xmlns:a="{A}"><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>
<a:p><a:r><a:t>The plan</a:t></a:r></a:p></p:sp>
<p:sp><a:p><a:r><a:t>First this</a:t></a:r></a:p><a:p><a:r><a:t>then that</a:t></a:r></a:p></p:sp></p:sld>"""


def archive(parts: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in parts.items():
            made.writestr(name, text)
    return stream.getvalue()


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str, bytes], LoadedFile]:
    def write_and_load(name: str, data: bytes) -> LoadedFile:
        path = tmp_path / name
        path.write_bytes(data)
        return document_files.load(found(path, "office"), data)

    return write_and_load


def contents(loaded: LoadedFile) -> dict[str, str]:
    return {each.title: each.content for each in loaded.descriptors if each.kind == "section"}


def refusal(loaded: LoadedFile) -> str:
    assert loaded.descriptors == ()
    (finding,) = loaded.findings
    assert finding.code == "document-unreadable" and finding.hint
    return finding.message


def test_a_word_document_is_cut_by_its_headings(load) -> None:
    """Headings are known by style in any language; hidden text is not read (S40)."""
    loaded = load("handbook.docx", archive({"word/document.xml": BODY, "word/styles.xml": STYLES}))
    assert contents(loaded) == {
        "Staff Handbook": "Welcome.",
        "Leave": "Everyone has 25 days.\n\n- summer\n- winter",
        "Parents": "Twelve weeks.\n\n| who | weeks |\n|---|---|",
    }
    assert loaded.descriptors[0].title == "Staff Handbook"
    assert loaded.descriptors[3].extra["path"] == ["Staff Handbook", "Leave"]


def test_slides_come_in_the_order_of_the_presentation(load) -> None:
    """Slides are read in the order of the presentation, not of their file names (S40)."""
    order = f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldId r:id="b"/><p:sldId r:id="a"/></p:presentation>'
    parts = {
        "ppt/presentation.xml": order,
        "ppt/_rels/presentation.xml.rels": relations(
            a="slides/slide1.xml", b="/ppt/slides/slide2.xml"
        ),
        "ppt/slides/slide1.xml": SLIDE,
        "ppt/slides/slide2.xml": SLIDE.replace("The plan", "Before it"),
    }
    assert contents(load("plan.pptx", archive(parts))) == {
        "Before it": "First this\nthen that",
        "The plan": "First this\nthen that",
    }


def test_sheets_are_tables(load) -> None:
    """Sheets are tables, and hidden ones are left out (S40)."""
    sheets = '<sheet name="Prices" r:id="a"/><sheet name="Notes" r:id="a" state="hidden"/>'
    rows = '<row><c r="A1" t="s"><v>0</v></c><c r="C1"><v>1.5</v></c></row>'
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(a="worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{S}"><si><t>apple</t></si></sst>',
    }
    assert contents(load("prices.xlsx", archive(parts))) == {
        "Prices": "| apple |  | 1.5 |\n|---|---|---|"
    }


def test_a_bomb_of_zeros_is_refused(load) -> None:
    bomb = archive({"word/document.xml": f'<w:document xmlns:w="{W}">' + " " * 100_000_000})
    assert "unpacks to more" in refusal(load("bomb.docx", bomb))


def test_a_bomb_of_entities_is_refused(load) -> None:
    bomb = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' + BODY
    assert "document type" in refusal(load("bomb.docx", archive({"word/document.xml": bomb})))


def test_endless_nesting_costs_this_document_only(load) -> None:
    deep = f'<w:document xmlns:w="{W}"><w:body>{"<w:sdt>" * 200_000}{"</w:sdt>" * 200_000}</w:body></w:document>'
    assert refusal(load("deep.docx", archive({"word/document.xml": deep})))


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.docx", b""), ("a.docx", b"PK\x03\x04 nonsense"), ("a.pptx", archive({"x": "y"})), ("a.xlsx", archive({})),
     ("a.docx", archive({"word/document.xml": "<a"}))],
)  # fmt: skip
def test_what_is_no_office_document_is_a_finding(load, name: str, data: bytes) -> None:
    assert refusal(load(name, data))


def test_a_reader_that_takes_too_long_costs_its_document_only(
    load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_files, "MAX_SECONDS", 0.001)
    assert "longer than" in refusal(load("handbook.docx", archive({"word/document.xml": BODY})))


def pdf(*pages: str) -> bytes:
    """A PDF of one line a page, written by hand."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /Contents {5 + 2 * n} 0 R {font} /MediaBox [0 0 300 100] >>"
        )
        drawn = f"BT /F1 12 Tf 10 50 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n".encode()
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return body + (table + trailer).encode()


class TestPdf:
    pytestmark = needs_pypdf

    def test_pages_are_sections(self, load) -> None:
        """Each page of a PDF is a section, and the document says its format (S40)."""
        loaded = load("terms.pdf", pdf("The first page.", "The zebra clause."))
        assert contents(loaded) == {"Page 1": "The first page.", "Page 2": "The zebra clause."}
        assert (loaded.descriptors[0].title, loaded.descriptors[0].extra["format"]) == (
            "Terms",
            "pdf",
        )

    def test_a_page_without_text_is_a_finding(self, load) -> None:
        assert [finding.code for finding in load("scan.pdf", pdf("")).findings] == [
            "document-empty"
        ]

    @pytest.mark.parametrize("data", [b"", b"%PDF-1.4 nonsense", pdf("a")[:200]])
    def test_what_is_no_pdf_is_a_finding(self, load, data: bytes) -> None:
        loaded = load("a.pdf", data)
        assert loaded.descriptors == () and len(loaded.findings) == 1


def test_without_the_extra_the_finding_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pypdf the hint names the extra to install (S40)."""
    import sys

    from capdisc_data import pdf as reader

    monkeypatch.setitem(sys.modules, "pypdf", None)
    answer = reader.read_request({"kind": "pdf"}, pdf("a"))
    assert "install the extra documents: " in answer["hint"]
