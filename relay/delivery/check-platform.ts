import type { ControllerName } from "#core/event.ts";
import type { PlatformFault } from "#delivery/dry-run-lambda.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";

/** Whether the functions that the clusters need could be invoked when that was last looked at. */
export interface PlatformState {
  readonly reachable: boolean;
  /** For probes; says of each function that cannot be invoked why. */
  readonly message: string;
}

export interface PlatformCheckOptions {
  /** Asks the platform, without an invocation, whether a controller's function may be invoked; never rejects. */
  readonly dryRun: (controller: ControllerName, signal: AbortSignal) => Promise<PlatformFault | undefined>;
  /** Those of the clusters, at each look; there may be none yet. */
  readonly controllers: () => Iterable<ControllerName>;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** What looks at the platform in the background. */
export interface PlatformCheck {
  /** Undefined until it was looked at. */
  state(): PlatformState | undefined;
  /** Ends looking; resolves when nothing of it goes on. */
  close(): Promise<void>;
}

/** Until the next look while something is wrong: doubled with each, at most a minute. */
const SHORTEST_MS = 1_000;
const LONGEST_MS = 60_000;

/** Until the next look while all is well: rights and functions are taken away seldom. */
const WELL_MS = 5 * 60_000;

/** Looks at once and from then on at whether the functions can be invoked; each change is a line in the log. */
export function checkPlatform(options: PlatformCheckOptions): PlatformCheck {
  const { clock = systemClock, random = Math.random, log } = options;
  const closing = new AbortController();
  let state: PlatformState | undefined;
  /** What was last said: a platform's words may differ each time, its codes do not. */
  let said = "";

  async function follow(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const controllers = [...new Set(options.controllers())];
      if (controllers.length > 0) await look(controllers);
      failures = state?.reachable ? 0 : failures + 1;
      const backOffMs = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** Math.min(failures - 1, 20));
      await pause(clock, state?.reachable ? WELL_MS : backOffMs * (0.75 + random() / 4), closing.signal);
    }
  }

  async function look(controllers: readonly ControllerName[]): Promise<void> {
    const faults = await Promise.all(
      controllers.map((controller) => options.dryRun(controller, closing.signal)),
    );
    if (closing.signal.aborted) return;
    const found = faults.filter((fault) => fault !== undefined);
    state = stateOf(found);
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

function stateOf(faults: readonly PlatformFault[]): PlatformState {
  if (faults.length === 0) return { reachable: true, message: "the functions can be invoked" };
  return {
    reachable: false,
    message: faults.map(({ code, message }) => `${code}: ${message}`).join("; "),
  };
}
