"""`python -m cockpit`."""

import sys

from cockpit.cli.main import main

sys.exit(main())
