"""A typed `/command` as the op it means. `/do` and `/plan` are a person's ops; the rest the core runs."""

from cockpit.protocol.ops import DecidePlan, Invoke, Op, SelectMode


def op_of(id: str, origin: str, line: str) -> Op:
    name, _, rest = line[1:].partition(" ")
    match name:
        case "do":
            return DecidePlan(id, origin, "", "approve", note=rest.strip())
        case "plan" if not rest.strip():
            return SelectMode(id, origin, "plan")
        case _:
            return Invoke(id, origin, "", name, {"text": rest})
