import { beginAnswer } from "#test/adversarial/answers.ts";
import type { Attack, HostileCall } from "#test/adversarial/attack.ts";
import { buildFrame, FRAME_TYPES } from "#test/adversarial/frames.ts";

/** Floods a watch's connection with frames, as fast as the client takes them. */
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

/** Each frame requires an answer. */
export const pingFlood = floodOf(() => buildFrame(FRAME_TYPES.ping, 0, 0, Buffer.alloc(8)));

/** Each frame requires an answer, too. */
export const settingsFlood = floodOf(() => buildFrame(FRAME_TYPES.settings, 0, 0));

/** DATA frames without data. */
export const emptyFrames = floodOf(({ stream }) => buildFrame(FRAME_TYPES.data, 0, stream.id ?? 1));
