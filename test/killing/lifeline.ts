import type { Transport } from "#kube/client/transport.ts";
import { type Call, nameOf } from "#test/clouds/aws/moto/call.ts";
import { isChange } from "#test/clouds/aws/moto/failures.ts";
import type { Gate } from "#test/clouds/aws/moto/start-mended-moto.ts";

/** Where a function is killed: after its k-th change of the cloud or of the cluster. */
export interface KillPoint {
  readonly on: "cloud" | "cluster";
  /** 1 for the first. */
  readonly change: number;
  /** The change was carried out and its answer never read, or it was answered. */
  readonly phase: "landed" | "answered";
}

/**
 * The life of one process. Once it is killed nothing that it still does reaches the cloud or the cluster; what was on its way
 * may land.
 */
export interface Lifeline {
  /** For the proxy before the cloud. */
  readonly gate: Gate;
  /** The API server as this process sees it. */
  transport(inner: Transport): Transport;
  /** What it has changed, in order, such as `elbv2:CreateListener` and `PATCH services/web/status`. */
  readonly changes: readonly { readonly on: KillPoint["on"]; readonly what: string }[];
  /** Whether it came to the point where it is killed. */
  isKilled(): boolean;
}

/** A process that is killed at a point, or never. */
export function createLifeline(point?: KillPoint): Lifeline {
  const changes: { readonly on: KillPoint["on"]; readonly what: string }[] = [];
  let killed = false;

  /** Notes a change that has landed; whether its answer may be read. */
  const landed = (on: KillPoint["on"], what: string): boolean => {
    if (killed) return false;
    changes.push({ on, what });
    if (point?.on !== on || changes.filter((each) => each.on === on).length !== point.change) return true;
    killed = true;
    return point.phase === "answered";
  };

  return {
    gate: {
      enter: () => !killed,
      leave: (call: Call) => (isChange(call) ? landed("cloud", nameOf(call)) : !killed),
    },
    transport: (inner) => ({
      ...inner,
      async send(request) {
        if (killed) throw new Killed();
        const answer = await inner.send(request);
        const isRead = request.method === "GET";
        const path = request.path.replace(/\?.*/, "").split("/").slice(-3).join("/");
        if (isRead ? killed : !landed("cluster", `${request.method} ${path}`)) throw new Killed();
        return answer;
      },
    }),
    changes,
    isKilled: () => killed,
  };
}

class Killed extends Error {
  constructor() {
    super("the process was killed");
  }
}
