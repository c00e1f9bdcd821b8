"""Child processes: started in their own group with a scrubbed environment, ended with everything they
started. Start with `local_processes`. Decides nothing about which programs may run. May import
`sandbox`, and nothing else of `workspace` but its top-level modules.
"""
