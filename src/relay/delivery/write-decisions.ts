import type { Cluster } from "#config/cluster.ts";
import { retry } from "#core/decisions.ts";
import type { Event } from "#core/event.ts";
import { applyPolicies } from "#core/policies.ts";
import type { RelayWriter } from "#core/relay-lease.ts";
import type { DeferredWrites } from "#core/report.ts";
import {
  applyStop,
  describeStop,
  isDeleting,
  isHeldSince,
  type Stop,
  selectTightestStop,
} from "#core/stop.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { type ApplyResult, applyDecisions } from "#kube/apply/apply.ts";
import type { Decider } from "#kube/apply/context.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The dependencies of writing a function's decisions. */
export interface WriteOptions {
  readonly cluster: Cluster;
  readonly watch: Watch;
  readonly writtenAs: RelayWriter;
  readonly transport: Transport;
  readonly now: Date;
  /** No request starts after it fires. */
  readonly signal: AbortSignal;
  /** Reads what operators have stopped for a cluster now; without it only the event's own stop counts. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
}

type Items = Extract<DeferredWrites["next"], { readonly kind: "decisions" }>["items"];

/**
 * Writes a function's decisions with the functions' own writer, under the cluster's policies. `objects` are
 * those that the function received, by position.
 */
export function writeDecisions(
  items: Items,
  objects: ReadonlyMap<number, ApiObject>,
  event: Pick<Event, "cluster" | "hints" | "busy" | "dryRun" | "stop">,
  { cluster, watch, writtenAs: { eventSource }, transport, now, signal, readStop }: WriteOptions,
): Promise<ApplyResult> {
  const { dryRun, labelsOnly } = cluster.policies;
  const policies = { dryRun: dryRun || event.dryRun === true, labelsOnly };
  const again: Decider["decideAgain"] = ({ metadata }) => {
    // The next round sends what the watch shows of the object meanwhile.
    const { apiVersion, kind } = watch.resource;
    const { namespace, name, uid } = metadata;
    const reference = { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, uid };
    return retry(reference, CHANGED, 1);
  };
  return applyDecisions({
    transport,
    controller: { ...watch, eventSource },
    items: items.flatMap(({ index, decision }) => {
      const object = objects.get(index);
      if (object === undefined) return [];
      const { said } = event.hints?.[object.metadata.uid] ?? {};
      return [{ index, object, decision: applyStop(applyPolicies(decision, policies), event.stop), said }];
    }),
    decide: { decideAgain: again, decideNext: () => undefined },
    held: async (write) => {
      const stop = isDeleting(write)
        ? selectTightestStop(event.stop, await readStop?.(event.cluster))
        : event.stop;
      return stop !== undefined && isHeldSince(event.stop, stop, write) ? describeStop(stop) : undefined;
    },
    signal,
    reportingInstance: `serverless-ccm-${watch.functionName}`,
    now,
    maxInFlight: cluster.limits.requestsPerFunction,
    busy: event.busy ?? false,
  });
}

const CHANGED = {
  code: "Conflict",
  message: "the object is not as it was when the function decided on it",
} as const;
