import { answerWith, statusBody } from "#test/hostile/answers.ts";
import type { Attack } from "#test/hostile/attack.ts";
import {
  FIRST_HOSTILE_VERSION,
  hostileNode,
  hostilePage,
  times,
  watchLine,
} from "#test/hostile/hostile-nodes.ts";

/** Every watch brings one event and then says that its version is too old: a whole list for each. */
export const goneLoop: Attack = () => {
  const page = Buffer.from(
    hostilePage(times(500, (index) => hostileNode(`n-${index}`, FIRST_HOSTILE_VERSION))),
  );
  let watches = 0;
  return {
    answer(call) {
      if (call.kind === "list") return answerWith(call, page);
      if (call.kind !== "watch") return false;
      watches += 1;
      const event = watchLine("MODIFIED", hostileNode("n-0", FIRST_HOSTILE_VERSION + watches));
      return answerWith(call, `${event}${watchLine("ERROR", statusBody(410, "Expired", "too old"))}`);
    },
  };
};

/** Every watch brings one bookmark and ends well. */
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

/** Every connection is told to go away with its first answer. */
export const goAwayLoop: Attack = () => ({
  answer(call) {
    call.stream.session?.goaway(0);
    return false;
  },
});

/** Nobody is known here any more. */
export const endless401: Attack = () => ({
  answer: (call) => answerWith(call, statusBody(401, "Unauthorized", "Unauthorized"), { ":status": 401 }),
});

/** Everybody is sent elsewhere, to what is served on the machine of the relay itself. */
export const redirects: Attack = () => ({
  answer: (call) =>
    answerWith(call, "", { ":status": 307, location: "http://169.254.169.254/latest/meta-data/" }),
});
