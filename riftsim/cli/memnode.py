"""The command of a memory node: serve."""

import argparse

from riftsim.cli.experiment import add_data_dir, add_experiment


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the command of this module."""
    memnode = commands.add_parser("memnode", help="serve the records of an index over RDMA")
    actions = memnode.add_subparsers(title="actions", metavar="ACTION", required=True)
    serve = actions.add_parser("serve", help="register the records of an experiment's index, then sleep")
    add_experiment(serve)
    add_data_dir(serve)
    serve.add_argument(
        "--shard", metavar="I/N", type=_shard, default=None, help="part I (from 0) of an index over N memory nodes"
    )
    serve.add_argument(
        "--listen", metavar="HOST:PORT", default="0.0.0.0:7471", help="where compute nodes ask (default: %(default)s)"
    )
    serve.add_argument("--device", metavar="NAME", default=None, help="RDMA device (default: the first)")
    serve.add_argument("--port", metavar="N", type=int, default=1, help="port of the device (default: 1)")
    serve.add_argument("--gid-index", metavar="N", type=int, default=None, help="GID (default: RoCE v2 with IPv4)")
    serve.add_argument("--huge-pages", action="store_true", help="keep the records in huge pages")
    serve.add_argument(
        "--outstanding-reads", metavar="N", type=int, default=None, help="per queue pair (default: the device's limit)"
    )
    serve.set_defaults(command=_serve)


def _shard(text: str) -> tuple[int, int]:
    part, slash, parts = text.partition("/")
    if not slash or not part.isdigit() or not parts.isdigit():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected I/N, for example 0/2")
    return int(part), int(parts)


def _serve(options: argparse.Namespace) -> int:
    from riftsim.assembly.live import make_memory_node
    from riftsim.config.sweep import load_experiment
    from riftsim.errors import ConfigError
    from riftsim.memnode.server import MemoryNodeSettings
    from riftsim.rdma.device import DeviceChoice
    from riftsim.units import format_bytes

    experiment = load_experiment(options.file, options.set)
    if len(experiment.points) != 1:
        raise ConfigError(
            f"{experiment.source}: found a sweep of {len(experiment.points)} points, expected one configuration; "
            "fix its keys with --set"
        )
    settings = MemoryNodeSettings(
        listen=options.listen,
        device=DeviceChoice(options.device, options.port, options.gid_index),
        pages="huge" if options.huge_pages else "anonymous",
        outstanding_reads=options.outstanding_reads,
    )
    node = make_memory_node(experiment.points[0].config, options.shard, settings, data_dir=options.data_dir)
    try:
        node.stop_on_signals()
        described = node.descriptor
        _say(
            f"memory node {described.content['shard']} of {described.content['shards']}: "
            f"{format_bytes(described.size_bytes)} registered on {described.device}; listening on {node.address}"
        )
        node.serve(_say)
    finally:
        node.close()
    _say("memory node: closed")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)
