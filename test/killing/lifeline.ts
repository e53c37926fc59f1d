import type { Transport } from "#kube/client/transport.ts";
import type { Gate } from "#test/clouds/load-balancer-world.ts";

/**
 * Where a function is killed: after its k-th change of the cloud or of the cluster, or its k-th Event. Events are counted apart, as the
 * function drops those for which a busy API server leaves it no time.
 */
export interface KillPoint {
  readonly on: "cloud" | "cluster" | "events";
  /** 1 for the first. */
  readonly change: number;
  /** The change was carried out and its answer never read, or it was answered. */
  readonly phase: "landed" | "answered";
}

/** What a process meets on its way. */
export type Fate =
  | { readonly kind: "killed"; readonly at: KillPoint }
  /** The k-th change of the cloud is refused, or carried out and broken off, and the process lives on. */
  | { readonly kind: "throttled" | "answer lost"; readonly change: number };

/**
 * The life of one process. Once it is killed nothing that it still does reaches the cloud or the cluster; what was on its way
 * may land.
 */
export interface Lifeline {
  /** For the door of the cloud. */
  readonly gate: Gate;
  /** The API server as this process sees it. */
  transport(inner: Transport): Transport;
  /** What it has changed, in order, such as `elbv2:CreateListener` and `PATCH services/web/status`. */
  readonly changes: readonly { readonly on: KillPoint["on"]; readonly what: string }[];
  /** Whether it came to the point where it is killed. */
  isKilled(): boolean;
  /** Whether it has met what it was to meet. */
  hasMet(): boolean;
}

/** A process that meets its fate, or none. */
export function createLifeline(fate?: Fate): Lifeline {
  const changes: { readonly on: KillPoint["on"]; readonly what: string }[] = [];
  let entered = 0;
  let hasMet = false;

  const meets = (kind: Fate["kind"], change: number): boolean => {
    if (hasMet || fate?.kind !== kind || fate.kind === "killed" || fate.change !== change) return false;
    hasMet = true;
    return true;
  };
  const isKilled = (): boolean => hasMet && fate?.kind === "killed";

  /** Notes a change that has landed; whether its answer may be read. */
  const landed = (on: KillPoint["on"], what: string): boolean => {
    if (isKilled()) return false;
    changes.push({ on, what });
    const count = changes.filter((each) => each.on === on).length;
    if (fate?.kind === "killed" && fate.at.on === on && fate.at.change === count) {
      hasMet = true;
      return fate.at.phase === "answered";
    }
    return !(on === "cloud" && meets("answer lost", count));
  };

  return {
    gate: {
      enter: ({ isChange }) => {
        if (isKilled()) return "reset";
        if (!isChange) return "pass";
        entered += 1;
        return meets("throttled", entered) ? "Throttled" : "pass";
      },
      leave: ({ isChange, what }) => (isChange ? landed("cloud", what) : !isKilled()),
    },
    transport: (inner) => ({
      ...inner,
      async send(request) {
        if (isKilled()) throw new Killed();
        const answer = await inner.send(request);
        // What is refused, as everything is before new rights are known to an API server, changes nothing.
        const isChange = request.method !== "GET" && answer.status < 300;
        const path = request.path.replace(/\?.*/, "").split("/").slice(-3).join("/");
        const on = /\/events(\/|$)/.test(request.path.replace(/\?.*/, "")) ? "events" : "cluster";
        if (isChange ? !landed(on, `${request.method} ${path}`) : isKilled()) throw new Killed();
        return answer;
      },
    }),
    changes,
    isKilled,
    hasMet: () => hasMet,
  };
}

class Killed extends Error {
  constructor() {
    super("the process was killed");
  }
}
