"""Commands that show what is there: profile, data, schema."""

import argparse
from pathlib import Path

from riftsim.cli.experiment import add_data_dir
from riftsim.cli.terminal import Column, print_json, print_table
from riftsim.units import format_bytes


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
    add_data_dir(info)
    info.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")
    info.set_defaults(command=_data_info)

    schema = commands.add_parser("schema", help="print the JSON Schema of experiment files, for editors")
    schema.set_defaults(command=_schema)


def _profile_show(options: argparse.Namespace) -> int:
    if options.name is None:
        from riftsim.rdma.profiles import list_profiles
        from riftsim.storage.profile import list_ssd_profiles

        return _print_names([*list_profiles(), *list_ssd_profiles()], options.json)
    from riftsim.rdma.description import describe
    from riftsim.storage.description import describe_ssd
    from riftsim.storage.profile import is_ssd_profile

    sections = (describe_ssd if is_ssd_profile(options.name) else describe)(options.name)
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
    columns = [
        Column(
            key,
            numeric=any(isinstance(row.get(key), int | float) for row in rows),
            wraps=any(len(str(row.get(key))) > 40 for row in rows),
        )
        for key in keys
    ]
    print_table(columns, [[_cell(row.get(key)) for key in keys] for row in rows], title=title)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _print_names(names: list[str], as_json: bool) -> int:
    if as_json:
        print_json(names)
    else:
        print("\n".join(names))
    return 0


def _data_info(options: argparse.Namespace) -> int:
    from riftsim.workload.locate import dataset_files

    if options.name is None:
        return _print_names(sorted(dataset_files(options.data_dir)), options.json)
    facts = _dataset_facts(options.name, options.data_dir, options.verify)
    if options.json:
        print_json(facts)
    else:
        print_table(
            [Column("fact"), Column("value", wraps=True)], [(key, _cell(value)) for key, value in facts.items()]
        )
    return 0


def _dataset_facts(name: str, data_dir: Path | None, verify: bool) -> dict[str, object]:
    """Read what a data-set file states and, if its files are there or must be checked, what they hold."""
    from riftsim.errors import DataError
    from riftsim.workload.datasets import load_dataset, verify_checksums
    from riftsim.workload.locate import find_folder, find_spec
    from riftsim.workload.spec import read_spec

    path = find_spec(name, data_dir)
    spec = read_spec(path)
    facts: dict[str, object] = {
        "name": spec.name,
        "description": spec.description,
        "licence": spec.licence,
        "file": str(path),
        "vectors": f"{spec.n:,} x {spec.dimension} {spec.dtype}",
        "metric": spec.metric,
    }
    if spec.synthetic is None:
        try:
            folder = find_folder(spec, path, data_dir)
        except DataError as error:
            if verify:
                raise
            return {**facts, "files": f"not found: {error}"}
        facts["folder"] = str(folder)
        for file in spec.files:
            facts[file] = format_bytes((folder / file).stat().st_size)
    if verify:
        checksums = verify_checksums(name, data_dir)
        data = load_dataset(name, data_dir=data_dir)
        facts |= {
            "checksums": ", ".join(f"{file}: {state}" for file, state in checksums.items()) or "none: generated",
            "evaluated queries": len(data.queries),
            "calibration queries": len(data.calibration),
            "ground truth": f"top {data.truth.ids.shape[1]}, agrees with the vectors",
            "fingerprint": data.fingerprint,
        }
    return facts


def _schema(options: argparse.Namespace) -> int:
    from riftsim.config.reference import json_schema

    print_json(json_schema())
    return 0
