"""Text from outside made safe to draw: the gate of every frontend, under the screen's own name."""

from cockpit.protocol.clean import clean as clean
from cockpit.protocol.clean import clean_output as clean_output
from cockpit.protocol.clean import one_line as one_line
