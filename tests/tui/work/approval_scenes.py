"""Approvals with the fields that `Scene.asks` does not have."""

from dataclasses import replace
from typing import Any

from tests.support.scenes import Scene

from cockpit.protocol.events import ApprovalRequested


def with_facts(scene: Scene, **fields: Any) -> Scene:
    """Set `fields` of the approval that `scene` ends with."""
    last = scene.envelopes[-1]
    assert isinstance(last.event, ApprovalRequested)
    scene.envelopes[-1] = replace(last, event=replace(last.event, **fields))
    return scene
