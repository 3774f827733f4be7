"""rocminfo, whole and filtered."""

from doctor.evidence.read import read
from doctor.formats import rocm

WHOLE = """\
=====================
HSA Agents
=====================
*******
Agent 1
*******
  Name:                    AMD Ryzen 9 7950X 16-Core Processor
  Marketing Name:          AMD Ryzen 9 7950X 16-Core Processor
*******
Agent 2
*******
  Name:                    gfx1100
  Uuid:                    GPU-1234
  Marketing Name:          {name}
  Chip ID:                 29772(0x744c)
  BDFID:                   768
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    25149440(0x17fc000) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1100
"""


def test_an_agent_has_its_own_name() -> None:
    (gpu,) = rocm.parse(WHOLE.format(name="AMD Radeon RX 7900 XTX"))
    assert (gpu.gfx, gpu.name, gpu.pci_id) == ("gfx1100", "AMD Radeon RX 7900 XTX", "1002:744c")
    assert (gpu.pci_address, gpu.memory_bytes) == ("0000:03:00.0", 25149440 << 10)


def test_a_gpu_without_a_name_does_not_get_the_processors() -> None:
    (gpu,) = rocm.parse(WHOLE.format(name=""))
    assert gpu.name is None


def test_a_ticket_is_read_by_the_same_parser() -> None:
    (gpu,) = read((("ticket", WHOLE.format(name="AMD Radeon RX 7900 XTX").encode()),)).facts.gpus or ()
    assert (gpu.gfx, gpu.name, gpu.memory_bytes) == ("gfx1100", "AMD Radeon RX 7900 XTX", 25149440 << 10)


def test_filtered_lines_may_stand_in_either_order() -> None:
    for text in ("  Name: gfx1030\n  Marketing Name: A\n", "  Marketing Name: A\n  Name: gfx1030\n"):
        assert [(g.gfx, g.name) for g in rocm.parse(text)] == [("gfx1030", "A")]
