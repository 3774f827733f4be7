"""The closed vocabulary of actions (docs/design.md, section 7) and who builds each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from doctor.fixes import system
from doctor.fixes.situation import Situation
from doctor.model.finding import Remedy
from doctor.model.fix import Fix

Builder = Callable[[Situation, str, Remedy], "Fix | None"]


def _later(module: str, name: str) -> Builder:
    """A builder whose module, and with it the choice of builds, is imported only when needed."""

    def build(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
        import importlib

        builder: Builder = getattr(importlib.import_module(f"doctor.fixes.{module}"), name)
        return builder(situation, finding, remedy)

    return build


TORCH = ("install-torch", "reinstall-torch", "upgrade-torch", "downgrade-torch")  # made by plan.py with torch.py

BUILDERS: Mapping[str, Builder] = {
    "replace-interpreter": _later("interpreter", "replace_interpreter"),
    "activate-environment": _later("interpreter", "activate_environment"),
    "change-directory": _later("interpreter", "change_directory"),
    "rename-file": _later("interpreter", "rename_file"),
    "install-pip": _later("packages", "install_pip"),
    "pin-package": _later("packages", "install_package"),
    "install-package": _later("packages", "install_package"),
    "reinstall-package": _later("packages", "install_package"),
    "remove-package": _later("packages", "remove_package"),
    "fix-index": _later("torch", "fix_index"),
    "add-index": _later("packages", "add_index"),
    "no-build-isolation": _later("packages", "no_build_isolation"),
    "use-other-build": system.use_other_build,
    "upgrade-os": system.upgrade_os,
    "upgrade-driver": _later("drivers", "driver"),
    "install-driver": _later("drivers", "driver"),
    "reboot": system.reboot,
    "load-module": system.load_module,
    "start-service": system.start_service,
    "set-env": system.set_env,
    "unset-env": system.unset_env,
    "container-flag": _later("containers", "container_flag"),
    "restart-container": _later("containers", "restart_container"),
    "change-image": _later("containers", "change_image"),
    "restart-kernel": _later("notebook", "restart_kernel"),
    "group-membership": system.group_membership,
    "install-system-package": _later("system_packages", "install_system_package"),
    "free-disk-space": system.free_disk_space,
    "free-disk": system.free_disk_space,  # its other name
    "set-compute-mode": _later("limits", "set_compute_mode"),
    "raise-limit": _later("limits", "raise_limit"),
    "enable-long-paths": _later("limits", "enable_long_paths"),
    "ask-provider": system.by_hand,
    "stop-process": system.by_hand,
    "reduce-memory": system.by_hand,
    "system-setting": system.by_hand,
    "hardware-service": system.by_hand,
    "none": system.nothing,
}
