import os
import sys

from trainlab import PROGRAM

os.execv(PROGRAM, ["trainlab", *sys.argv[1:]])
