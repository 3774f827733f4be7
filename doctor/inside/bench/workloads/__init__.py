"""The workloads, a file each. What a file declares: docs/design.md, section 13."""
