"""`python -m bale.launch ENGINE PLAN`."""
import sys

from bale.launch._command_line import main

sys.exit(main())
