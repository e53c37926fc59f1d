import * as z from "zod";
import { ClusterWrite, Decision } from "#core/decision.ts";
import {
  CandidateId,
  ClusterName,
  ControllerName,
  MAX_BATCH_OBJECTS,
  MAX_CANDIDATES,
  MAX_REPORTED_WARNINGS,
} from "#core/event.ts";
import { Reason } from "#core/reason.ts";
import { Moment } from "#core/rounds.ts";

/** A cloud resource that nothing in the cluster uses any more. */
export const Orphan = z.object({
  /** The cloud's term. */
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  /** `namespace/name` of the Service for which it was created. */
  service: z.string(),
  code: z.enum(["ServiceGone", "ServiceReplaced"]),
  /** When it was first found; known if orphans are deleted. */
  since: z.iso.datetime().optional(),
  /** When its turn to be deleted begins. */
  deletedFrom: z.iso.datetime().optional(),
});
export type Orphan = z.output<typeof Orphan>;

/** The maximum number of named orphans. */
export const MAX_NAMED_ORPHANS = 20;

/**
 * The outcome of one object of the event. `index` is its position in the event, which identifies it even
 * without a name.
 */
export const ObjectReport = z.object({
  index: z.int().min(0),
  namespace: z.string().optional(),
  name: z.string().optional(),
  uid: z.string().optional(),
  outcome: z.enum(["changed", "unchanged", "skipped", "retry"]),
  because: Reason,
  /** Only with `retry`: seconds until the object is due again. */
  afterSeconds: z.number().min(0).optional(),
  /** After at least one successful write: the object's resourceVersion after the last one. */
  resourceVersion: z.string().optional(),
  /**
   * After at least one successful write: the object's fingerprint (`ResyncPolicy.fingerprint`) after the last
   * one, if known.
   */
  seen: z.string().optional(),
  /**
   * The keys of Warnings that are recorded for it, valid for ten minutes; the sender returns them as a hint.
   */
  said: z.array(z.string()).max(MAX_REPORTED_WARNINGS).optional(),
  /**
   * The unused cloud resources that are deleted if a later check finds them unused again; the sender returns
   * them as a hint. Absent if nothing is a candidate.
   */
  candidates: z.array(CandidateId).max(MAX_CANDIDATES).optional(),
  warnings: z.array(Reason).optional(),
  /** If they were searched and the cloud answered: their number, and some of them. */
  orphans: z.object({ count: z.int().min(0), named: z.array(Orphan).max(MAX_NAMED_ORPHANS) }).optional(),
  /** In a dry run: the decision that was not carried out. */
  decision: Decision.optional(),
});
export type ObjectReport = z.output<typeof ObjectReport>;

/** The requests sent to the cluster, by type. */
export const ClusterUsage = z.object({
  writes: z.int(),
  reads: z.int(),
  conflicts: z.int(),
  throttled: z.int(),
  events: z.int(),
  eventsDropped: z.int(),
});
export type ClusterUsage = z.output<typeof ClusterUsage>;

/**
 * The requests sent to the cloud: calls by the API's own operation name, throttled calls, and how long we
 * delayed calls.
 */
export const CloudUsage = z.object({
  calls: z.record(z.string(), z.int()),
  throttled: z.int(),
  waitedMs: z.number(),
});
export type CloudUsage = z.output<typeof CloudUsage>;

const Collection = z.object({ apiVersion: z.string().min(1), name: z.string().min(1) });

/** The next step for the caller that can reach the cluster. */
const Next = z.discriminatedUnion("kind", [
  /** Carry these out; the event's other objects already have an entry in the report. */
  z.object({
    kind: z.literal("decisions"),
    items: z
      .array(z.object({ index: z.int().min(0), decision: Decision }))
      .min(1)
      .max(MAX_BATCH_OBJECTS),
  }),
  /** Do this write, for which all objects wait; then read them and their shared state, and invoke again. */
  z.object({ kind: z.literal("shared"), because: Reason, write: ClusterWrite }),
  /** Read their shared state, and invoke again. */
  z.object({
    kind: z.literal("read"),
    state: Collection.extend({
      at: z.object({ namespace: z.string().min(1).optional(), name: z.string().min(1) }),
    }),
    counted: Collection.optional(),
  }),
]);

/** A function's decisions for a cluster that it cannot write to, as data: nothing of it is done yet. */
export const DeferredWrites = z.object({ moment: Moment, next: Next });
export type DeferredWrites = z.output<typeof DeferredWrites>;

/** A function's result: one entry for each object of the event, in its order. */
export const Report = z.object({
  version: z.literal(1),
  id: z.string(),
  cluster: ClusterName,
  controller: ControllerName,
  objects: z.array(ObjectReport),
  durations: z.object({ cloudMs: z.number(), clusterMs: z.number(), totalMs: z.number() }),
  usage: z.object({ cloud: CloudUsage, cluster: ClusterUsage }),
  /** In a cluster whose relay writes: what the relay must do before every object has an entry. */
  handedBack: DeferredWrites.optional(),
});
export type Report = z.output<typeof Report>;

/** The usage of an invocation that did not ask the cloud. */
export const NO_CLOUD_USAGE: CloudUsage = { calls: {}, throttled: 0, waitedMs: 0 };

/** The usage of an invocation that sent nothing to the cluster. */
export const NO_CLUSTER_USAGE: ClusterUsage = {
  writes: 0,
  reads: 0,
  conflicts: 0,
  throttled: 0,
  events: 0,
  eventsDropped: 0,
};

/** Returns the total cloud usage of two parts of an invocation. */
export function addUsage(a: CloudUsage, b: CloudUsage): CloudUsage {
  const calls = { ...a.calls };
  for (const [operation, count] of Object.entries(b.calls))
    calls[operation] = (calls[operation] ?? 0) + count;
  return { calls, throttled: a.throttled + b.throttled, waitedMs: a.waitedMs + b.waitedMs };
}

/** Returns the total cluster usage of two parts of an invocation. */
export function addClusterUsage(a: ClusterUsage, b: ClusterUsage): ClusterUsage {
  return {
    writes: a.writes + b.writes,
    reads: a.reads + b.reads,
    conflicts: a.conflicts + b.conflicts,
    throttled: a.throttled + b.throttled,
    events: a.events + b.events,
    eventsDropped: a.eventsDropped + b.eventsDropped,
  };
}

/** The facts of one orphan in a log line; the writer adds the report that contained it. */
type OrphanFacts = Readonly<Record<string, unknown>>;

/**
 * Returns the facts of a log line for each orphan named in reports. The first line has the number of load
 * balancers if not all are named.
 */
export function buildOrphanFacts(reports: readonly ObjectReport[]): readonly OrphanFacts[] {
  return reports.flatMap(({ orphans: { count, named } = NONE }) =>
    named.slice(0, MAX_NAMED_ORPHANS).map((orphan, index): OrphanFacts => {
      const { kind, id: target, service, code, since, deletedFrom } = orphan;
      const [namespace, name] = service.split("/");
      const facts = { kind, target, namespace, name, code, since, deletedFrom };
      const all = index === 0 && count > named.length ? { count } : {};
      return { ...facts, ...all };
    }),
  );
}

const NONE: NonNullable<ObjectReport["orphans"]> = { count: 0, named: [] };
