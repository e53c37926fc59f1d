import type { Api } from "#clouds/aws/actions/api.ts";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { type FoundTables, findTables, routeTargetId } from "#clouds/aws/routes/tables.ts";
import type { Session } from "#clouds/aws/session.ts";
import { failureOf } from "#clouds/observation.ts";
import type { ActionAnswer } from "#core/capability.ts";
import { canonicalCidr, parseCidr } from "#core/cidr.ts";

/** A route that is about to be replaced or deleted, and what it led to when that was decided. */
export interface ExpectedRoute {
  readonly table: string;
  readonly cidr: string;
  readonly leadsTo: string;
}

/** Where a route leads now: where it did, nowhere as it is gone, elsewhere, or nobody can tell. */
export type CurrentRoute =
  | "same"
  | "missing"
  | Extract<ActionAnswer, { readonly kind: "conflict" | "error" }>;

/** Reads where routes lead right before they are changed: EC2 changes a route by its network, whatever it leads to by then. */
export interface CurrentRoutes {
  /** Never rejects. */
  check(expected: ExpectedRoute, session: Session<Api>): Promise<CurrentRoute>;
}

/** Actions that begin within this time of an observation share it, so that many deletions take few calls. */
const SHARED_MS = 250;

/** `now` is in milliseconds, of a clock that never goes back. */
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
        // The next action asks for itself.
        latest = undefined;
        return failureOf(found.fault);
      }
      if (found.value.kind === "no-tables") return { kind: "conflict", message: found.value.message };
      const table = found.value.tables.find((each) => each.id === id);
      if (table === undefined)
        return { kind: "conflict", message: `route table ${id} is not the cluster's any more` };
      const network = canonicalCidr(cidr);
      const current = table.routes.find((route) => route.cidr === network);
      if (current === undefined) return "missing";
      const target = routeTargetId(current);
      if (target === leadsTo) return "same";
      const message = `the route to ${cidr} in ${id} leads to ${target ?? "something else"} by now, and led to ${leadsTo}`;
      return { kind: "conflict", message };
    },
  };
}

const EVERYTHING = ["0.0.0.0/0", "::/0"].flatMap((text) => parseCidr(text) ?? []);
