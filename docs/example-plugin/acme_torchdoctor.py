"""Checks of a company: which drivers its nodes may have, and what its licence server says."""

from doctor.plugin import Check, Evidence, Facts, Judgement, Message, Plugin, Remedy, Rule

# A table has a date and a source, so that a report can say what it was judged by.
DRIVERS = {
    "as_of": "2026-11-01",
    "source": "https://wiki.acme.example/gpu-nodes",
    "rows": [{"branch": 550, "until": "2026-06-30"}, {"branch": 580, "until": None}],
}

old_driver = Check(
    id="driver-retired",
    layer="driver",
    severity="warning",
    title="The machine room no longer supports this driver.",
    needs=("nvidia.driver",),
    docs="What it means\n    The node has not been moved to the branch of drivers that Acme supports.\n\n"
    "What to do\n    Drain the node and run the playbook gpu-driver.",
)


@old_driver
def judge(facts: Facts) -> Judgement:
    driver = facts.nvidia.driver
    if not driver:
        return None
    row = next((row for row in plugin.rows("drivers") if driver.startswith(f"{row['branch']}.")), None)
    if row is None or row["until"] is None:
        return None
    return old_driver.found(
        facts,
        f"Driver {driver} was supported until {row['until']}.",
        evidence=("nvidia.driver", Evidence(fact="table", value="drivers", source=DRIVERS["source"])),
        remedies=(Remedy(action="ask-provider", text="Ask the machine room to run the playbook gpu-driver."),),
    )


licence = Check(
    id="licence-server-down",
    layer="run",
    severity="fault",
    title="The licence server did not answer.",
    needs=("messages",),
    docs="What it means\n    Acme's solver stops where it gets no licence. torch is not at fault.",
    rule=Rule(
        errors=("no-licence",),
        detail="The licence server {0} did not answer.",
        remedies=(Remedy(action="none", details={"reason": "restart the licence server"}),),
    ),
)

plugin = Plugin(
    checks=(old_driver, licence),
    messages=(Message(id="no-licence", regex=r"ACME-LIC-\d+: no answer from ([\w.-]{1,80})"),),
    tables={"drivers": DRIVERS},
)
