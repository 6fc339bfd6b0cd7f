"""``python -m shardlessons`` prints the report of a call."""

import sys

from shardlessons._cli import main

if __name__ == "__main__":
    sys.exit(main())
