"""Text from outside made safe to draw: the gate of every frontend, under the screen's own name."""

from cockpit.protocol.safe_text import clean as clean
from cockpit.protocol.safe_text import clean_output as clean_output
from cockpit.protocol.safe_text import single_line as single_line
