"""`python -m bale` runs the program, as the console command does."""
from bale._cli import main

main()
