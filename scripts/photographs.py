"""The photographs in Debian 12 packages from which make_sift_photos.py and make_deep_photos.py compute vectors.

Pictures come in a fixed order. Which are photographs is told by name where a package mixes them with drawings, and by
measure (share of flat pixel pairs, number of colours) elsewhere. Near-copies are left out by a difference hash. A
picture belongs to base, queries or calibration by a hash of its name.
"""

import hashlib
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sources import need_module

PHOTO_PACKAGES = {
    "plasma-workspace-wallpapers": "4:5.27.5-2",
    "mate-backgrounds": "1.26.0-1",
    "lxqt-themes": "1.2.0-1",
    "lomiri-wallpapers-16.04": "20.04.0-2",
    "lomiri-wallpapers-20.04": "20.04.0-2",
    "tuxpaint-stamps-default": "2022.06.04-1",
    "gcompris-qt-data": "3.1-2",
    "endless-sky-data": "0.9.8-1.2",
    "palapeli-data": "4:22.12.3-1",
    "stellarium-data": "0.22.2-1",
}
"""Version by package, of Debian 12."""

TEXTURE_PACKAGES = {
    "supertuxkart-data": "1.4+dfsg-2",
    "torcs-data": "1.3.7+dfsg-5",
    "naev-data": "0.8.2-1",
    "ufoai-textures": "2.5-2",
    "trigger-rally-data": "0.6.6.1-3",
}
"""Game textures: more base vectors, not all of photographs."""

_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".tga")
_MIN_SIDE = 180
_SAME_PICTURE_BITS = 24

_PHOTO_WALLPAPERS = frozenset(
    [
        "BytheWater",
        "ColdRipple",
        "ColorfulCups",
        "DarkestHour",
        "EveningGlow",
        "FallenLeaf",
        "Grey",
        "Kite",
        "OneStandsOut",
        "Path",
        "summer_1am",
        "Aqua",
        "Blinds",
        "Dune",
        "FreshFlower",
        "Garden",
        "GreenMeadow",
        "LadyBird",
        "RainDrops",
        "Storm",
        "TwoWings",
        "Wood",
        "YellowFlower",
        "Butterfly-Kenneth-Wimer",
        "Valendas",
        "after-the-rain",
        "appleflower",
        "beam",
        "butterfly",
        "cloud",
        "drop",
        "flowers",
        "fog",
        "this-is-not-windows",
        "Bridge_by_Sander_Klootwijk",
        "Dragonfly_by_Bolly",
        "Picture_0B_by_freespace",
        "Picture_1A_by_freespace",
        "Wine_by_Jakkub_Mede",
        "aitzgorri_by_Aitzol_Berasategi",
        "analogpattern_by_Peter_Nerlich",
        "free_by_Peter_Nerlich",
        "friends_by_Aitzol_Berasategi",
        "greentock_by_Peter_Nerlich",
        "life_by_Aitzol_Berasategi",
        "picosdeeuropa_by_Aitzol_Berasategi",
        "seeding_by_Clements_Engelhardt",
        "sunset_by_Aitzol_Berasategi",
        "Kleiber_by_Lukas_Baubkus",
    ]
)
_WALLPAPER_PACKAGES = frozenset(
    name for name in PHOTO_PACKAGES if "wallpapers" in name or name in ("mate-backgrounds", "lxqt-themes")
)
_GCOMPRIS_ARCHIVES = frozenset(
    [
        "explore_monuments",
        "erase",
        "explore_world_animals",
        "explore_farm_animals",
        "explore_world_music",
        "categorization",
        "clickgame",
        "lang",
    ]
)
_IN_FOLDER = {"stellarium-data": "/landscapes/", "endless-sky-data": "/images/land/"}


class Picture(NamedTuple):
    """A picture file, not yet decoded."""

    name: str
    """Path below the folder of packages; ``archive@offset`` or ``archive!member`` inside an archive."""
    package: str
    data: bytes


class Pixels(NamedTuple):
    """A decoded picture."""

    colour: np.ndarray
    """uint8 (height, width, 3), BGR."""
    opaque: np.ndarray | None
    """uint8 (height, width), 255 where opaque; None if all is."""


def pictures(folder: Path, packages: dict[str, str]) -> Iterator[Picture]:
    """Walk over the candidate pictures of unpacked packages in a fixed order."""
    for package in sorted(packages):
        for path in _regular_files(folder / package):
            name = path.relative_to(folder).as_posix()
            if package == "gcompris-qt-data":
                if path.suffix == ".rcc" and path.stem in _GCOMPRIS_ARCHIVES:
                    yield from _webp_in_resource(name, package, path.read_bytes())
            elif package == "ufoai-textures":
                if path.suffix == ".pk3":
                    yield from _textures_in_zip(name, package, path)
            elif path.suffix.lower() in _SUFFIXES and _is_wanted(name, package, path):
                yield Picture(name, package, path.read_bytes())


def part_of(picture: Picture) -> str:
    """Return ``"base"``, ``"query"`` or ``"calib"``; textures are always base."""
    if picture.package in TEXTURE_PACKAGES:
        return "base"
    draw = int(hashlib.sha1(picture.name.encode()).hexdigest(), 16) % 100
    return "query" if draw < 9 else "calib" if draw < 14 else "base"


def decode(data: bytes) -> Pixels | None:
    """Decode a picture; None if it is no 8-bit picture, too small, or nearly all transparent."""
    cv2 = need_module("cv2", "opencv-python-headless==5.0.0.93")
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None or image.dtype != np.uint8 or min(image.shape[:2]) < _MIN_SIDE:
        return None
    opaque = None
    if image.ndim == 3 and image.shape[2] == 4:
        alpha = image[:, :, 3]
        image = np.ascontiguousarray(image[:, :, :3])
        if alpha.min() < 250:
            opaque = (alpha > 250).astype(np.uint8) * 255
            if opaque.mean() < 25:
                return None
    if image.ndim == 2 or image.shape[2] == 1:
        image = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)
    return Pixels(image, opaque)


def looks_photographic(picture: Picture, pixels: Pixels) -> bool:
    """Tell photographs from drawings: few equal neighbours in a row, many colours (wallpapers were chosen by name)."""
    if picture.package in _WALLPAPER_PACKAGES:
        return True
    grey = grey_of(pixels)
    seen = np.ones(grey.shape, bool) if pixels.opaque is None else pixels.opaque > 0
    pairs = seen[:, 1:] & seen[:, :-1]
    flat = float((grey[:, 1:] == grey[:, :-1])[pairs].mean()) if pairs.any() else 1.0
    sample = pixels.colour[seen]
    sample = (sample[:: max(1, len(sample) // 200_000)] >> 3).astype(np.int32)
    colours = len(np.unique(sample @ np.array([1024, 32, 1])))
    return flat <= (0.3 if picture.package == "tuxpaint-stamps-default" else 0.5) and colours >= 150


def grey_of(pixels: Pixels) -> np.ndarray:
    """Return the grey values, uint8 (height, width)."""
    cv2 = need_module("cv2", "opencv-python-headless==5.0.0.93")
    return cv2.cvtColor(pixels.colour, cv2.COLOR_BGR2GRAY)


class CopyFilter:
    """Remembers pictures and recognises them again: the same bytes, or a difference hash that is nearly the same."""

    def __init__(self) -> None:
        self._bytes: set[str] = set()
        self._hashes = np.zeros((0, 32), np.uint8)

    def is_new_file(self, data: bytes) -> bool:
        """Tell whether these bytes are seen for the first time."""
        digest = hashlib.sha1(data).hexdigest()
        if digest in self._bytes:
            return False
        self._bytes.add(digest)
        return True

    def hash_of(self, grey: np.ndarray) -> np.ndarray:
        """Return the 256-bit difference hash of a picture, uint8 (32,)."""
        cv2 = need_module("cv2", "opencv-python-headless==5.0.0.93")
        small = cv2.resize(grey, (17, 16), interpolation=cv2.INTER_AREA)
        return np.packbits(small[:, 1:] > small[:, :-1])

    def is_copy(self, picture_hash: np.ndarray) -> bool:
        """Tell whether a kept picture differs in at most 24 bits."""
        if len(self._hashes) == 0:
            return False
        return int(np.bitwise_count(self._hashes ^ picture_hash).sum(axis=1).min()) <= _SAME_PICTURE_BITS

    def keep(self, picture_hash: np.ndarray) -> None:
        """Remember a picture that is used."""
        self._hashes = np.vstack([self._hashes, picture_hash[np.newaxis]])


def _regular_files(root: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(root):
        subfolders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if not path.is_symlink():
                yield path


def _is_wanted(name: str, package: str, path: Path) -> bool:
    if package == "plasma-workspace-wallpapers":
        return name.split("/")[4] in _PHOTO_WALLPAPERS and "/contents/images/" in name
    if package in _WALLPAPER_PACKAGES:
        return path.stem in _PHOTO_WALLPAPERS
    return _IN_FOLDER.get(package, "") in f"/{name}"


def _webp_in_resource(name: str, package: str, data: bytes) -> Iterator[Picture]:
    """Find the WebP files that a Qt resource archive holds uncompressed."""
    at = data.find(b"RIFF")
    while at >= 0:
        if data[at + 8 : at + 12] == b"WEBP":
            size = 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            yield Picture(f"{name}@{at}", package, data[at : at + size])
        at = data.find(b"RIFF", at + 4)


def _textures_in_zip(name: str, package: str, path: Path) -> Iterator[Picture]:
    maps = ("_nm.", "_sm.", "_gm.", "_rm.")
    with zipfile.ZipFile(path) as archive:
        for member in sorted(archive.namelist()):
            if member.lower().endswith(_SUFFIXES) and not any(kind in member for kind in maps):
                yield Picture(f"{name}!{member}", package, archive.read(member))
