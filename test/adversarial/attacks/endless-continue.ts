import { answerWith } from "#test/adversarial/answers.ts";
import type { Attack } from "#test/adversarial/attack.ts";
import {
  FIRST_HOSTILE_VERSION,
  formatHostileNode,
  formatHostilePage,
  repeat,
} from "#test/adversarial/hostile-nodes.ts";

/** Lists never end: each page has the requested number of new nodes, and announces another page. */
export const endlessContinue: Attack = () => {
  let nodes = 0;
  return {
    answer(call) {
      if (call.kind !== "list") return false;
      const limit = Number(call.url.searchParams.get("limit") ?? 500);
      const items = repeat(limit, (index) => formatHostileNode(`n-${nodes + index}`, FIRST_HOSTILE_VERSION));
      nodes += limit;
      return answerWith(call, formatHostilePage(items, FIRST_HOSTILE_VERSION, `after-${nodes}`));
    },
  };
};

/** Lists never end, with empty pages, so that no object exceeds a limit. */
export const endlessEmptyPages: Attack = () => ({
  answer: (call) =>
    call.kind === "list" && answerWith(call, formatHostilePage([], FIRST_HOSTILE_VERSION, "more")),
});
