import * as z from "zod";
import { Round } from "#core/rounds.ts";
import { Stop } from "#core/stop.ts";
import { TraceParent } from "#core/trace-context.ts";

/** The version of the event contract of this build; an event of another version is rejected on arrival. */
export const EVENT_VERSION = 1;

/**
 * The version of events whose `stop` must be understood. Older functions reject them; otherwise they would
 * delete despite the stop.
 */
export const STOPPED_EVENT_VERSION = 2;

/** The maximum number of objects in a batch. */
export const MAX_BATCH_OBJECTS = 100;

/** The maximum size of a batch in bytes of JSON; a single larger object is sent alone. */
export const MAX_BATCH_BYTES = 200_000;

/** The largest accepted event, in bytes of JSON; Lambda's own limit for a synchronous call is 6 MB. */
export const MAX_EVENT_BYTES = 5_000_000;

/** The maximum number of reported Warnings that are remembered for one object. */
export const MAX_REPORTED_WARNINGS = 8;

/** The maximum number of deletion candidates that are remembered for one object. */
export const MAX_CANDIDATES = 64;

/** The ID of a deletion candidate; it is only compared between reports, never parsed. */
export const CandidateId = z.string().min(1).max(128);

/** A controller by its canonical name; `src/core/controllers.ts` lists them. */
export const ControllerName = z
  .string()
  .max(63)
  .regex(/^[a-z]([-a-z0-9]*[a-z0-9])?$/, "a controller's name, such as cloud-node-controller");
export type ControllerName = z.output<typeof ControllerName>;

/** Why the relay or the sweep sent this batch. */
export const EventReason = z.enum(["watch", "retry", "refresh", "monitor", "sweep", "replay"]);
export type EventReason = z.output<typeof EventReason>;

/** A cluster, identified by its name alone: never by an endpoint, a credential or a policy. */
export const ClusterName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "lower-case letters, digits, '-' and '.', as a DNS name");
export type ClusterName = z.output<typeof ClusterName>;

/** Objects of another resource that decisions on the batch read, with the fields that they read. */
export const RelatedList = z.object({
  /** The version of the list that contained them, or of its last change. */
  resourceVersion: z.string().min(1),
  items: z.array(z.unknown()),
});
export type RelatedList = z.output<typeof RelatedList>;

/** The sender's facts about one object. */
export const ObjectHint = z.object({
  /** The field manager that keeps reverting our work on the object, as the sender observed it. */
  undoneBy: z.string().min(1).max(128).optional(),
  /** `said` of its last report: Warnings that need not be recorded again. */
  said: z.array(z.string().min(1).max(64)).max(MAX_REPORTED_WARNINGS).optional(),
  /** `candidates` of its last report, each with the seconds for which every report has contained it. */
  candidates: z
    .array(z.object({ id: CandidateId, seconds: z.number().min(0) }))
    .max(MAX_CANDIDATES)
    .optional(),
});
export type ObjectHint = z.output<typeof ObjectHint>;

/**
 * A batch of objects of one cluster for one controller. The function parses `objects` one by one, so that a
 * malformed object fails alone; each is a snapshot in Kubernetes' shape. Unknown fields are dropped, so that
 * a later version may add some; a field that must be understood needs another `version`.
 */
export const Event = z.object({
  version: z.literal([EVENT_VERSION, STOPPED_EVENT_VERSION]),
  id: z.string().min(1).max(128),
  cluster: ClusterName,
  /** The `hash` of the cluster entry as the sender read it. */
  clusterHash: z.string().regex(/^[0-9a-f]{16}$/, "16 hexadecimal digits"),
  controller: ControllerName,
  reason: EventReason,
  objects: z.array(z.unknown()).min(1).max(MAX_BATCH_OBJECTS),
  /** By the plural name of a resource. */
  related: z.record(z.string(), RelatedList).optional(),
  /**
   * The share of the cloud account's API quotas (0 < share ≤ 1) that this event may spend; by default a
   * configured floor.
   */
  budget: z.object({ share: z.number().gt(0).max(1) }).optional(),
  /**
   * Restricts: the number of clusters that the sender knows in the cloud account and region. They divide its
   * quotas if the entry sets no number.
   */
  accountClusters: z.int().min(1).optional(),
  /** By uid: the sender's facts about an object that are not on the object. */
  hints: z.record(z.string(), ObjectHint).optional(),
  /**
   * More objects wait, or arrive faster than they are processed: optional output, such as Normal Events, is
   * left out.
   */
  busy: z.literal(true).optional(),
  /** The span of this delivery as W3C's `traceparent`, if the sender traces. No decision reads it. */
  trace: TraceParent,
  /** Restricts: decide and report, write nothing. An event can never loosen a policy. */
  dryRun: z.literal(true).optional(),
  /** Restricts: what operators have stopped, as the sender read it. */
  stop: Stop.optional(),
  /**
   * In a cluster whose relay writes: what it has read for decisions requested before; ignored in other
   * clusters.
   */
  round: Round.optional(),
});
export type Event = z.output<typeof Event>;
