import { answerWith } from "#test/hostile/answers.ts";
import type { Attack } from "#test/hostile/attack.ts";
import { FIRST_HOSTILE_VERSION, hostileNode, hostilePage, times } from "#test/hostile/hostile-nodes.ts";

/** Lists never end: each page has as many new nodes as were asked for, and says that there are more. */
export const endlessContinue: Attack = () => {
  let nodes = 0;
  return {
    answer(call) {
      if (call.kind !== "list") return false;
      const limit = Number(call.url.searchParams.get("limit") ?? 500);
      const items = times(limit, (index) => hostileNode(`n-${nodes + index}`, FIRST_HOSTILE_VERSION));
      nodes += limit;
      return answerWith(call, hostilePage(items, FIRST_HOSTILE_VERSION, `after-${nodes}`));
    },
  };
};

/** The same with pages that have nothing: no object is ever over a limit. */
export const endlessEmptyPages: Attack = () => ({
  answer: (call) => call.kind === "list" && answerWith(call, hostilePage([], FIRST_HOSTILE_VERSION, "more")),
});
