import * as z from "zod";
import { Because, Decision } from "#core/decision.ts";
import { CandidateId, ClusterName, ControllerName, MAX_CANDIDATES, MAX_SAID } from "#core/event.ts";
import { HandedBack } from "#core/handed-back.ts";

/** Something in the cloud that nothing in the cluster has a use for any more. */
export const Orphan = z.object({
  /** In the cloud's words. */
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  /** `namespace/name` of what it was made for. */
  service: z.string(),
  code: z.enum(["ServiceGone", "ServiceReplaced"]),
  /** When it was first found; known where orphans are to be deleted. */
  since: z.iso.datetime().optional(),
  /** When its turn to be deleted comes. */
  deletedFrom: z.iso.datetime().optional(),
});
export type Orphan = z.output<typeof Orphan>;

/** Of many orphans so many are named. */
export const MAX_NAMED_ORPHANS = 20;

/** What became of one object of the event; `index` is its place there, and says which one even if it had no name. */
export const ObjectReport = z.object({
  index: z.int().min(0),
  namespace: z.string().optional(),
  name: z.string().optional(),
  uid: z.string().optional(),
  outcome: z.enum(["changed", "unchanged", "skipped", "retry"]),
  because: Because,
  /** With `retry` alone: seconds after which the object is due again. */
  afterSeconds: z.number().min(0).optional(),
  /** With at least one successful write: the object's resourceVersion after the last one. */
  resourceVersion: z.string().optional(),
  /** With at least one successful write: the object's fingerprint (`Looks.fingerprint`) after the last one, as far as it is known. */
  seen: z.string().optional(),
  /** Warnings that are recorded for it, by what tells them apart in their ten minutes; the sender hands them back as a hint. */
  said: z.array(z.string()).max(MAX_SAID).optional(),
  /**
   * What in the cloud nothing in the cluster uses, and is deleted once a later look finds it unused, too; the sender hands them back as a
   * hint. Without it there are none.
   */
  candidates: z.array(CandidateId).max(MAX_CANDIDATES).optional(),
  warnings: z.array(Because).optional(),
  /** Where they were looked for, and the cloud told: how many there are, and some of them. */
  orphans: z.object({ count: z.int().min(0), named: z.array(Orphan).max(MAX_NAMED_ORPHANS) }).optional(),
  /** With a dry run: the decision that was not carried out. */
  decision: Decision.optional(),
});
export type ObjectReport = z.output<typeof ObjectReport>;

/** Requests sent, by what they were. */
export const ClusterUsage = z.object({
  writes: z.int(),
  reads: z.int(),
  conflicts: z.int(),
  throttled: z.int(),
  events: z.int(),
  eventsDropped: z.int(),
});
export type ClusterUsage = z.output<typeof ClusterUsage>;

/** What the cloud was asked: calls by the API's own operation name, how many of them it throttled, and how long we held back. */
export const CloudUsage = z.object({
  calls: z.record(z.string(), z.int()),
  throttled: z.int(),
  waitedMs: z.number(),
});
export type CloudUsage = z.output<typeof CloudUsage>;

/** What a function answers: one entry for each object of the event, in its order. */
export const Report = z.object({
  version: z.literal(1),
  id: z.string(),
  cluster: ClusterName,
  controller: ControllerName,
  objects: z.array(ObjectReport),
  durations: z.object({ cloudMs: z.number(), clusterMs: z.number(), totalMs: z.number() }),
  usage: z.object({ cloud: CloudUsage, cluster: ClusterUsage }),
  /** In a cluster whose relay writes: what that has to do before there is an entry for each object. */
  handedBack: HandedBack.optional(),
});
export type Report = z.output<typeof Report>;
