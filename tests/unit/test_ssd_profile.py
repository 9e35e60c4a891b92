"""SSD profiles: the bundled ones, and files that are refused."""

import msgspec
import pytest

from riftsim import yaml_file
from riftsim.errors import ConfigError
from riftsim.storage.profile import list_ssd_profiles, load_ssd_profile


def content_of(name):
    content = msgspec.to_builtins(load_ssd_profile(name).file)
    for section in ("device", "host"):
        for constant in content[section].values():
            del constant["measured_ghz"]
    return content


def test_every_bundled_constant_has_a_source():
    assert list_ssd_profiles() == ["instant-ssd", "samsung-980pro", "unlimited-ssd"]
    for name in list_ssd_profiles():
        profile = load_ssd_profile(name)
        assert profile.name == name
        assert all(constant.source.strip() for _, _, constant in profile.constants())


def test_what_if_drives_differ_from_the_real_one_in_what_they_say():
    real, instant, unlimited = map(load_ssd_profile, ("samsung-980pro", "instant-ssd", "unlimited-ssd"))
    assert unlimited.unloaded_ps() == real.unloaded_ps()
    assert not unlimited.command_ps + unlimited.media_ps
    assert instant.command_ps == real.command_ps
    assert instant.ps_per_kib == real.ps_per_kib
    assert instant.unloaded_ps() - instant.command_ps - instant.transfer_ps(4096) < 1000
    host = ("submit_ps", "enter_ps", "poll_ps", "reap_ps")
    assert len({tuple(getattr(one, key) for key in host) for one in (real, instant, unlimited)}) == 1


@pytest.mark.parametrize(
    ("key", "changes", "message"),
    [
        ("read_ns", {"value": 100}, "device.read_ns: found 100, expected at least"),
        ("read_ns", {"unit": "us"}, "device.read_ns: found unit 'us', expected 'ns'"),
        ("media_ns", {"value": -1}, "device.media_ns: found -1"),
        ("units_count", {"value": 0}, "device.units_count: found 0, expected at least 1"),
        ("stripe_bytes", {"value": 5000}, "device.stripe_bytes: found 5000, expected a multiple of 4096"),
        ("command_ns", {"source": " "}, "device.command_ns: the source is empty"),
        ("rate_gbps", {"kind": "guessed"}, "Invalid enum value 'guessed'"),
    ],
)
def test_a_bad_constant_is_named_with_its_file(tmp_path, key, changes, message):
    content = content_of("samsung-980pro")
    content["device"][key].update(changes)
    path = tmp_path / "mine.yaml"
    path.write_text(yaml_file.dump(content))
    with pytest.raises(ConfigError) as refused:
        load_ssd_profile(path)
    assert "mine.yaml" in str(refused.value)
    assert message in str(refused.value)


def test_an_unknown_profile_names_those_that_there_are():
    with pytest.raises(ConfigError, match=r"drive: no profile 'samsung-980' \(did you mean 'samsung-980pro'"):
        load_ssd_profile("samsung-980")
