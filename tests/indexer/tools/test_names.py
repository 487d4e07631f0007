"""Every tool name of the designs is understood, or answered with the command to use."""

import pytest

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.tools import tool_table
from case_rows import read_rows

OTHERS = """
    list_databases list_tables get_table_schema search_tables get_table_relationships get_sample_values
    find_entity search_all lookup_glossary_term list_apis list_operations list_api_operations get_operation_details
    search_operations execute_graphql execute_rest list_documents get_document search_documents get_document_section
    explore_entity resolve_fact add_fact extract_facts_from_text list_known_facts get_unresolved_facts
    list_skills get_skill load_skill search_skills list_skill_links resolve_skill_link get_skill_file
    search_tool execute_tool register_tool get_tool_function register_doc get_doc search_docs
    discover_capabilities load_capability_extension
    getStats getCapabilityDetail listCapabilityIds getConfig isInitialized
    get_table_catalog get_table_by_id get_table_info get_tables_by_category get_tables_by_keyword get_table_rows
    search_table_values get_compatibility_tables get_measurement_tables search_content search_by_keywords
    get_page_by_number get_available_keywords get_data_overview get_table_overview
    view_pages view_keywords view_tables table_summary find_relevant_tables find_relevant_pages get_table_data
    get_row_data get_page_content tool_search searchTools finalAnswer acknowledgeRequest
""".split()


@pytest.mark.parametrize("name", OTHERS)
def test_every_name_of_the_designs_is_known(name) -> None:
    """Names lead to a tool, an alias or a hint (S14, S112, S198, S208, S223, S238, S307)."""
    try:
        assert tool_table.bind_call(name, {}).tool.name in tool_table.TOOLS
    except InputError as error:
        assert error.hint
    except UsageError as error:
        assert "do not fit" in error.message  # known, and it needs arguments


def test_no_name_stands_for_two_tools() -> None:
    forms = [
        {name.replace("_", "").lower() for name in (tool.name, *tool.aliases)}
        for tool in tool_table.TOOLS.values()
    ]
    assert sum(map(len, forms)) == len(set().union(*forms))


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    read_rows(__file__, "a_parameter_under_another_name_is_taken_with_a_notice"),
)
def test_a_parameter_under_another_name_is_taken_with_a_notice(tool, given, meant) -> None:
    """A parameter under another known name is renamed, with a notice for each (S242)."""
    ready = tool_table.bind_call(tool, given)
    assert meant.items() <= ready.arguments.items()
    assert len(ready.notices) == len(given)


def test_a_parameter_that_means_nothing_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError) as caught:
        tool_table.bind_call("list_tables", {"colour": "red"})
    assert "colour is unknown" in caught.value.message
    assert caught.value.hint == "it takes: [database]"


def test_arguments_as_large_as_a_file_are_refused() -> None:
    with pytest.raises(UsageError):
        tool_table.bind_call("list_tables", {"database": "x" * 2_000_000})


def test_every_tool_has_a_schema_of_its_own_kind_and_says_what_it_does() -> None:
    import jsonschema

    for tool in tool_table.TOOLS.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["type"] == "object"
        assert tool.description.endswith(".")
        assert set(tool.input_schema.get("required", ())) <= set(tool.input_schema["properties"])
