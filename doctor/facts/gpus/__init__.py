"""Questions that vary by vendor: one file a vendor."""
