"""`python -m bale` runs the program, as the console command does."""
from bale.program import main

main()
