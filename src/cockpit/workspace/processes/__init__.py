"""Child processes: started in their own group with a scrubbed environment, ended with their descendants.

Start with `local_processes`. Decides nothing about which programs may run. May import `sandbox`, and of the
rest of `workspace` only its top-level modules.
"""
