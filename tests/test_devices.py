"""CPU devices and meshes; what depends on the start runs in a process."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import pytest
from releases import needs_axis_types, needs_count_option

from shardlessons import DevicesError, _jax, cpu_devices, cpu_mesh


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that has no device flag but these."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def answer(code: str, **variables: str) -> str:
    """What the code prints, when it prints nothing else and succeeds."""
    done = run(code, **variables)

    assert "" == done.stderr
    assert 0 == done.returncode
    return done.stdout.strip()


def complaint(code: str, **variables: str) -> str:
    """The last line of the traceback that the code ends with."""
    done = run(code, **variables)

    assert 1 == done.returncode
    return done.stderr.strip().splitlines()[-1]


def test_importing_the_package_imports_no_jax() -> None:
    code = "import shardlessons, sys; print('jax' in sys.modules)"

    assert "False" == answer(code)


def test_every_public_name_is_found_and_listed() -> None:
    code = (
        "import shardlessons as s; "
        "print(all(getattr(s, n) is not None for n in s.__all__), "
        "set(s.__all__) <= set(dir(s)), s.__version__)"
    )

    assert "True True 0.1.0" == answer(code)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    import shardlessons

    with pytest.raises(
        AttributeError,
        match="module 'shardlessons' has no attribute 'rad'",
    ):
        shardlessons.rad  # noqa: B018  the lookup itself is what is tested


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    import shardlessons

    assert version("shardlessons") == shardlessons.__version__


def test_eight_devices_are_made_in_a_fresh_process() -> None:
    code = (
        "import os, shardlessons, jax; "
        "found = shardlessons.cpu_devices(); "
        "print(len(found), jax.device_count(), 'XLA_FLAGS' in os.environ)"
    )

    assert "8 8 False" == answer(code)


def test_flags_of_the_reader_are_kept_as_they_are() -> None:
    flags = "--xla_cpu_enable_fast_math=false"
    code = (
        "import os, shardlessons; "
        "print(len(shardlessons.cpu_devices()), os.environ['XLA_FLAGS'])"
    )

    assert f"8 {flags}" == answer(code, XLA_FLAGS=flags)


def test_as_many_devices_are_made_as_asked() -> None:
    code = (
        "import shardlessons, jax; "
        "print(len(shardlessons.cpu_devices(3)), jax.device_count())"
    )

    assert "3 3" == answer(code)


def test_a_small_mesh_leaves_room_for_a_larger_one() -> None:
    code = (
        "from shardlessons import cpu_mesh; "
        "print(cpu_mesh({'data': 2}).size, "
        "cpu_mesh({'data': 4, 'model': 2}).size)"
    )

    assert "2 8" == answer(code)


def test_a_mesh_of_more_than_eight_devices_is_made() -> None:
    code = "from shardlessons import cpu_mesh; print(cpu_mesh({'x': 12}).size)"

    assert "12" == answer(code)


@pytest.mark.parametrize(
    "variables",
    [
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=16"},
        pytest.param(
            {"JAX_NUM_CPU_DEVICES": "16"}, marks=needs_count_option
        ),
    ],
    ids=["flag", "option"],
)
def test_more_devices_than_asked_for_are_respected(
    variables: dict[str, str],
) -> None:
    code = (
        "import shardlessons, jax; "
        "print([d.id for d in shardlessons.cpu_devices(3)], "
        "jax.device_count())"
    )

    assert "[0, 1, 2] 16" == answer(code, **variables)


def test_a_flag_of_just_enough_devices_is_respected_by_a_mesh() -> None:
    code = (
        "import jax; from shardlessons import cpu_mesh; "
        "print(cpu_mesh({'data': 2}).size, jax.device_count())"
    )
    flag = "--xla_force_host_platform_device_count=2"

    assert "2 2" == answer(code, XLA_FLAGS=flag)


def test_a_flag_of_too_few_devices_is_named() -> None:
    message = (
        "shardlessons._devices.DevicesError: 8 CPU devices were asked for, "
        "and JAX's CPU backend has 4: XLA_FLAGS has "
        "--xla_force_host_platform_device_count=4. The number cannot change "
        "once the backend has started: restart the process or kernel and "
        "change it to --xla_force_host_platform_device_count=8, or remove it."
    )
    flag = "--xla_force_host_platform_device_count=4"

    assert message == complaint(
        "import shardlessons; shardlessons.cpu_devices()", XLA_FLAGS=flag
    )


@needs_count_option
def test_an_option_of_too_few_devices_is_named() -> None:
    message = (
        "shardlessons._devices.DevicesError: 8 CPU devices were asked for, "
        "and JAX's CPU backend has 4: jax_num_cpu_devices is 4. The number "
        "cannot change once the backend has started: restart the process or "
        "kernel and set it to 8."
    )
    code = (
        "import jax, shardlessons; "
        "jax.config.update('jax_num_cpu_devices', 4); "
        "shardlessons.cpu_devices()"
    )

    assert message == complaint(code)


def test_a_backend_that_started_first_is_named() -> None:
    message = (
        "shardlessons._devices.DevicesError: 8 CPU devices were asked for, "
        "and JAX's CPU backend has 1: it started before this call. The "
        "number cannot change once the backend has started: restart the "
        "process or kernel and make this call before any jax operation."
    )
    code = (
        "import jax, shardlessons; jax.numpy.ones(3); "
        "shardlessons.cpu_mesh({'data': 4, 'model': 2})"
    )

    assert message == complaint(code)


def test_a_backend_that_started_with_enough_devices_serves() -> None:
    code = (
        "import jax, shardlessons; jax.numpy.ones(3); "
        "print(shardlessons.cpu_devices(1))"
    )

    assert "[CpuDevice(id=0)]" == answer(code)


def test_the_error_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match="9 CPU devices were asked for"):
        cpu_devices(9)

    assert issubclass(DevicesError, RuntimeError)


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "8", None])
def test_a_count_is_a_positive_int(count: object) -> None:
    with pytest.raises(ValueError) as error:
        cpu_devices(count)

    assert (
        f"the number of devices was given as {count!r}; it is an int, 1 or "
        "more"
    ) == str(error.value)


def test_a_mesh_has_its_devices_row_by_row() -> None:
    mesh = cpu_mesh({"a": 2, "b": 2, "c": 2})
    ids = [[[d.id for d in row] for row in plane] for plane in mesh.devices]

    assert [[[0, 1], [2, 3]], [[4, 5], [6, 7]]] == ids
    assert {"a": 2, "b": 2, "c": 2} == dict(mesh.shape)


@needs_axis_types
@pytest.mark.parametrize(
    ("explicit", "kinds"),
    [
        (False, ("Auto", "Auto")),
        (True, ("Explicit", "Explicit")),
        (["model"], ("Auto", "Explicit")),
        ({"data"}, ("Explicit", "Auto")),
        ("data", ("Explicit", "Auto")),
        ((), ("Auto", "Auto")),
    ],
)
def test_axes_are_auto_unless_named(
    explicit: object, kinds: tuple[str, ...]
) -> None:
    mesh = cpu_mesh({"data": 4, "model": 2}, explicit=explicit)

    assert kinds == tuple(kind.name for kind in mesh.axis_types)


def test_without_axis_types_none_can_be_explicit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_jax, "_AxisType", None)

    for explicit in (True, "data"):
        with pytest.raises(NotImplementedError) as error:
            cpu_mesh({"data": 4, "model": 2}, explicit=explicit)

        assert (
            "the mesh was to have Explicit axes, and jax "
            f"{jax.__version__} has none: jax.sharding.AxisType came in jax "
            "0.5.3; install that or a later one, or leave explicit out"
        ) == str(error.value)


def test_a_mesh_is_the_one_that_plain_jax_makes() -> None:
    kinds = {}
    if hasattr(jax.sharding, "AxisType"):
        kinds = {"axis_types": (jax.sharding.AxisType.Auto,) * 2}
    plain = jax.make_mesh(
        (4, 2), ("data", "model"), devices=jax.devices("cpu"), **kinds
    )

    assert plain == cpu_mesh({"data": 4, "model": 2})


def test_an_unknown_explicit_axis_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError) as error:
        cpu_mesh({"data": 4, "model": 2}, explicit=["modle"])

    assert (
        "explicit names the axis 'modle', which the mesh does not have; its "
        "axes are 'data', 'model'"
    ) == str(error.value)


def test_a_mesh_without_an_axis_is_refused() -> None:
    with pytest.raises(ValueError) as error:
        cpu_mesh({})

    assert (
        "a mesh needs an axis, and the shape given is empty; give sizes by "
        'name, as in {"data": 4, "model": 2}'
    ) == str(error.value)


@pytest.mark.parametrize("size", [0, -2, 2.0, False, None])
def test_a_size_is_a_positive_int(size: object) -> None:
    with pytest.raises(ValueError) as error:
        cpu_mesh({"data": size})

    assert (
        f"axis 'data' was given the size {size!r}; a size is an int, 1 or "
        "more"
    ) == str(error.value)
