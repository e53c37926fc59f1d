"""The lines that the judges in Python read and the verdict that they print, as judge.ts describes them."""

import json
import sys


class Verdict:
    """Counts the exchanges of each operation and collects the violations, each once for each test file."""

    def __init__(self):
        self.operations = {}
        self.violations = {}

    def add(self, exchange, operation, messages):
        """Adds an exchange with what is wrong with it. An exchange without status has no answer to judge."""
        counts = self.operations.setdefault(operation, {"requests": 0, "answers": 0})
        counts["requests"] += 1
        counts["answers"] += exchange["status"] != 0
        for message in messages:
            found = self.violations.setdefault(
                (exchange["file"], operation, message), {"test": exchange["test"], "count": 0}
            )
            found["count"] += 1

    def render(self):
        violations = [
            {"file": file, "operation": operation, "message": message, **found}
            for (file, operation, message), found in self.violations.items()
        ]
        return json.dumps({"operations": self.operations, "violations": violations})


def judge_lines(judge_exchange):
    """Judges the exchanges of the standard input; judge_exchange returns an operation and messages."""
    verdict = Verdict()
    for line in sys.stdin:
        exchange = json.loads(line)
        operation, messages = judge_exchange(exchange)
        verdict.add(exchange, operation, messages)
    print(verdict.render())


def parse_json(text):
    """Returns the parsed text, or None with a reason."""
    try:
        return json.loads(text), None
    except ValueError:
        return None, "not JSON"
