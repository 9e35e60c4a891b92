"""Commands around an installation: init, doctor."""

import argparse
import sys
from pathlib import Path

from riftsim.cli.terminal import Column, print_json, print_table


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands of this module."""
    init = commands.add_parser("init", help="copy the quick start into a folder, to begin from")
    init.add_argument("directory", metavar="DIR", type=Path)
    init.set_defaults(command=_init)

    doctor = commands.add_parser("doctor", help="what is installed, processor, RDMA device, limits, space")
    doctor.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")
    doctor.set_defaults(command=_doctor)


def _init(options: argparse.Namespace) -> int:
    from riftsim.config.document import BUNDLED
    from riftsim.config.reference import json_schema
    from riftsim.errors import ConfigError
    from riftsim.files import atomic_write

    directory: Path = options.directory
    target = directory / "quickstart.yaml"
    schema = directory / "riftsim.schema.json"
    for path in (target, schema):
        if path.exists():
            raise ConfigError(f"{path}: is there already and is left as it is; expected a folder without it")
    try:
        with atomic_write(target) as partial:
            text = (BUNDLED / "quickstart.yaml").read_text(encoding="utf-8")
            partial.write_text(f"# yaml-language-server: $schema={schema.name}\n{text}", encoding="utf-8")
        with atomic_write(schema) as partial:
            import json

            partial.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{directory}: cannot be written: {error.strerror or error}") from None
    print(f"wrote {target} and {schema}\nnext: riftsim run {target}")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from riftsim.doctor import examine

    checks = examine()
    if options.json:
        print_json([{"topic": check.topic, "state": check.state, "text": check.text} for check in checks])
    else:
        print_table(
            [Column("topic"), Column("state"), Column("found", wraps=True)],
            [(c.topic, c.state, c.text) for c in checks],
        )
    broken = [check for check in checks if check.state == "broken"]
    if broken:
        print(f"riftsim: {len(broken)} check(s) found something broken", file=sys.stderr)
    return 1 if broken else 0
