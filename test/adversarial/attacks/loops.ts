import { answerWith, formatStatusBody } from "#test/adversarial/answers.ts";
import type { Attack } from "#test/adversarial/attack.ts";
import {
  FIRST_HOSTILE_VERSION,
  formatHostileNode,
  formatHostilePage,
  repeat,
  watchLine,
} from "#test/adversarial/hostile-nodes.ts";

/** Every watch sends one event and then reports its version as too old: each time a complete list follows. */
export const goneLoop: Attack = () => {
  const page = Buffer.from(
    formatHostilePage(repeat(500, (index) => formatHostileNode(`n-${index}`, FIRST_HOSTILE_VERSION))),
  );
  let watches = 0;
  return {
    answer(call) {
      if (call.kind === "list") return answerWith(call, page);
      if (call.kind !== "watch") return false;
      watches += 1;
      const event = watchLine("MODIFIED", formatHostileNode("n-0", FIRST_HOSTILE_VERSION + watches));
      return answerWith(call, `${event}${watchLine("ERROR", formatStatusBody(410, "Expired", "too old"))}`);
    },
  };
};

/** Every watch sends one bookmark and ends normally. */
export const endedLoop: Attack = () => {
  let watches = 0;
  return {
    answer(call) {
      if (call.kind !== "watch") return false;
      watches += 1;
      const metadata = { resourceVersion: String(FIRST_HOSTILE_VERSION + watches) };
      return answerWith(call, watchLine("BOOKMARK", JSON.stringify({ metadata })));
    },
  };
};

/** Every connection gets GOAWAY with its first answer. */
export const goAwayLoop: Attack = () => ({
  answer(call) {
    call.stream.session?.goaway(0);
    return false;
  },
});

/** Every request is answered 401. */
export const endless401: Attack = () => ({
  answer: (call) =>
    answerWith(call, formatStatusBody(401, "Unauthorized", "Unauthorized"), { ":status": 401 }),
});

/** Every request is redirected to a server on the relay's own machine. */
export const redirects: Attack = () => ({
  answer: (call) =>
    answerWith(call, "", { ":status": 307, location: "http://169.254.169.254/latest/meta-data/" }),
});
