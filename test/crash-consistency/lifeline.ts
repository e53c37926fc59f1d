import type { Transport } from "#kube/client/transport.ts";
import type { Gate } from "#test/clouds/load-balancer-world.ts";

/**
 * The point where a function is killed: after its k-th change of the cloud or of the cluster, or after its
 * k-th Event. Events are counted separately, because the function drops them when a busy API server leaves no
 * time.
 */
export interface KillPoint {
  readonly on: "cloud" | "cluster" | "events";
  /** The number of the change, from 1. */
  readonly change: number;
  /** `landed`: the change was made, but its answer was never read. `answered`: the answer was read. */
  readonly phase: "landed" | "answered";
}

/** The disturbance that a process meets. */
export type Fate =
  | { readonly kind: "killed"; readonly at: KillPoint }
  /** The k-th change of the cloud is rejected, or made without an answer, and the process continues. */
  | { readonly kind: "throttled" | "answer lost"; readonly change: number };

/**
 * The life of one process. After the kill nothing from it reaches the cloud or the cluster, but requests
 * already on their way may land.
 */
export interface Lifeline {
  /** For the gate in front of the cloud. */
  readonly gate: Gate;
  /** Wraps the API server's transport for this process. */
  transport(inner: Transport): Transport;
  /** The changes that it made, in order, such as `elbv2:CreateListener` and `PATCH services/web/status`. */
  readonly changes: readonly { readonly on: KillPoint["on"]; readonly what: string }[];
  /** Whether it reached the point where it is killed. */
  isKilled(): boolean;
  /** Whether the disturbance happened. */
  hasMet(): boolean;
}

/** Creates the lifeline of a process, with a disturbance if given. */
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

  /** Records a change that has landed, and returns whether its answer may be read. */
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
        // A rejected request changes nothing; an API server rejects all until it knows new rights.
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
