"""The tests of pramana. Matrix libraries take one thread: idle threads of several test processes
would spin and slow each other down. They read the limit when NumPy is first imported.
"""

import os

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_library, "1")
