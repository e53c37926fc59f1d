"""Judges exchanges with Oracle's cloud by the operations and models of Oracle's own client, and reads an emulated
cloud with that client.

    python main.py judge < EXCHANGES
    python main.py read URL < SETTINGS
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))


if __name__ == "__main__":
    if sys.argv[1:] == ["judge"]:
        import judge
        import verdict

        verdict.judge_lines(judge.judge_exchange)
    elif sys.argv[1:2] == ["read"] and len(sys.argv) == 3:
        import read

        read.read_cloud(sys.argv[2])
    else:
        sys.exit(__doc__)
