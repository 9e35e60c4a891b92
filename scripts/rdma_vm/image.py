"""Kernel and initial file system of the guest, made once from Debian's kernel package and kept in a cache folder.

The initial file system holds a static busybox, the modules that mount the host's files, and a small module tree with
SoftRoCE and the network devices it can run on, which the guest keeps for modprobe.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from host import UnreadyHostError, tool

BOOT_MODULES = ("virtio_pci", "virtio_mmio", "virtio_console", "9pnet_virtio", "9p", "overlay")
# rdma_rxe asks the kernel's crypto table for crc32, which no module dependency tells.
GUEST_MODULES = ("rdma_rxe", "crc32_generic", "ib_uverbs", "rdma_ucm", "dummy", "veth", "virtio_net")
INIT = Path(__file__).parent / "guest" / "init"


class Image(NamedTuple):
    """Files that QEMU boots."""

    kernel: Path
    initramfs: Path


def cache_folder() -> Path:
    """Return ``rdma-vm`` in ``$RIFTSIM_CACHE_DIR``, else in ``riftsim`` in the user's cache folder."""
    configured = os.environ.get("RIFTSIM_CACHE_DIR")
    if configured:
        return Path(configured).resolve() / "rdma-vm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riftsim" / "rdma-vm"


def _folder() -> Path:
    recipe = hashlib.sha256(INIT.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:12]
    return cache_folder() / recipe


def is_made() -> bool:
    """Whether the image is in the cache folder."""
    return _folder().exists()


def guest_image() -> Image:
    """Return the image, downloading the kernel package (70 MB) and building the initial file system if needed.

    Raises
    ------
    UnreadyHostError
        If the package cannot be had.
    """
    folder = _folder()
    image = Image(folder / "vmlinuz", folder / "initramfs.cpio")
    if folder.exists():
        return image
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix="partial-") as partial:
                _make(Path(partial))
                (Path(partial) / "image").rename(folder)
    return image


def _make(work: Path) -> None:
    root = _unpack_kernel(work)
    version = next((root / "lib" / "modules").iterdir()).name
    _run(tool("depmod"), "-b", root, version)
    out = work / "image"
    out.mkdir()
    shutil.copy(root / "boot" / f"vmlinuz-{version}", out / "vmlinuz")
    tree = work / "tree"
    for folder in ("bin", "boot-modules", "proc", "sys", "dev", "host", "upper", "new"):
        (tree / folder).mkdir(parents=True)
    shutil.copy(tool("busybox"), tree / "bin" / "busybox")
    (tree / "bin" / "sh").symlink_to("busybox")
    shutil.copy(INIT, tree / "init")
    (tree / "init").chmod(0o755)
    boot = _module_files(root, version, BOOT_MODULES)
    for file in boot:
        shutil.copy(file, tree / "boot-modules")
    (tree / "boot-modules" / "order").write_text("".join(f"{file.name}\n" for file in boot))
    kept = tree / "lib" / "modules" / version
    for file in _module_files(root, version, GUEST_MODULES):
        target = kept / file.relative_to(root / "lib" / "modules" / version)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy(root / "lib" / "modules" / version / name, kept)
    _run(tool("depmod"), "-b", tree, version)
    names = "".join(f"{path.relative_to(tree)}\n" for path in sorted(tree.rglob("*")))
    with (out / "initramfs.cpio").open("wb") as archive:
        subprocess.run(
            [tool("cpio"), "-o", "-H", "newc", "--quiet"], cwd=tree, input=names.encode(), stdout=archive, check=True
        )


def _unpack_kernel(work: Path) -> Path:
    """Unpack the kernel on which the empty package linux-image-amd64 depends."""
    answer = _run(tool("apt-cache"), "depends", "linux-image-amd64")
    words = answer.replace(":", " ").split()
    package = next((word for word in words if word.startswith("linux-image-") and word[12].isdigit()), None)
    if package is None:
        raise UnreadyHostError(
            "apt knows no kernel behind linux-image-amd64; run apt-get update first (Debian's packages are needed)"
        )
    _run(tool("apt-get"), "-q", "-o", "APT::Sandbox::User=root", "download", package, folder=work)
    (file,) = work.glob("*.deb")
    root = work / "root"
    _run(tool("dpkg-deb"), "-x", file, root)
    file.unlink()
    return root


def _module_files(root: Path, version: str, names: tuple[str, ...]) -> list[Path]:
    """Return the files of modules and of what they need, in the order of loading."""
    files: dict[Path, None] = {}
    for name in names:
        for line in _run(tool("modprobe"), "-d", root, "-S", version, "--show-depends", name).splitlines():
            action, *rest = line.split()
            if action == "insmod":
                files[Path(rest[0])] = None
    return list(files)


def _run(*words: str | Path, folder: Path | None = None) -> str:
    answer = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    if answer.returncode:
        shown = " ".join(str(word) for word in words)
        raise UnreadyHostError(f"{shown} failed with {answer.returncode}:\n{answer.stderr[-2000:]}")
    return answer.stdout
