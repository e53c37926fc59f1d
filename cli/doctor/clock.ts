import type { Check, CheckContext } from "#cli/doctor/check.ts";
import { failed, ok, skipped, warning } from "#core/finding.ts";

/** Headers tell whole seconds, and answers take some. */
const FEW_MS = 5_000;
/** From here on Leases and graces are misjudged; AWS refuses requests that are five minutes off. */
const MANY_MS = 60_000;

/** Whether this machine, the API server and the cloud agree about the time. */
export const clock: Check = {
  name: "clock",
  async run(context, signal) {
    const [server, cloud] = await Promise.all([
      serverAheadMs(context, signal).catch(() => undefined),
      cloudAheadMs(context, signal).catch(() => undefined),
    ]);
    const known = [
      { whose: "the API server's", ms: server },
      { whose: "the cloud's", ms: cloud },
    ].filter((each): each is Known => each.ms !== undefined);
    if (known.length === 0) return skipped("neither the API server nor the cloud said what time it is");
    const words = known.map(wordsOf).join("; ");
    const apart = [0, ...known.map(({ ms }) => ms)];
    const most = Math.max(...apart) - Math.min(...apart);
    if (most > MANY_MS) return failed(words, SYNCHRONIZE);
    return most > FEW_MS ? warning(words, SYNCHRONIZE) : ok(words);
  },
};

const SYNCHRONIZE = "synchronize the clock that is off by NTP: this machine's, where both others agree";

interface Known {
  readonly whose: string;
  readonly ms: number;
}

function wordsOf({ whose, ms }: Known): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return `${whose} is this machine's`;
  return `${whose} is ${seconds} s ${ms > 0 ? "ahead of" : "behind"} this machine's`;
}

async function serverAheadMs({ ask, now }: CheckContext, signal: AbortSignal): Promise<number | undefined> {
  const { headers } = await ask("relay", { method: "GET", path: "/version", signal });
  const at = Date.parse(headers["date"] ?? "");
  return Number.isNaN(at) ? undefined : aheadMs(at, now().getTime());
}

/** A header leaves out the part of a second. */
function aheadMs(at: number, now: number): number {
  const ahead = at - now;
  return ahead < 0 && ahead > -1_000 ? 0 : ahead;
}

async function cloudAheadMs({ cloud }: CheckContext, signal: AbortSignal): Promise<number | undefined> {
  return (await cloud())?.clockAheadMs(signal);
}
