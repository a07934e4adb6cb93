"""`python -m bale.launch ENGINE PLAN`."""
import sys

from bale.launch.command_line import main

sys.exit(main())
