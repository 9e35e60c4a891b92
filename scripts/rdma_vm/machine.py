"""One guest: a QEMU process, the pipes of its ports and its end."""

import os
import signal
import subprocess
from pathlib import Path

from host import tool
from image import Image

_STREAMS = ("out", "err", "control")


class Machine:
    """A running guest; leaving its context ends it.

    Attributes
    ----------
    out, err, control : int
        File descriptors at which the guest's ports are read; they end with the guest.
    descriptor : int
        Readable once the guest has ended.
    started : bool
        Whether the command was started.
    exit_code : int or None
        Of the command, once the guest has told it.
    """

    def __init__(self, folder: Path, image: Image, settings, address: str):
        self.folder = folder
        self.started = False
        self.exit_code: int | None = None
        pipes = [os.pipe() for _ in _STREAMS]
        self.out, self.err, self.control = (read for read, _ in pipes)
        ends = [write for _, write in pipes]
        words = _qemu_words(folder, image, settings, dict(zip(_STREAMS, ends, strict=True)), address)
        # The guest dies with this process whatever ends it; a session of its own keeps Ctrl-C from reaching it first.
        self._process = subprocess.Popen(
            [tool("setpriv"), "--pdeathsig", "KILL", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "qemu.log").open("wb"),
            pass_fds=ends,
            start_new_session=True,
        )
        for end in ends:
            os.close(end)
        self.descriptor = os.pidfd_open(self._process.pid)

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.wait()
        os.close(self.descriptor)

    def kill(self) -> None:
        """End the guest at once, as a power cut."""
        self._process.send_signal(signal.SIGKILL)

    def console(self) -> str:
        """Return the last lines of QEMU's messages and of the guest's console."""
        lines = []
        for name in ("qemu.log", "console.log"):
            path = self.folder / name
            if path.exists():
                lines += path.read_text(errors="replace").splitlines()[-30:]
        return "\n".join(lines)


def _qemu_words(folder: Path, image: Image, settings, ends: dict[str, int], address: str) -> list[str]:
    # On a busy host the timer's interrupts come late, which the kernel would take for a broken board.
    kernel_line = "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off nokaslr random.trust_cpu=on"
    kernel_line += f" rdma_vm={folder}"
    words = [tool("qemu-system-x86_64"), "-machine", "q35", "-smp", str(settings.cpus), "-m", str(settings.ram_mib)]
    # numpy needs AVX2: emulated, "max" has it and the default does not.
    words += (
        ["-accel", "kvm", "-cpu", "host"] if settings.accel == "kvm" else ["-accel", "tcg,tb-size=512", "-cpu", "max"]
    )
    if settings.counts_instructions:
        words += ["-icount", "shift=0,sleep=off"]
    words += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    words += ["-kernel", str(image.kernel), "-initrd", str(image.initramfs), "-append", kernel_line]
    words += ["-serial", f"file:{folder}/console.log"]
    words += _share("root", Path("/"), "readonly=on,multidevs=remap")
    for number, path in enumerate(settings.writable):
        words += _share(f"keep{number}", path, "multidevs=remap")
    words += ["-device", "virtio-serial-pci"]
    for name, end in ends.items():
        words += ["-chardev", f"file,id={name},path=/proc/self/fd/{end},append=on"]
        words += ["-device", f"virtserialport,chardev={name},name={name}"]
    if settings.memory_command is not None:
        other = {"compute": "memory", "memory": "compute"}[folder.name]
        sockets = f"local.path={folder.parent}/{folder.name}.socket,remote.path={folder.parent}/{other}.socket"
        words += ["-netdev", f"dgram,id=net,local.type=unix,remote.type=unix,{sockets}"]
        mac = f"52:54:00:00:00:{int(address.rsplit('.', 1)[1]):02x}"
        words += ["-device", f"virtio-net-pci,netdev=net,mac={mac},romfile="]
    return words


def _share(tag: str, path: Path, options: str) -> list[str]:
    escaped = str(path).replace(",", ",,")
    return [
        *("-fsdev", f"local,id={tag},path={escaped},security_model=none,{options}"),
        *("-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
    ]
