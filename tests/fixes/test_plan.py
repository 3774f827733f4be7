"""From findings to one plan, and its script."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from doctor.checks.runner import judge
from doctor.fixes.actions import BUILDERS, TORCH
from doctor.fixes.plan import plan, script
from doctor.fixes.situation import as_found
from doctor.knowledge import lookup
from doctor.knowledge.choosing import avoiding
from doctor.model.facts import ABSENT, DamagedFile, Facts, Held, Package, StartFailure
from doctor.model.fix import Plan
from tests.examples import linux, mac, windows, with_amd, with_nvidia, with_packages, with_torch
from tests.fixes.situations import finding
from tests.table import table

PY = "/home/u/ml/.venv/bin/python"
WHL = "https://download.pytorch.org/whl/"
TOO_OLD = finding(
    "nvidia-driver-too-old", ("upgrade-driver", {"minimum": "525.60.13"}), "reinstall-torch", layer="driver"
)
CPU_ONLY = finding("torch-cpu-only", "reinstall-torch")
MISSING = finding("torch-missing", "install-torch")
BROKEN = finding("torch-install-broken", "reinstall-torch")


def rtx(driver: object = "580.95.05", on: Facts | None = None) -> Facts:
    return with_nvidia(on or linux(), "NVIDIA GeForce RTX 3090", driver=driver)  # type: ignore[arg-type]


def without_torch(facts: Facts) -> Facts:
    return replace(facts, torch=ABSENT)


def lines(made: Plan, *, windows: bool = False) -> list[str]:
    return script(made, windows=windows).splitlines()


def commands(made: Plan) -> list[list[str]]:
    return [shlex.split(line) for line in lines(made) if not line.startswith("#")]


def test_driver_too_old() -> None:
    made = plan([TOO_OLD], with_torch(rtx("470.256.02"), "2.6.0+cu124"))
    (fix,) = made.fixes
    assert fix.action == "upgrade-driver"
    assert fix.details["minimum"] == "525.60.13"
    assert [step.needs_root for step in fix.steps] == [True, False]
    assert fix.steps[-1].needs_reboot
    assert fix.alternatives[0].details == {"torch": "2.6.0", "backend": "cu118", "index": WHL + "cu118"}
    assert commands(made) == [["sudo", "ubuntu-drivers", "install", "nvidia:580"]]
    assert lines(made)[-1] == "# Restart the machine"


def test_the_price_of_a_fix_and_of_its_alternatives() -> None:
    facts = with_packages(with_torch(rtx("470.256.02"), "2.6.0+cu124"), torchvision="0.21.0")
    (fix,) = plan([TOO_OLD], facts).fixes
    assert (fix.needs_root, fix.needs_reboot, fix.downloads_mb) == (True, True, None)
    other = fix.alternatives[0]
    assert (other.needs_root, other.needs_reboot, other.changes) == (False, False, ("torchvision 0.21.0",))
    assert other.downloads_mb is None  # no source tells the size of 2.7.1 (cu118)


def test_downloads_are_told_where_they_are_known() -> None:
    (fix,) = plan([MISSING], without_torch(rtx())).fixes
    assert fix.downloads_mb == fix.steps[-1].downloads_mb == lookup.download_mb("2.15.0", "cu132", "linux_x86_64")
    conda = replace(rtx().interpreter, environment="conda", manager="conda", prefix="/c/envs/ml")
    (fix,) = plan([MISSING], replace(without_torch(rtx()), interpreter=conda)).fixes
    assert fix.details["index"] == "conda-forge"
    assert fix.downloads_mb is None


def test_driver_too_old_where_no_other_build_serves() -> None:
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="470.256.02"), "2.6.0+cu124")
    (fix,) = plan([TOO_OLD], facts).fixes
    assert fix.action == "upgrade-driver"
    assert fix.alternatives == ()


def test_cpu_build_keeps_its_version_and_moves_its_companions() -> None:
    facts = with_packages(with_torch(rtx("550.54.14"), "2.6.0+cpu"), torchvision="0.21.0+cpu")
    made = plan([CPU_ONLY], facts)
    assert made.fixes[0].details == {"torch": "2.6.0", "backend": "cu124", "index": "default"}
    assert commands(made) == [
        [PY, "-m", "pip", "uninstall", "-y", "torch", "torchvision"],
        [PY, "-m", "pip", "install", "torch==2.6.0", "torchvision==0.21.0"],
    ]


def test_a_version_that_no_longer_serves_is_not_kept() -> None:
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 1080", driver="580.95.05"), "2.15.0")
    made = plan([finding("gpu-too-old-for-build", "reinstall-torch")], facts)
    assert made.fixes[0].details == {"torch": "2.14.1", "backend": "cu126", "index": WHL + "cu126"}


def test_a_broken_install_keeps_its_build_and_is_removed_first() -> None:
    made = plan([finding("torch-install-broken", "reinstall-torch")], with_torch(rtx(), "2.6.0+cu118"))
    assert made.fixes[0].details == {"torch": "2.6.0", "backend": "cu118", "index": WHL + "cu118"}
    assert commands(made)[0][3] == "uninstall"


def test_missing() -> None:
    made = plan([MISSING], without_torch(rtx()))
    assert commands(made) == [[PY, "-m", "pip", "install", "torch==2.15.0"]]
    assert made.fixes[0].steps[0].verify


def test_missing_and_no_driver_either() -> None:
    """The driver's own finding brings the driver; torch is chosen for the machine as it will be."""
    no_driver = finding("nvidia-driver-missing", "install-driver", layer="driver")
    made = plan([no_driver, MISSING], without_torch(rtx(ABSENT)))
    assert [f.action for f in made.fixes] == ["install-driver", "install-torch"]
    assert made.fixes[1].details["backend"] == "cu132"


def test_missing_where_only_a_driver_would_help() -> None:
    (fix,) = plan([MISSING], without_torch(rtx(ABSENT))).fixes
    assert (fix.action, fix.details["minimum"], fix.details["backend"]) == ("install-driver", "580", "cu132")
    assert fix.steps[-1].argv is not None
    assert fix.alternatives[0].details["backend"] == "cpu"


def test_a_torch_for_a_new_driver_is_not_newer_than_that_driver_can_run() -> None:
    both = [finding("nvidia-driver-too-old", ("upgrade-driver", {"minimum": "525.60.13"}), layer="driver"), MISSING]
    made = plan(both, without_torch(rtx("470.256.02")))
    assert made.fixes[1].details["backend"] == "cu126"


def test_no_pip_in_the_environment() -> None:
    facts = without_torch(rtx())
    facts = replace(facts, interpreter=replace(facts.interpreter, pip=ABSENT))
    assert commands(plan([MISSING], facts))[0] == [PY, "-m", "ensurepip", "--upgrade"]


def damaged(facts: Facts, *distributions: str) -> Facts:
    files = (DamagedFile(distribution=name, version="1.2", file=f"{name}/a.so", what="empty") for name in distributions)
    return replace(facts, damaged=tuple(files))


def test_a_damaged_pip_makes_room_for_another() -> None:
    """ensurepip takes the metadata of the damaged one for a pip, and leaves it."""
    site = "/home/u/ml/.venv/lib/python3.12/site-packages"
    pip = Package(name="pip", version="24.0", path=site)
    facts = replace(damaged(without_torch(rtx()), "pip"), packages=(pip,))
    remove, again, install = commands(plan([MISSING], facts))
    assert remove[:2] == [PY, "-c"]
    assert remove[3:] == [f"{site}/pip", f"{site}/pip-24.0.dist-info"]
    assert again == [PY, "-m", "ensurepip", "--upgrade"]
    assert install[:4] == [PY, "-m", "pip", "install"]


def test_a_broken_cuda_build_on_a_machine_without_a_gpu_stays_a_cuda_build() -> None:
    """A login node, or an image that is built here and runs elsewhere."""
    facts = replace(with_torch(linux(), "2.14.1+cu130"), gpus=(), live=True)
    (fix,) = plan([BROKEN], facts).fixes
    assert fix.details == {"torch": "2.14.1", "backend": "cu130", "index": "default"}
    assert fix.title == "Reinstall torch 2.14.1 (cu130)."


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_broken_files_are_installed_again_past_the_cache_with_those_of_the_packages_beside(tool: str) -> None:
    """uv links the files of its cache: what was damaged here is damaged there."""
    facts = replace(damaged(with_torch(linux(), "2.14.1+cu130"), "torch", "nvidia-cudnn-cu13"), gpus=(), live=True)
    found = [f for f in judge(facts)[1] if f.id == "torch-install-broken"]
    *_, last = printed = commands(plan(found, facts, tool=tool))
    assert "--no-cache-dir" in last
    if tool == "pip":
        assert printed[0][-2:] == ["torch", "nvidia-cudnn-cu13"]
    else:
        assert last.count("--reinstall-package") == 2
        assert "nvidia-cudnn-cu13" in last


def test_a_managed_system_python_gets_an_environment() -> None:
    facts = without_torch(rtx())
    interpreter = replace(
        facts.interpreter, environment="system", externally_managed=True, executable="/usr/bin/python3"
    )
    made = commands(plan([MISSING], replace(facts, interpreter=interpreter)))
    assert made[0] == ["/usr/bin/python3", "-m", "venv", ".venv"]
    assert made[1][0] == ".venv/bin/python"
    assert made[-1] == [".", ".venv/bin/activate"]


def test_rosetta_cures_what_follows() -> None:
    rosetta = finding(
        "python-under-rosetta", ("replace-interpreter", {"arch": "arm64", "python": ">=3.9"}), layer="interpreter"
    )
    old = finding("torch-too-old", ("upgrade-torch", {"torch": ">=2.6"}))
    (fix,) = plan([rosetta, old], with_torch(mac(rosetta=True), "2.2.2")).fixes
    assert fix.details == {"python": "3.12", "arch": "arm64", "torch": "2.15.0", "backend": "mps", "index": "default"}
    assert fix.also_cures == ("torch-too-old",)
    assert ["uv", "venv", "--python", "cpython-3.12-macos-aarch64-none", ".venv-3.12"] in commands(Plan(fixes=(fix,)))


NATIVE = finding("python-under-rosetta", ("replace-interpreter", {"arch": "arm64"}), layer="interpreter")


def test_a_new_interpreter_keeps_the_version_where_the_newest_torch_has_wheels_for_it() -> None:
    facts = mac(rosetta=True)
    found = []
    for version in ("3.12.4", "3.9.18"):
        old = replace(facts, interpreter=replace(facts.interpreter, version=version))
        (fix,) = plan([NATIVE], with_torch(old, "2.2.2")).fixes
        found.append((fix.details["python"], fix.details["torch"]))
    assert found == [("3.12", "2.15.0"), ("3.14", "2.15.0")]


def test_a_new_interpreter_gets_the_companions_and_says_what_is_left_to_do() -> None:
    facts = with_packages(with_torch(mac(rosetta=True), "2.2.2"), torchvision="0.17.2", numpy="1.26.4")
    (fix,) = plan([NATIVE], facts).fixes
    assert "torchvision" in " ".join(fix.steps[2].argv or ())
    assert "pip freeze" in fix.steps[3].text
    assert fix.steps[4].shell == ". .venv-3.12/bin/activate"
    bare = with_packages(with_torch(mac(rosetta=True), "2.2.2"), pip="24.0", torchvision="0.17.2")
    assert not [s for fix in plan([NATIVE], bare).fixes for s in fix.steps if "freeze" in s.text]


def test_the_title_says_what_is_replaced() -> None:
    (other,) = plan([CPU_ONLY], with_torch(rtx(), "2.14.1+cpu")).fixes
    assert other.title == "Replace torch 2.14.1+cpu with torch 2.14.1 (cu130)."
    broken = finding("torch-install-broken", "reinstall-torch")
    (same,) = plan([broken], with_torch(rtx(), "2.14.1+cu130")).fixes
    assert same.title == "Reinstall torch 2.14.1 (cu130)."
    beside = with_packages(with_torch(rtx(), "2.14.1+cu130"), torchvision="0.28.0")
    (same,) = plan([broken], beside).fixes
    assert same.title == "Reinstall torch 2.14.1 (cu130)."


def test_conda_under_rosetta_makes_an_environment_for_arm64() -> None:
    made = commands(plan([NATIVE], with_torch(mac(rosetta=True), "2.2.2"), tool="conda"))
    assert made[0][:4] == ["conda", "create", "--platform", "osx-arm64"]
    assert ["conda", "install", "-p", ".venv-3.12"] in [words[:4] for words in made]
    assert made[-1] == ["conda", "activate", "./.venv-3.12"]


def test_python_within_a_specifier() -> None:
    wish = finding("python-unsupported", ("replace-interpreter", {"python": ">=3.9,<3.13"}), layer="interpreter")
    (fix,) = plan([wish], without_torch(rtx(on=linux(python="3.16.0")))).fixes
    assert fix.details["python"] == "3.12"


def test_two_torch_findings_become_one_fix() -> None:
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 1080", driver="580.95.05"), "2.15.0")
    wrong, old = (
        finding("gpu-too-old-for-build", "reinstall-torch"),
        finding("b", ("downgrade-torch", {"torch": "<2.14"})),
    )
    (fix,) = plan([wrong, old], facts).fixes
    assert (fix.finding, fix.also_cures) == ("gpu-too-old-for-build", ("b",))
    assert fix.details["torch"] == "2.13.0"


def test_two_torch_findings_that_exclude_each_other() -> None:
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 1080", driver="580.95.05"), "2.15.0")
    wrong, bug = (
        finding("gpu-too-old-for-build", "reinstall-torch"),
        finding("b", ("upgrade-torch", {"torch": ">=2.15"})),
    )
    made = plan([wrong, bug], facts)
    assert [f.finding for f in made.fixes] == ["gpu-too-old-for-build"]
    assert made.unfixed[0][0] == "b"


def test_consequences_and_notes_get_no_fix_of_their_own() -> None:
    consequence = finding("torch-cpu-only", "reinstall-torch", explained_by="nvidia-driver-too-old")
    note = finding("precision-reduced", ("set-env", {"name": "A", "value": "1"}), severity="note")
    known = finding("no-accelerator", ("none", {"reason": "There is only a CPU."}), severity="note")
    made = plan([consequence, note, known], with_torch(rtx(), "2.6.0"))
    assert [(f.finding, f.action) for f in made.fixes] == [("no-accelerator", "none")]


def test_the_same_action_appears_once() -> None:
    made = plan([finding("a", "reboot"), finding("b", "reboot")], linux())
    assert [(f.finding, f.also_cures) for f in made.fixes] == [("a", ("b",))]


def test_of_two_drivers_the_newer() -> None:
    one = finding("a", ("upgrade-driver", {"minimum": "525.60.13"}))
    two = finding("b", ("upgrade-driver", {"minimum": "570"}))
    (fix,) = plan([one, two], rtx("470.256.02")).fixes
    assert (fix.finding, fix.details["minimum"], fix.also_cures) == ("a", "570", ("b",))


def test_at_most_three_alternatives() -> None:
    wishes = [("set-env", {"name": n, "value": "1"}) for n in "ABCDE"]
    (fix,) = plan([finding("a", *wishes)], linux()).fixes
    assert [a.details["name"] for a in fix.alternatives] == ["B", "C", "D"]
    assert all(a.alternatives == () for a in fix.alternatives)


def test_a_derived_build_is_never_printed_without_saying_so() -> None:
    facts = with_torch(with_amd(linux(), "AMD Radeon RX 7900 XTX"), "2.15.0")
    made = plan([finding("torch-wrong-backend", "reinstall-torch")], facts)
    assert any(line.lstrip("# '").startswith("Assumed: that torch") for line in lines(made))
    assert made.fixes[0].alternatives[0].details["torch"] == "2.14.1"


def test_amd_on_windows_goes_to_amds_index() -> None:
    facts = with_torch(with_amd(windows(), "AMD Radeon RX 7900 XTX"), "2.15.0+cpu")
    made = plan([CPU_ONLY], facts)
    assert (
        '"torch[device-gfx1100]" --index-url https://repo.amd.com/rocm/whl-multi-arch/' in lines(made, windows=True)[-1]
    )


def test_an_override_goes_with_its_build() -> None:
    made = plan([MISSING], without_torch(with_amd(linux(), "AMD Radeon RX 6700 XT")))
    assert lines(made)[-1] == "export HSA_OVERRIDE_GFX_VERSION=10.3.0"


def test_nothing_wrong() -> None:
    assert plan([], linux()) == Plan()
    assert script(Plan()) == ""


def test_a_finding_without_remedies_is_unfixed() -> None:
    assert plan([finding("a")], linux()).unfixed[0][0] == "a"


# --- the whole vocabulary ---

DETAILS = {
    "package": "numpy",
    "spec": "<2",
    "name": "A",
    "value": "1",
    "minimum": "999.0",
    "python": "3.11",
    "module": "nvidia",
    "service": "nvidia-fabricmanager",
    "flag": "--gpus all",
    "groups": "render,video",
    "path": "/x/torch.py",
    "index": WHL + "cu118",
    "setting": "s",
    "build": "b",
    "reason": "r",
}


@pytest.mark.parametrize("system", ["linux", "mac", "windows"])
@table("action", [*TORCH, *BUILDERS])
def test_every_action_makes_a_fix(action: str, system: str) -> None:
    facts = {"linux": rtx(), "mac": mac(), "windows": rtx("581.29", on=windows())}[system]
    facts = replace(with_torch(facts, "2.6.0"), environ={"A": "0"})
    details = {k: v for k, v in DETAILS.items() if action not in TORCH}
    made = plan([finding("torch-install-broken", (action, details))], facts)
    if action == "load-module" and system != "linux":  # no such modules there
        assert not made.fixes
        assert made.unfixed[0][1]
        return
    (fix,) = made.fixes
    assert fix.action in (action, "use-other-build")
    assert fix.title.endswith((".", "r"))
    assert fix.steps or action == "none"
    assert script(made, windows=system == "windows").endswith("\n")


def test_the_vocabulary_is_the_designs() -> None:
    assert len(set(BUILDERS) | set(TORCH)) == len(BUILDERS) + len(TORCH) == 42


# --- hostile details ---

EVIL = "x'; touch /tmp/owned #\nid\r\u2028id"


@pytest.mark.parametrize("as_windows", [False, True])
@table("action", BUILDERS)
def test_no_detail_becomes_a_command(action: str, as_windows: bool) -> None:
    facts = with_torch(windows() if as_windows else linux(), "2.6.0")
    interpreter = replace(facts.interpreter, executable=EVIL)
    made = plan([finding("a", (action, dict.fromkeys(DETAILS, EVIL)))], replace(facts, interpreter=interpreter))
    for line in lines(made, windows=as_windows):
        assert line.isprintable()
        assert line.startswith("#") or EVIL.splitlines()[0] not in line or "''" in line or "'\"'\"'" in line


def test_a_companion_that_the_new_torch_brings_along_is_not_put_back_to_the_old_build() -> None:
    facts = with_packages(with_torch(rtx(), "2.6.0+cpu"), torchvision="0.21.0+cu124")
    mismatch = finding("companion-mismatch", ("reinstall-package", {"package": "torchvision"}), layer="libraries")
    (fix,) = plan([CPU_ONLY, mismatch], facts).fixes
    assert any("torchvision==0.21.0" in (step.argv or ()) for step in fix.steps)
    assert (fix.finding, fix.also_cures) == ("torch-cpu-only", ("companion-mismatch",))
    other = finding("companion-mismatch", ("reinstall-package", {"package": "torchtext"}), layer="libraries")
    assert "companion-mismatch" not in plan([CPU_ONLY, other], facts).fixes[0].also_cures


def test_a_companion_of_the_default_build_needs_no_index() -> None:
    def command(version: str) -> str:
        facts = with_packages(with_torch(linux(python="3.11.7"), version, cuda_available=False), torchvision="0.28.0")
        _, findings = judge(facts)
        return script(plan(findings, facts))

    assert "torchvision==0.29.1\n" in command("2.14.1+cu130")
    assert "torchvision==0.29.1 --index-url https://download.pytorch.org/whl/cu126" in command("2.14.1+cu126")


@pytest.mark.parametrize(
    ("os_id", "package", "line"),
    [
        ("ubuntu", "nvidia-utils-525", "sudo apt remove --autoremove nvidia-utils-525"),
        (None, "libnvidia-compute-525", "sudo apt remove --autoremove libnvidia-compute-525"),
        ("fedora", "nvidia-utils-525", "# 'Remove nvidia-utils-525 with the distribution’s package manager'"),
    ],
)
def test_a_driver_package_inside_wsl_goes_by_the_systems_package_manager(
    os_id: str | None, package: str, line: str
) -> None:
    facts = linux(os_id=os_id, wsl=2)
    made = script(plan([finding("wsl-driver-misconfigured", ("remove-package", {"package": package}))], facts))
    assert made.splitlines() == [line]


def test_back_means_to_an_older_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the installed one is not known and the machine forces no older one, there is no way back to name."""
    monkeypatch.setattr(avoiding, "grave", lambda *_: [])  # no release is passed over for its errata
    older = finding("a", ("upgrade-os", {}), "downgrade-torch")
    unknown = replace(rtx(), torch=None)
    assert [f.alternatives for f in plan([older], unknown).fixes] == [()]
    (fix,) = plan([older], with_torch(rtx(), "2.14.1")).fixes
    assert [a.details["torch"] for a in fix.alternatives] == ["2.14.0"]
    old_glibc = linux(libc="glibc", libc_version="2.17")
    (fix,) = plan([older], replace(old_glibc, torch=None)).fixes
    assert [a.details["torch"] for a in fix.alternatives] == ["2.6.0"]


def test_an_alternative_is_another_command() -> None:
    wrong = finding(
        "index-misconfigured", ("fix-index", {"torch": "==2.6.0", "backend": "cu124"}),
        ("install-torch", {"torch": "==2.6.0", "backend": "cu124"}), layer="install",
    )  # fmt: skip
    (fix,) = plan([wrong], without_torch(rtx())).fixes
    assert fix.action == "fix-index"
    assert fix.alternatives == ()


# ---- what a ticket leaves open


def ticket(**host: object) -> Facts:
    """A ticket that says nothing but that."""
    return replace(Facts(), live=False, host=replace(Facts().host, **host))


def test_a_torch_of_which_nothing_is_known_makes_room_first() -> None:
    """pip takes torch 2.1.2+cpu for good enough when it is told to install torch==2.1.2."""
    (fix,) = plan([finding("torch-cpu-only", "reinstall-torch")], ticket(system="linux")).fixes
    assert fix.action == "reinstall-torch"
    assert fix.title.startswith("Replace the installed torch with torch ")
    assert next(step.argv[3:] for step in fix.steps if step.argv) == ("uninstall", "-y", "torch")
    (fix,) = plan([MISSING], ticket(system="linux")).fixes
    assert [step.argv[3] for step in fix.steps if step.argv] == ["install"]


def test_a_package_of_a_ticket_is_removed_before_it_is_installed_again() -> None:
    wish = finding("companion-mismatch", ("reinstall-package", {"package": "torchtext"}))
    assert [argv[3] for argv in commands(plan([wish], ticket(system="linux")))] == ["uninstall", "install"]
    assert [argv[3] for argv in commands(plan([wish], with_packages(with_torch(linux(), "2.6.0"), numpy="2.1.3")))] == [
        "install"
    ]
    wish = finding("extension-abi-mismatch", ("reinstall-package", {"package": "bitsandbytes"}))
    (argv,) = commands(plan([wish], ticket(system="linux"), tool="conda"))
    assert argv == ["conda", "install", "--force-reinstall", "-c", "conda-forge", "bitsandbytes"]


@pytest.mark.parametrize(
    ("id", "system", "architecture", "backend"),
    [
        ("mps-wrong-results", "darwin", None, "mps"),
        ("intel-mac", "darwin", "x86_64", "cpu"),
        ("python-under-rosetta", "darwin", None, "mps"),
    ],
)
def test_a_finding_says_which_system_it_is(id: str, system: str, architecture: str | None, backend: str) -> None:
    facts = as_found(ticket(), [finding(id)])
    assert (facts.host.system, facts.host.architecture) == (system, architecture)
    (fix,) = plan([finding(id, ("install-torch", {"torch": "<=2.2.2"}))], ticket()).fixes
    assert fix.details["backend"] == backend
    assert as_found(ticket(system="linux"), [finding(id)]).host.system == "linux", "what is known stands"


def test_no_command_for_a_python_whose_name_is_the_others() -> None:
    wish = finding("wrong-environment", ("activate-environment", {"path": "python3"}), "install-torch")
    (fix,) = plan([wish], ticket(system="linux")).fixes
    assert fix.alternatives == ()
    wish = finding("wrong-environment", ("activate-environment", {"path": "/opt/conda/bin/python"}), "install-torch")
    (fix,) = plan([wish], ticket(system="linux")).fixes
    assert len(fix.alternatives) == 1


def test_to_pin_torch_is_no_alternative_to_installing_it() -> None:
    wish = finding(
        "intel-mac", ("install-torch", {"torch": "<=2.2.2"}), ("pin-package", {"package": "torch", "spec": "<=2.2.2"})
    )
    (fix,) = plan([wish], ticket()).fixes
    assert fix.alternatives == ()


def test_torch_has_another_name_at_conda_forge() -> None:
    wish = finding("intel-mac", ("pin-package", {"package": "torch", "spec": "<=2.2.2"}))
    (argv,) = commands(plan([wish], ticket(), tool="conda"))
    assert argv[-1] == "pytorch<=2.2.2"


@pytest.mark.parametrize(
    ("tool", "spec", "printed"), [("pip", "==12.4.*", 0), ("conda", "==11.7.*", 0), ("conda", "==12.4.*", 1)]
)
def test_nvcc_is_a_package_of_conda_forge(tool: str, spec: str, printed: int) -> None:
    wish = finding("cuda-toolkit-mismatch", ("install-package", {"package": "cuda-nvcc", "spec": spec}))
    made = plan([wish], ticket(system="linux"), tool=tool)
    assert len(commands(made)) == printed
    assert printed or "cuda-toolkit-archive" in script(made)


@pytest.mark.parametrize("tool", ["pip", "uv", "conda", "poetry"])
def test_a_flag_that_is_promised_is_in_the_command(tool: str) -> None:
    wish = finding("build-isolation", ("no-build-isolation", {"package": "detectron2"}))
    made = plan([wish], ticket(system="linux"), tool=tool)
    assert script(made).rstrip().endswith(" --no-build-isolation")
    assert bool(commands(made)) is (tool != "poetry")


@pytest.mark.parametrize("tool", ["pip", "uv", "conda", "poetry"])
def test_flash_attn_takes_its_projects_wheel_or_says_what_it_is_built_with(tool: str) -> None:
    facts = with_packages(with_torch(rtx(), "2.6.0+cu124"), **{"flash-attn": "2.7.4"})
    made = plan(
        [finding("extension-abi-mismatch", ("reinstall-package", {"package": "flash-attn"}))], facts, tool=tool
    )
    (fix,) = made.fixes
    said = fix.steps[-1].text
    assert "torch2.6 and cp312 in its name" in said
    assert "https://github.com/Dao-AILab/flash-attention/releases" in said
    assert "nvcc of CUDA 12" in said
    if tool == "poetry":
        assert commands(made) == []
        return
    first, *_, last = commands(made)
    assert {"ninja", "packaging"} <= {*first}
    assert last[-3:] == ["flash-attn", "--no-build-isolation", "--no-cache-dir"]


def test_a_torch_of_conda_forge_is_not_said_to_be_unseen() -> None:
    facts = without_torch(linux(python="3.13.1"))  # of its free-threaded build no wheel for the CPU was seen
    facts = replace(facts, interpreter=replace(facts.interpreter, free_threaded=True))
    assert any("was not seen" in text for text in plan([MISSING], facts, tool="pip").fixes[0].assumes)
    (fix,) = plan([MISSING], facts, tool="conda").fixes
    assert fix.assumes == fix.alternatives == ()


@pytest.mark.parametrize(
    ("held", "python", "install"),
    [
        (Held(python="3.11.9", torch="2.6.0+cpu", companions=("torchvision",)), "3.11",
         "torch==2.6.0 torchvision==0.21.0 --torch-backend=cpu"),
        (Held(python="3.10", torch="2.6.0"), "3.10", "torch==2.6.0"),
        (Held(python="3.12", torch="2.15.0.dev20260901+cpu"), "3.12", "torch=="),  # nightlies are removed, in time
        (Held(python="3.11", torch="0.3.1"), "3.11", "torch=="),  # which was never made for 3.11
        (Held(python="3.4"), "3.", "torch=="),
        (Held(torch="2.6.0"), "3.", "torch==2.6.0"),
    ],
)  # fmt: skip
def test_an_environment_without_its_python_is_made_as_it_was(held: Held, python: str, install: str) -> None:
    facts = linux()
    failure = StartFailure(kind="dead-link", message="bin/python is a link to a Python that was removed")
    interpreter = replace(facts.interpreter, version=None, start_failure=failure, held=held)
    facts = replace(facts, interpreter=interpreter, torch=None, packages=None)
    (fix,) = (f for f in plan(judge(facts)[1], facts).fixes if f.finding == "interpreter-broken")
    said = script(Plan(fixes=(fix,)))
    assert f"uv venv --python {python}" in said
    assert f" {install}" in said
    assert "dev2026" not in said
    had = (held.python or "").split(".")
    assert bool(fix.assumes) == (had == ["3", "4"] or held.torch == "0.3.1"), "another one than it had is told"


def test_a_python_that_does_not_run_is_not_asked_for_its_packages() -> None:
    wish = ("replace-interpreter", {"python": "3.12"})
    (broken,) = plan([finding("interpreter-broken", wish, layer="interpreter")], ticket(system="linux")).fixes
    (other,) = plan([finding("python-unsupported", wish, layer="interpreter")], ticket(system="linux")).fixes
    assert ["freeze" in script(Plan(fixes=(one,))) for one in (broken, other)] == [False, True]
    assert "dist-info" in script(Plan(fixes=(broken,)))


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("pip", [[PY, "-m", "pip", "uninstall", "-y", "nvidia-cudnn-cu13", "nvidia-nccl-cu13"],
                 [PY, "-m", "pip", "install", "nvidia-cudnn-cu13==9.24.0.43", "nvidia-nccl-cu13==2.30.7",
                  "--no-cache-dir"]]),
        ("uv", [["uv", "pip", "install", "--python", PY, "--reinstall-package", "nvidia-cudnn-cu13",
                 "--reinstall-package", "nvidia-nccl-cu13", "nvidia-cudnn-cu13==9.24.0.43", "nvidia-nccl-cu13==2.30.7",
                 "--no-cache-dir"]]),
    ],
)  # fmt: skip
def test_broken_distributions_alone_are_installed_again(tool: str, expected: list[list[str]]) -> None:
    details = {
        "package": "nvidia-cudnn-cu13", "spec": "==9.24.0.43", "also": "nvidia-nccl-cu13==2.30.7",
        "flag": "--no-cache-dir",
    }  # fmt: skip
    broken = finding("torch-install-broken", ("reinstall-package", details))
    facts = with_packages(with_torch(linux(), "2.14.1+cu130"), nvidia_cudnn_cu13="9.24.0.43", nvidia_nccl_cu13="2.30.7")
    made = plan([broken], facts, tool=tool)
    assert [command for command in commands(made) if command[:1] != ["set"]] == expected


def test_what_cannot_be_named_safely_is_not_installed() -> None:
    broken = finding("torch-install-broken", ("reinstall-package", {"package": "numpy", "also": "x;reboot"}))
    assert not plan([broken], with_torch(linux(), "2.6.0+cpu"), tool="pip").fixes


@pytest.mark.parametrize(
    ("forbidden", "root", "said"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_where_sudo_cannot_work_it_is_said(forbidden: bool, root: bool, said: bool) -> None:
    host = linux(no_new_privileges=forbidden, root=root)
    (fix,) = plan([TOO_OLD], with_torch(rtx("470.256.02", on=host), "2.6.0+cu124")).fixes
    assert any("no_new_privs" in text for text in fix.assumes) is said
