"""`python -m reseed COMMAND`."""

import sys

from reseed.cli.main import main

sys.exit(main())
