import { getBackOffMs } from "#core/back-off.ts";
import type { ControllerName } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";

/** Whether the functions that the clusters need could be invoked at the last check. */
export interface PlatformState {
  readonly reachable: boolean;
  /** For probes: names each function that cannot be invoked, and why. */
  readonly message: string;
}

export interface PlatformCheckOptions {
  /** Asks the platform, without invoking, whether a controller's function may be invoked; never rejects. */
  readonly dryRun: (controller: ControllerName, signal: AbortSignal) => Promise<Reason | undefined>;
  /** The controllers of the clusters, read at each check; may be empty at first. */
  readonly controllers: () => Iterable<ControllerName>;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** Checks the platform in the background. */
export interface PlatformCheck {
  /** Returns the last result; undefined before the first check. */
  state(): PlatformState | undefined;
  /** Stops checking; resolves when no check is running. */
  close(): Promise<void>;
}

/** The delay before the next check while something is wrong: doubled each time, up to a minute. */
const BACK_OFF = { baseMs: 1_000, limitMs: 60_000 };

/** The delay before the next check while all is well: permissions and functions are rarely removed. */
const WELL_MS = 5 * 60_000;

/** Checks now, and then repeatedly, whether the functions can be invoked. Logs each change. */
export function checkPlatform(options: PlatformCheckOptions): PlatformCheck {
  const { clock = systemClock, random = Math.random, log } = options;
  const closing = new AbortController();
  let state: PlatformState | undefined;
  /**
   * The codes in the last log line. Codes are compared because a platform's messages may differ each time.
   */
  let said = "";

  async function follow(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const controllers = [...new Set(options.controllers())];
      if (controllers.length > 0) await look(controllers);
      failures = state?.reachable ? 0 : failures + 1;
      const backOffMs = getBackOffMs(BACK_OFF, failures - 1);
      await pause(clock, state?.reachable ? WELL_MS : backOffMs * (0.75 + random() / 4), closing.signal);
    }
  }

  async function look(controllers: readonly ControllerName[]): Promise<void> {
    const faults = await Promise.all(
      controllers.map((controller) => options.dryRun(controller, closing.signal)),
    );
    if (closing.signal.aborted) return;
    const found = faults.filter((fault) => fault !== undefined);
    state = buildPlatformState(found);
    const news = JSON.stringify([controllers, faults.map((fault) => fault?.code)]);
    if (news === said) return;
    said = news;
    const { message } = state;
    if (state.reachable) log({ level: "info", event: "PlatformReady", controllers, message });
    else log({ level: "error", event: "PlatformUnreachable", codes: found.map(({ code }) => code), message });
  }

  const following = follow();
  return {
    state: () => state,
    async close() {
      closing.abort();
      await following;
    },
  };
}

function buildPlatformState(faults: readonly Reason[]): PlatformState {
  if (faults.length === 0) return { reachable: true, message: "the functions can be invoked" };
  return {
    reachable: false,
    message: faults.map(({ code, message }) => `${code}: ${message}`).join("; "),
  };
}
