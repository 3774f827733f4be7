"""doctor/formats/lshw.py: both forms, and what is no graphics device."""

from doctor.formats import lshw

LONG = """  *-display
       description: VGA compatible controller
       product: DG2 [Arc A770]
       vendor: Intel Corporation
       configuration: depth=32 driver=i915 latency=0
  *-display UNCLAIMED
       description: 3D controller
       product: GA106 [GeForce RTX 3060]
       vendor: NVIDIA Corporation
       configuration: latency=0
  *-multimedia
       description: Audio device
       product: GA106 High Definition Audio Controller
       vendor: NVIDIA Corporation
       configuration: driver=snd_hda_intel latency=0
"""
SHORT = "/0/100/2            /dev/fb0   display        Alder Lake-P GT2 [Iris Xe Graphics]"


def test_the_long_form_names_vendor_and_driver() -> None:
    found = lshw.parse(tuple(LONG.splitlines()))
    assert [(d.vendor, d.driver, d.line) for d in found] == [("intel", "i915", 2), ("nvidia", None, 7)]


def test_the_short_form_names_the_product() -> None:
    assert [d.product for d in lshw.parse((SHORT,))] == ["Alder Lake-P GT2 [Iris Xe Graphics]"]
