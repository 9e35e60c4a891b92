"""Commands that show what is there: profile, data, schema."""

import argparse
from pathlib import Path

from riftsim.cli.terminal import Column, print_json, print_table


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands of this module."""
    profile = commands.add_parser("profile", help="show hardware profiles")
    actions = profile.add_subparsers(metavar="ACTION", required=True)
    show = actions.add_parser(
        "show", help="constants with their sources, and read latency by size beside published points"
    )
    show.add_argument("name", metavar="NAME", nargs="?", help="profile or file (default: list the profiles)")
    show.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")
    show.set_defaults(command=_profile_show)

    data = commands.add_parser("data", help="show data sets")
    actions = data.add_subparsers(metavar="ACTION", required=True)
    info = actions.add_parser("info", help="files, sizes and metric of a data set")
    info.add_argument("name", metavar="NAME", nargs="?", help="data set or file (default: list the data sets)")
    info.add_argument("--verify", action="store_true", help="also check checksums and ground truth")
    info.add_argument("--data-dir", metavar="DIR", type=Path, default=None, help="folder of data sets")
    info.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")
    info.set_defaults(command=_data_info)

    schema = commands.add_parser("schema", help="print the JSON Schema of experiment files, for editors")
    schema.add_argument("--markdown", action="store_true", help="print the tables of docs/configuration.md instead")
    schema.set_defaults(command=_schema)


def _bundled(folder: str) -> list[str]:
    from riftsim.config.document import BUNDLED

    return sorted(path.stem for path in (BUNDLED / folder).glob("*.yaml"))


def _profile_show(options: argparse.Namespace) -> int:
    if options.name is None:
        return _list("hardware", options.json)
    from riftsim.rdma.profiles import describe

    sections = describe(options.name)
    if options.json:
        print_json(sections)
        return 0
    for title, rows in sections.items():
        _print_rows(title, rows)
    return 0


def _print_rows(title: str, rows: list[dict]) -> None:
    if not rows:
        return
    keys = list(dict.fromkeys(key for row in rows for key in row))
    columns = [Column(key, numeric=any(isinstance(row.get(key), int | float) for row in rows)) for key in keys]
    print_table(columns, [[_cell(row.get(key)) for key in keys] for row in rows], title=title)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _list(folder: str, as_json: bool) -> int:
    names = _bundled(folder)
    if as_json:
        print_json(names)
    else:
        print("\n".join(names))
    return 0


def _data_info(options: argparse.Namespace) -> int:
    if options.name is None:
        return _list("datasets", options.json)
    from riftsim.workload.datasets import describe

    facts = describe(options.name, data_dir=options.data_dir, verify=options.verify)
    if options.json:
        print_json(facts)
    else:
        print_table([Column("fact"), Column("value")], [(key, _cell(value)) for key, value in facts.items()])
    return 0


def _schema(options: argparse.Namespace) -> int:
    from riftsim.config.reference import json_schema, reference_markdown

    if options.markdown:
        print(reference_markdown(), end="")
    else:
        print_json(json_schema())
    return 0
