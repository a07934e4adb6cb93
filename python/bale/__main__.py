"""`python -m bale`: the program, as the console command."""
from bale.program import main

main()
