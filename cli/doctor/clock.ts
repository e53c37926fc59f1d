import type { Check, CheckContext } from "#cli/doctor/check.ts";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";

/** A tolerance, because headers have whole seconds and answers take time. */
const FEW_MS = 5_000;
/**
 * From this offset on, Leases and grace periods are misjudged; AWS rejects requests that are five minutes
 * off.
 */
const MANY_MS = 60_000;

/** Checks whether this machine, the API server and the cloud agree about the time. */
export const clock: Check = {
  name: "clock",
  async run(context, signal) {
    const [server, cloud] = await Promise.all([
      measureServerOffsetMs(context, signal).catch(() => undefined),
      measureCloudOffsetMs(context, signal).catch(() => undefined),
    ]);
    const known = [
      { whose: "the API server's", ms: server },
      { whose: "the cloud's", ms: cloud },
    ].filter((each): each is ClockOffset => each.ms !== undefined);
    if (known.length === 0) return reportSkipped("neither the API server nor the cloud reported the time");
    const words = known.map(formatOffset).join("; ");
    const apart = [0, ...known.map(({ ms }) => ms)];
    const most = Math.max(...apart) - Math.min(...apart);
    if (most > MANY_MS) return reportFailure(words, SYNCHRONIZE);
    return most > FEW_MS ? reportWarning(words, SYNCHRONIZE) : reportOk(words);
  },
};

const SYNCHRONIZE = "synchronize the clock that is off by NTP: this machine's, where both others agree";

interface ClockOffset {
  readonly whose: string;
  readonly ms: number;
}

function formatOffset({ whose, ms }: ClockOffset): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return `${whose} is this machine's`;
  return `${whose} is ${seconds} s ${ms > 0 ? "ahead of" : "behind"} this machine's`;
}

async function measureServerOffsetMs(
  { ask, now }: CheckContext,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { headers } = await ask("relay", { method: "GET", path: "/version", signal });
  const at = Date.parse(headers["date"] ?? "");
  return Number.isNaN(at) ? undefined : getOffsetMs(at, now().getTime());
}

/** A header has no fractions of a second. */
function getOffsetMs(at: number, now: number): number {
  const ahead = at - now;
  return ahead < 0 && ahead > -1_000 ? 0 : ahead;
}

async function measureCloudOffsetMs(
  { cloud }: CheckContext,
  signal: AbortSignal,
): Promise<number | undefined> {
  return (await cloud())?.clockAheadMs(signal);
}
