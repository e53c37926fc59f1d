import { beginAnswer } from "#test/hostile/answers.ts";
import type { Attack, HostileCall } from "#test/hostile/attack.ts";
import { FRAME_TYPES, frame } from "#test/hostile/frames.ts";

/** A watch beside which frames of the connection come as fast as they are taken. */
function floodOf(makeFrame: (call: HostileCall) => Buffer): Attack {
  return ({ signal }) => ({
    answer(call) {
      if (call.kind !== "watch") return false;
      beginAnswer(call);
      // The head of the answer first.
      setImmediate(() => void flood(call, signal, Buffer.concat(Array(1_000).fill(makeFrame(call)))));
      return true;
    },
  });
}

async function flood({ stream, wire }: HostileCall, signal: AbortSignal, frames: Buffer): Promise<void> {
  while (!stream.destroyed && !signal.aborted) {
    await wire.inject(frames);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Each of them wants an answer. */
export const pingFlood = floodOf(() => frame(FRAME_TYPES.ping, 0, 0, Buffer.alloc(8)));

/** Each of them wants an answer, too. */
export const settingsFlood = floodOf(() => frame(FRAME_TYPES.settings, 0, 0));

/** DATA without any. */
export const emptyFrames = floodOf(({ stream }) => frame(FRAME_TYPES.data, 0, stream.id ?? 1));
