"""Who a rank is, from the variables of each launcher; the scripts that start ranks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from doctor.fleet import launch
from doctor.fleet.rank import options as of
from doctor.fleet.rank.options import Options
from doctor.fleet.rank.place import NoPlace, place_of, placed

TORCHRUN = {
    "RANK": "11", "WORLD_SIZE": "16", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "8", "MASTER_ADDR": "n1",
    "MASTER_PORT": "1234", "TORCHELASTIC_RUN_ID": "x", "TORCHELASTIC_USE_AGENT_STORE": "True",
}  # fmt: skip


def test_torchrun() -> None:
    place = place_of(TORCHRUN)
    assert (place.rank, place.world, place.local_rank, place.local_world) == (11, 16, 3, 8)
    assert (place.address, place.port, place.agent_store, place.run) == ("n1", 1234, True, "x")


def test_srun_finds_the_first_host_itself() -> None:
    place = place_of({
        "SLURM_PROCID": "9", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "8(x2)",
        "SLURM_STEP_NODELIST": "gpu[07-08]", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0",
    })  # fmt: skip
    assert (place.rank, place.world, place.local_world, place.address) == (9, 16, 8, "gpu07")
    assert (place.run, place.agent_store) == ("77.0", False)


def test_mpirun_needs_to_be_told_where_rank_0_is() -> None:
    environ = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    with pytest.raises(NoPlace, match="MASTER_ADDR"):
        place_of(environ)
    assert place_of({**environ, "MASTER_ADDR": "a"}).address == "a"
    assert place_of({"PMI_RANK": "0", "PMI_SIZE": "1"}).world == 1


@pytest.mark.parametrize("environ", [{}, {"RANK": "x", "WORLD_SIZE": "2"}, {"RANK": "-1", "WORLD_SIZE": "2"}])
def test_no_place(environ: dict[str, str]) -> None:
    with pytest.raises(NoPlace):
        place_of(environ)


def test_nodes_with_a_launcher_each() -> None:
    local = {**TORCHRUN, "RANK": "3", "WORLD_SIZE": "8"}
    place = placed(place_of(local), 4, 2, "n1:29511")
    assert (place.rank, place.world, place.address, place.port, place.agent_store) == (19, 32, "n1", 29511, False)
    with pytest.raises(NoPlace):
        placed(place_of(local), 4, None, "n1:29511")
    with pytest.raises(NoPlace):
        placed(place_of(local), 4, 4, "n1:29511")


def test_options_come_back_from_their_command_line() -> None:
    for options in (
        Options(), Options(output="/a b", backend="gloo", limit_s=7.5, merge=False, soak_minutes=2.0),
        Options(nodes=3, node_rank=1, master="h:1", pair_bytes=4096, stages="BC"),
    ):  # fmt: skip
        assert of.parse(of.arguments(options)) == options


def test_a_wrong_command_line_of_a_rank_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        of.parse(["--limit", "-3"])
    assert ended.value.code == 3
    assert "--limit" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["a;b", "a,a", "", "$(x)", "-rf", "a\nb c\nb"])
def test_hosts_that_are_none(text: str) -> None:
    with pytest.raises(launch.BadHosts):
        launch.hosts_of(text)


@pytest.mark.parametrize("make", [launch.torchrun_script, launch.srun_script])
def test_scripts_are_valid_shell(make: object, tmp_path: Path) -> None:
    hosts = ("n1", "n2.example.net", "10.0.0.3")
    text = make(hosts, Options(output="/a folder/$x"), 8)  # type: ignore[operator]
    script = tmp_path / "fleet.sh"
    script.write_text(text)
    assert subprocess.run(["sh", "-n", str(script)], capture_output=True, check=False).returncode == 0
    assert "'/a folder/$x'" in text


def test_the_torchrun_script_finds_its_own_number(tmp_path: Path) -> None:
    for name, program in (("torchrun", 'echo "$@"'), ("hostname", "echo n2.cluster")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / name).chmod(0o755)
    script = tmp_path / "fleet.sh"
    script.write_text(launch.torchrun_script(("n1", "n2"), Options(), 8))
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, check=False, env=environ)
    assert "--node-rank 1" in done.stdout
    assert "--nodes 2 --master n1:29511" in done.stdout
    (tmp_path / "hostname").write_text("#!/bin/sh\necho other\n")
    assert subprocess.run(["sh", str(script)], capture_output=True, check=False, env=environ).returncode == 2
