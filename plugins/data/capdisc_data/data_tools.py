"""The tools that ask about data: tables, APIs and documents, and everything by name and text."""

from __future__ import annotations

from capdisc_data import api_answers, document_answers, search_answers, table_answers
from capdisc_data.api_answers import ANY_TYPE
from capdisc_data.data_lookup import TABLE_ARGUMENTS
from capdisc_data.document_answers import TEXT_KINDS
from capdisc_data.search_answers import SCOPES
from capdisc_indexer.tools.tool_types import (
    MAX_NAME,
    choice_schema,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
    tool_factory,
)

_DATA_KINDS = ("database", "table")
_entity_tool, _content_tool = tool_factory("entities"), tool_factory("content")
_schema_tool, _table_tool = (
    tool_factory("schema", _DATA_KINDS),
    tool_factory("tables", _DATA_KINDS),
)
_api_tool = tool_factory("apis", ("api", "operation"))
_document_tool = tool_factory("documents", TEXT_KINDS)

# Arguments that several tools have.
_NAME = {"name": name_schema(), "limit": limit_schema(10)}
_DATABASE = {"database": name_schema("Its name.")}
_TABLE = {**_DATABASE, "table": TABLE_ARGUMENTS["table"]}
_ROW_LIMIT = {"limit": limit_schema(10)}
_TABLE_LIMIT = {"limit": limit_schema(20)}
_OPERATION_TYPE = {"operation_type": choice_schema(ANY_TYPE, "query", "mutation", "subscription")}
_DOCUMENT = {"name": name_schema("Its name or id.")}
_SCOPE = {"search_type": choice_schema(*SCOPES), "limit": limit_schema(10)}
_KEYWORD = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_KEYWORDS = {
    "type": "array",
    "items": {"type": "string", "maxLength": MAX_NAME},
    "minItems": 1,
    "maxItems": 50,
}

TOOLS = (
    _entity_tool(
        "find_entity",
        "Everything with this name, or with a column or parameter of it.",
        search_answers.find_entity,
        input_schema("name", **_NAME),
    ),
    _entity_tool(
        "search_all",
        "Search capabilities of all kinds, with how sure the answer is.",
        search_answers.search_all,
        input_schema("query", query=query_schema("What is needed."), limit=limit_schema(10)),
    ),
    _entity_tool(
        "lookup_glossary_term",
        "The definition of a term.",
        search_answers.lookup_glossary_term,
        input_schema("term", term=name_schema()),
        kinds=("term",),
    ),
    _entity_tool(
        "explore_entity",
        "Everything that mentions a name, with the passage.",
        search_answers.explore_entity,
        input_schema("name", **_NAME),
    ),
    _schema_tool(
        "list_databases",
        "List the databases, files of tables included, with type and description.",
        table_answers.list_databases,
        input_schema(),
    ),
    _schema_tool(
        "list_tables",
        "List the tables of a database with row counts; of all databases without one.",
        table_answers.list_tables,
        input_schema("", **_DATABASE),
    ),
    _schema_tool(
        "get_table_schema",
        "Columns of a table with types, keys and sample values.",
        table_answers.get_table_schema,
        input_schema("table", **_TABLE),
    ),
    _schema_tool(
        "search_tables",
        "Find the tables that a question is about.",
        table_answers.search_tables,
        input_schema(
            "query",
            query=query_schema("What the data is about."),
            limit=limit_schema(5),
            **_DATABASE,
        ),
        "find_relevant_tables",
    ),
    _schema_tool(
        "get_table_relationships",
        "Foreign keys from and to a table, or all of a database.",
        table_answers.get_table_relationships,
        input_schema("", **_TABLE),
    ),
    _schema_tool(
        "get_sample_values",
        "Values of a column as they were sampled when the index was made.",
        table_answers.get_sample_values,
        input_schema("table column", **_TABLE, column=name_schema(), limit=limit_schema(10)),
    ),
    _api_tool(
        "list_apis",
        "List the APIs with type, address and description.",
        api_answers.list_apis,
        input_schema(),
    ),
    _api_tool(
        "list_operations",
        "List the operations of an API.",
        api_answers.list_operations,
        input_schema("api", api=name_schema("Its name."), **_OPERATION_TYPE),
        "list_api_operations",
    ),
    _api_tool(
        "get_operation_details",
        "Method, path, parameters and response of an operation.",
        api_answers.get_operation_details,
        input_schema(
            "operation",
            api=name_schema("Where several have it."),
            operation=name_schema("Its name or id."),
        ),
    ),
    _api_tool(
        "search_operations",
        "Find the API operations for a task.",
        api_answers.search_operations,
        input_schema(
            "query",
            query=query_schema("The task."),
            limit=limit_schema(5),
            **_OPERATION_TYPE,
            api=name_schema(),
        ),
    ),
    _document_tool(
        "list_documents",
        "List the documents with format, description and tags.",
        document_answers.list_documents,
        input_schema(),
        "view_pages",
    ),
    _document_tool(
        "get_document",
        "A document in full.",
        document_answers.get_document,
        input_schema("name", **_DOCUMENT),
        "get_doc",
    ),
    _document_tool(
        "search_documents",
        "Find the passages of documents that a question is about.",
        document_answers.search_documents,
        input_schema("query", query=query_schema("The question."), limit=limit_schema(5)),
        "search_docs",
        "find_relevant_pages",
    ),
    _document_tool(
        "get_document_section",
        "One section of a document with all below its heading.",
        document_answers.get_document_section,
        input_schema("name section", **_DOCUMENT, section=name_schema("Words of its heading.")),
    ),
    _document_tool(
        "get_page_by_number",
        "Part N of a document.",
        document_answers.get_page,
        input_schema(
            "page_number",
            page_number={"type": "integer", "minimum": 1},
            document=name_schema("Where there are several."),
        ),
        "get_page_content",
    ),
    _table_tool(
        "get_table_catalog",
        "All tables with what each is about.",
        table_answers.get_table_catalog,
        input_schema(),
        "view_tables",
    ),
    _table_tool(
        "get_table_info",
        "What a table is about, without its rows.",
        table_answers.get_table_info,
        input_schema("table", **TABLE_ARGUMENTS),
    ),
    _table_tool(
        "get_tables_by_category",
        "Tables of a category.",
        table_answers.tables_about(""),
        input_schema("category", category=name_schema(), **_TABLE_LIMIT),
    ),
    _table_tool(
        "get_tables_by_keyword",
        "Tables that a keyword fits.",
        table_answers.get_tables_by_keyword,
        input_schema("keyword", keyword=name_schema(), **_ROW_LIMIT),
    ),
    _table_tool(
        "get_compatibility_tables",
        "Tables about what goes with what.",
        table_answers.tables_about("compatibility"),
        input_schema("", **_TABLE_LIMIT),
    ),
    _table_tool(
        "get_measurement_tables",
        "Tables of measurements.",
        table_answers.tables_about("measurement"),
        input_schema("", **_TABLE_LIMIT),
    ),
    _table_tool(
        "get_table_overview",
        "Columns and keys of a table; without one, tables and rows of each database.",
        table_answers.get_table_overview,
        input_schema("", **TABLE_ARGUMENTS),
        "table_summary",
    ),
    _table_tool(
        "get_table_by_id",
        "A table with its columns and sampled rows.",
        table_answers.get_table_by_id,
        input_schema("table", **TABLE_ARGUMENTS, **_ROW_LIMIT),
        "get_table_data",
    ),
    _table_tool(
        "get_table_rows",
        "Sampled rows of a table that have these values, as {column: value}.",
        table_answers.get_table_rows,
        input_schema(
            "table",
            **TABLE_ARGUMENTS,
            criteria={"type": "object", "default": {}},
            row={"type": ["integer", "string"], "description": "Its number, from 1, or its key."},
            **_ROW_LIMIT,
        ),
        "get_row_data",
    ),
    _table_tool(
        "search_table_values",
        "Sampled cells that hold the words, in one table or in all.",
        table_answers.search_table_values,
        input_schema("term", term=name_schema("The words."), **TABLE_ARGUMENTS, **_ROW_LIMIT),
    ),
    _content_tool(
        "search_content",
        "Search what capabilities, documents and tables hold, with the passage that matched.",
        search_answers.search_content,
        input_schema("query", query=query_schema("The question."), **_SCOPE),
    ),
    _content_tool(
        "search_by_keywords",
        "Search for these words and no others.",
        search_answers.search_by_keywords,
        input_schema("keywords", keywords={"anyOf": [_KEYWORDS, _KEYWORD]}, **_SCOPE),
    ),
    _content_tool(
        "get_available_keywords",
        "The keywords that there are, sorted.",
        search_answers.get_available_keywords,
        input_schema(
            prefix={"type": "string", "maxLength": MAX_NAME, "default": ""},
            limit=limit_schema(100),
        ),
        "view_keywords",
    ),
    _content_tool(
        "get_data_overview",
        "What the index holds, in figures.",
        search_answers.get_data_overview,
        input_schema(),
        "getStats",
        "get_stats",
    ),
)
