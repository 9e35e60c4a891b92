"""JSON Schema and the generated part of the documentation agree with the schema and the shipped files."""

from pathlib import Path

import pytest

from riftsim import yaml_file
from riftsim.config import schema
from riftsim.config.document import BUNDLED
from riftsim.config.keys import blocks_of, fields_of, tag_of
from riftsim.config.reference import json_schema, reference_markdown

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = [*sorted(BUNDLED.glob("*.yaml")), *sorted((ROOT / "experiments").glob("*/experiment.yaml"))]


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_json_schema_accepts_the_shipped_experiments(validator, path):
    validator.validate(yaml_file.read(path)[0])


@pytest.mark.parametrize(
    "wrong",
    [{"search": {"Lx": 3}}, {"search": {"L": 0}}, {"system": {"kind": "other"}}, {"serch": {}}, {"base": 3}],
)
def test_the_json_schema_refuses_what_the_loader_refuses(validator, wrong):
    assert not validator.is_valid({"name": "x", "dataset": {"name": "d"}, **wrong})


def test_every_key_is_described():
    def undescribed(definition, name):
        return [
            f"{name}.{key}" for key, of in definition["properties"].items() if key != "kind" and "description" not in of
        ]

    definitions = json_schema()["$defs"]
    assert [key for name, definition in definitions.items() for key in undescribed(definition, name)] == []


def test_every_tagged_block_has_a_kind_of_its_own():
    for field in fields_of(schema.ExperimentConfig).values():
        tags = [tag_of(block) for block in blocks_of(field.type)]
        assert len(set(tags)) == len(tags)


def test_the_configuration_page_is_up_to_date():
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert reference_markdown().strip() in page, "run: python scripts/update_configuration_page.py"
