"""The figures of safety: verdicts, a typical hour, and the cost of sandbox, checkpoint and patch."""
