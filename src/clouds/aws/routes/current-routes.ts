import type { Api } from "#clouds/aws/actions/api.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { type FoundTables, findTables, getRouteTargetId } from "#clouds/aws/routes/tables.ts";
import type { Session } from "#clouds/aws/session.ts";
import { toFailure } from "#clouds/outcome.ts";
import type { ActionAnswer } from "#core/capability.ts";
import { canonicalizeCidr, parseCidr } from "#core/cidr.ts";

/** A route to be replaced or deleted, and its target at the time of the decision. */
export interface ExpectedRoute {
  readonly table: string;
  readonly cidr: string;
  readonly leadsTo: string;
}

/** The current target of a route: unchanged, gone, different, or unknown. */
export type CurrentRoute =
  | "same"
  | "missing"
  | Extract<ActionAnswer, { readonly kind: "conflict" | "error" }>;

/**
 * Reads the targets of routes right before a change: EC2 changes a route by its network, whatever its target
 * is by then.
 */
export interface CurrentRoutes {
  /** Never rejects. */
  check(expected: ExpectedRoute, session: Session<Api>): Promise<CurrentRoute>;
}

/** Actions that begin within this time share an observation, so that many deletions need few calls. */
const SHARED_MS = 250;

/** `now` is a monotonic clock in milliseconds. */
export function createCurrentRoutes(cluster: AwsCluster, now: () => number): CurrentRoutes {
  let latest: { readonly startedMs: number; readonly tables: Promise<Outcome<FoundTables>> } | undefined;

  function observe(session: Session<Api>): Promise<Outcome<FoundTables>> {
    const startedMs = now();
    if (latest === undefined || startedMs - latest.startedMs > SHARED_MS)
      latest = { startedMs, tables: findTables(session, cluster, EVERYTHING) };
    return latest.tables;
  }

  return {
    async check({ table: id, cidr, leadsTo }, session) {
      const found = await observe(session);
      if (found.kind === "fault") {
        // The next action reads again.
        latest = undefined;
        return toFailure(found.fault);
      }
      if (found.value.kind === "no-tables") return { kind: "conflict", message: found.value.message };
      const table = found.value.tables.find((each) => each.id === id);
      if (table === undefined)
        return { kind: "conflict", message: `route table ${id} is not the cluster's any more` };
      const network = canonicalizeCidr(cidr);
      const current = table.routes.find((route) => route.cidr === network);
      if (current === undefined) return "missing";
      const target = getRouteTargetId(current);
      if (target === leadsTo) return "same";
      const message = `the route to ${cidr} in ${id} leads to ${target ?? "something else"} now, and led to ${leadsTo}`;
      return { kind: "conflict", message };
    },
  };
}

const EVERYTHING = ["0.0.0.0/0", "::/0"].flatMap((text) => parseCidr(text) ?? []);
