import { answerEndlessly } from "#test/adversarial/answers.ts";
import type { Attack, HostileCall } from "#test/adversarial/attack.ts";
import { FIRST_HOSTILE_VERSION } from "#test/adversarial/hostile-nodes.ts";

/** Bytes of an endless text, sent one byte a frame. */
const PIECE = Buffer.alloc(16_384, "x");

/** A watch with one endless line, one byte a frame. */
export const oneByteFrames: Attack = () => ({
  answer: (call) => call.kind === "watch" && drip(call, '{"type":"ADDED","object":{"metadata":{"name":"'),
});

/** An endless page, one byte a frame. */
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
