import type { Cluster } from "#config/cluster.ts";
import type { ApiObject, Watch } from "#core/controller.ts";
import { retry } from "#core/decisions.ts";
import type { Event } from "#core/event.ts";
import type { HandedBack } from "#core/handed-back.ts";
import { applyPolicies } from "#core/policies.ts";
import { becauseOfStop, isDeleting, isHeldSince, type Stop, tightest, underStop } from "#core/stop.ts";
import type { WrittenAs } from "#core/written-by-relay.ts";
import { type Applied, applyDecisions } from "#kube/apply/apply.ts";
import type { Decider } from "#kube/apply/context.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What writing decisions of a function takes. */
export interface WriteOptions {
  readonly cluster: Cluster;
  readonly watch: Watch;
  readonly writtenAs: WrittenAs;
  readonly transport: Transport;
  readonly now: Date;
  /** No request starts once it fires. */
  readonly signal: AbortSignal;
  /** What operators have stopped for a cluster, as it can be read now; without it an event's own word counts alone. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
}

type Items = Extract<HandedBack["next"], { readonly kind: "decisions" }>["items"];

/** Writes what a function has decided, with the writer of functions and under the cluster's policies; `objects` are those that it was sent, by place. */
export function writeDecisions(
  items: Items,
  objects: ReadonlyMap<number, ApiObject>,
  event: Pick<Event, "cluster" | "hints" | "busy" | "dryRun" | "stop">,
  { cluster, watch, writtenAs: { eventSource }, transport, now, signal, stopOf }: WriteOptions,
): Promise<Applied> {
  const { dryRun, labelsOnly } = cluster.policies;
  const policies = { dryRun: dryRun || event.dryRun === true, labelsOnly };
  const again: Decider["again"] = ({ metadata }) => {
    // What the watch shows of it meanwhile is sent with it.
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
      return [{ index, object, decision: underStop(applyPolicies(decision, policies), event.stop), said }];
    }),
    decide: { again, next: () => undefined },
    held: async (write) => {
      const stop = isDeleting(write) ? tightest(event.stop, await stopOf?.(event.cluster)) : event.stop;
      return stop !== undefined && isHeldSince(event.stop, stop, write) ? becauseOfStop(stop) : undefined;
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
