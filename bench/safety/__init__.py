"""The figures of safety: verdicts, an ordinary hour, what the sandbox, a checkpoint and a patch cost."""
