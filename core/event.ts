import * as z from "zod";
import { Round } from "#core/rounds.ts";
import { Stop } from "#core/stop.ts";
import { TraceParent } from "#core/trace-context.ts";

/** The version of the event contract that this build speaks; an event of another one is rejected at the door. */
export const EVENT_VERSION = 1;

/** That of events whose `stop` has to be understood: a function that is older rejects them, and would delete what it was sent otherwise. */
export const STOPPED_EVENT_VERSION = 2;

/** A batch closes at this many objects … */
export const MAX_BATCH_OBJECTS = 100;

/** … or at this many bytes of JSON, whichever comes first; one object that is larger alone goes alone. */
export const MAX_BATCH_BYTES = 200_000;

/** The largest event that is accepted at all, in bytes of JSON; Lambda's own limit for a synchronous call is 6 MB. */
export const MAX_EVENT_BYTES = 5_000_000;

/** Of one object, Warnings that are remembered as recorded. */
export const MAX_SAID = 8;

/** Of one object, deletion candidates that are remembered. */
export const MAX_CANDIDATES = 64;

/** The name of a deletion candidate: what is compared from one report to the next, and never read. */
export const CandidateId = z.string().min(1).max(128);

/** A controller by its canonical name; which there are, `core/watches.ts` knows. */
export const ControllerName = z
  .string()
  .max(63)
  .regex(/^[a-z]([-a-z0-9]*[a-z0-9])?$/, "a controller's name, such as cloud-node-controller");
export type ControllerName = z.output<typeof ControllerName>;

/** What made the relay (or the sweep) send this batch. */
export const EventReason = z.enum(["watch", "retry", "refresh", "monitor", "sweep", "replay"]);
export type EventReason = z.output<typeof EventReason>;

/** A cluster is spoken of by its name alone: never by an endpoint, a credential or a policy. */
export const ClusterName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "lower-case letters, digits, '-' and '.', as a DNS name");
export type ClusterName = z.output<typeof ClusterName>;

/** Objects of another resource that decisions on the batch read, cut down to what they read of them. */
export const RelatedList = z.object({
  /** Of the list that they were seen in, or of the last change to it. */
  resourceVersion: z.string().min(1),
  items: z.array(z.unknown()),
});
export type RelatedList = z.output<typeof RelatedList>;

/** What a sender knows of one object. */
export const ObjectHint = z.object({
  /** The field manager that keeps undoing our work on it, as the sender saw it. */
  undoneBy: z.string().min(1).max(128).optional(),
  /** `said` of its last report: Warnings that need not be recorded once more. */
  said: z.array(z.string().min(1).max(64)).max(MAX_SAID).optional(),
  /** `candidates` of its last report, each with the seconds for which every report has named it. */
  candidates: z
    .array(z.object({ id: CandidateId, seconds: z.number().min(0) }))
    .max(MAX_CANDIDATES)
    .optional(),
});
export type ObjectHint = z.output<typeof ObjectHint>;

/**
 * A batch of objects of one cluster for one controller. `objects` are parsed one by one by the function that
 * the event is for, so that a malformed object fails alone; each is a snapshot in Kubernetes' shape. Fields that are unknown
 * here are dropped, so that a later version may add some; what has to be understood takes another `version`.
 */
export const Event = z.object({
  version: z.literal([EVENT_VERSION, STOPPED_EVENT_VERSION]),
  id: z.string().min(1).max(128),
  cluster: ClusterName,
  /** The `hash` of the cluster as the sender read it. */
  clusterHash: z.string().regex(/^[0-9a-f]{16}$/, "16 hexadecimal digits"),
  controller: ControllerName,
  reason: EventReason,
  objects: z.array(z.unknown()).min(1).max(MAX_BATCH_OBJECTS),
  /** By the plural of a resource. */
  related: z.record(z.string(), RelatedList).optional(),
  /** The part of the cloud account's API quotas (0 < share ≤ 1) that this event may spend; a configured floor without it. */
  budget: z.object({ share: z.number().gt(0).max(1) }).optional(),
  /** Tightens: clusters that the sender knows in the cloud account and region, which divide its quotas where the entry says nothing. */
  accountClusters: z.int().min(1).optional(),
  /** By uid: what the sender knows of an object that is not on it. */
  hints: z.record(z.string(), ObjectHint).optional(),
  /** More objects wait, or come faster than they are done: what none of them needs, such as Normal Events, is left out. */
  busy: z.literal(true).optional(),
  /** The span of this delivery as W3C's `traceparent`, where the sender traces. It decides nothing. */
  trace: TraceParent,
  /** Tightens: decide and report, write nothing. An event can never loosen a policy. */
  dryRun: z.literal(true).optional(),
  /** Tightens: what operators have stopped, as the sender read it. */
  stop: Stop.optional(),
  /** In a cluster whose relay writes, what it has read for decisions that were asked for before; elsewhere it is not looked at. */
  round: Round.optional(),
});
export type Event = z.output<typeof Event>;
