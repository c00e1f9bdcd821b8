"""The user's files and processes: paths, change sets, patches, ignore rules, jobs. Decides nothing
of what is allowed: it refuses only what no answer of a person could make safe."""
