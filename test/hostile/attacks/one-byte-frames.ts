import { answerEndlessly } from "#test/hostile/answers.ts";
import type { Attack, HostileCall } from "#test/hostile/attack.ts";
import { FIRST_HOSTILE_VERSION } from "#test/hostile/hostile-nodes.ts";

/** Bytes of a text that has no end, sent a byte a frame. */
const PIECE = Buffer.alloc(16_384, "x");

/** A watch whose one line never ends, a byte a frame. */
export const oneByteFrames: Attack = () => ({
  answer: (call) => call.kind === "watch" && drip(call, '{"type":"ADDED","object":{"metadata":{"name":"'),
});

/** A page that never ends, a byte a frame. */
export const oneBytePage: Attack = () => ({
  answer: (call) =>
    call.kind === "list" &&
    drip(call, `{"metadata":{"resourceVersion":"${FIRST_HOSTILE_VERSION}"},"items":[{"metadata":{"name":"`),
});

function drip(call: HostileCall, begin: string): boolean {
  call.wire.setOneByteFrames(true);
  let begun = false;
  return answerEndlessly(call, () => {
    if (begun) return PIECE;
    begun = true;
    return Buffer.from(begin);
  });
}
