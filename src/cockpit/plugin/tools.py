"""Tools, for plugin authors: everything needed to register one.

A tool is one async function with a schema and the facts by which its calls are judged.
"""

from cockpit.plugin.calls import Alias as Alias
from cockpit.plugin.calls import Arguments as Arguments
from cockpit.plugin.calls import ArgumentsInvalid as ArgumentsInvalid
from cockpit.plugin.calls import Cap as Cap
from cockpit.plugin.calls import Capability as Capability
from cockpit.plugin.calls import CommandLine as CommandLine
from cockpit.plugin.calls import Done as Done
from cockpit.plugin.calls import Part as Part
from cockpit.plugin.calls import Preview as Preview
from cockpit.plugin.calls import ToolFailed as ToolFailed
from cockpit.plugin.context import Tool as Tool
