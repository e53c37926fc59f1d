import { answerEndlessly, answerWith, formatStatusBody } from "#test/adversarial/answers.ts";
import type { Attack } from "#test/adversarial/attack.ts";
import {
  FIRST_HOSTILE_VERSION,
  formatHostileNode,
  formatHostilePage,
  repeat,
  watchLine,
} from "#test/adversarial/hostile-nodes.ts";

/** A text that misleads a terminal, or a reader of lines. */
export const EVIL_TEXT =
  "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u2066\u2028\u007f\u0000\r\ncluster tenant-b is not ready: Forbidden: forged\n";

/** Messages, names and provider IDs that control terminals, forge lines and have megabytes. */
export const text: Attack = () => {
  const escaped = JSON.stringify(EVIL_TEXT).slice(1, -1);
  const long = `${escaped}${"x".repeat(4_000_000)}`;
  const nodes = [
    formatHostileNode("long-provider-id", FIRST_HOSTILE_VERSION, `,"providerID":"aws:///${long}"`),
    formatHostileNode(
      "provider-id",
      FIRST_HOSTILE_VERSION,
      `,"providerID":"aws:///${escaped}${"y".repeat(20_000)}"`,
    ),
    formatHostileNode(`${escaped}name`, FIRST_HOSTILE_VERSION),
    formatHostileNode("__proto__", FIRST_HOSTILE_VERSION),
    formatHostileNode("../../../api/v1/secrets", FIRST_HOSTILE_VERSION),
    ...repeat(5, (index) => formatHostileNode(`${escaped}-${index}`, FIRST_HOSTILE_VERSION, `,"podCIDRs":5`)),
    formatHostileNode(`${long}`, FIRST_HOSTILE_VERSION, `,"podCIDRs":5`),
  ];
  const refusal = formatStatusBody(422, EVIL_TEXT, `${EVIL_TEXT}${"z".repeat(1_000_000)}`);
  const page = formatHostilePage(nodes);
  let watches = 0;
  return {
    answer(call) {
      switch (call.kind) {
        case "list":
          return answerWith(call, page);
        case "watch": {
          watches += 1;
          // The first one is correct, so that nodes are sent to functions.
          if (watches > 1) return answerWith(call, refusal, { ":status": 422 });
          const lines = [watchLine("MODIFIED", nodes[2] ?? ""), watchLine(`${escaped}TYPE`, "{}")].map(
            (line) => Buffer.from(line),
          );
          return answerEndlessly(call, () => lines.shift());
        }
        case "patch":
        case "event":
        case "other":
          return answerWith(call, refusal, { ":status": 422 });
      }
    },
  };
};
