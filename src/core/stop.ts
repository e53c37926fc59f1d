import * as z from "zod";
import type { Decision, Write } from "#core/decision.ts";
import { applyDryRun } from "#core/policies.ts";
import type { Reason } from "#core/reason.ts";

/**
 * What an operator can stop. `writes`: all writes, in the cluster and in its cloud; `deletes`: all deletions.
 */
export const StopKind = z.enum(["writes", "deletes"]);
export type StopKind = z.output<typeof StopKind>;

/**
 * The stop of an event. `unproven`: the stop switch cannot be read now. Then deletions that rest on an
 * absence, and not on an instance's own end, wait until it can be read.
 */
export const Stop = z.enum([...StopKind.options, "unproven"]);
export type Stop = z.output<typeof Stop>;

/** Returns the stop that holds back the most: an additional stop can only restrict. */
export function selectTightestStop(...stops: readonly (Stop | undefined)[]): Stop | undefined {
  return Stop.options.find((each) => stops.includes(each));
}

/**
 * Returns whether a write removes something that may be in use: an object, a cloud resource, a target, a
 * rule. Tags do not count, because they also serve to cancel a deletion.
 */
export function isDeleting(write: Write): boolean {
  if (write.on === "cluster") return write.verb === "delete";
  const operation = write.action.slice(write.action.indexOf(":") + 1);
  return /^(delete|deregister|detach|release|remove|revoke)/i.test(operation) && !operation.endsWith("Tags");
}

/**
 * Returns whether a stop holds back a write that was decided under it. While the stop is unknown, the
 * lifecycle controller decides which nodes are deleted; in the cloud, deletions for a missing object are held
 * back.
 */
export function isHeldBy(stop: Stop, write: Write): boolean {
  switch (stop) {
    case "writes":
      return true;
    case "deletes":
      return isDeleting(write);
    case "unproven":
      return isDeleting(write) && write.on === "cloud" && write.precondition.absent !== undefined;
  }
}

/** Returns whether the stop `now` holds back a write that was decided under the stop `before`. */
export function isHeldSince(before: Stop | undefined, now: Stop | undefined, write: Write): boolean {
  if (now === undefined) return false;
  return isHeldBy(now, write) || (now !== before && isDeleting(write));
}

/**
 * Returns the decision under a stop, without the writes that it holds back and those that come only after
 * them.
 */
export function applyStop(decision: Decision, stop: Stop | undefined): Decision {
  if (stop === undefined) return decision;
  if (stop === "writes") return removeWrites(decision);
  if (decision.kind !== "change" || !decision.writes.some((write) => isHeldBy(stop, write))) return decision;
  const { object, because, writes, warnings, independent } = decision;
  const isFree = (write: Write): boolean => !isHeldBy(stop, write);
  const left = independent
    ? writes.filter(isFree)
    : writes.slice(
        0,
        writes.findIndex((each) => !isFree(each)),
      );
  const [first, ...rest] = left;
  const stopped = describeStop(stop, because.message);
  if (first === undefined) return { kind: "skip", object, because: stopped };
  // The remaining writes are not what the Events report.
  return {
    kind: "change",
    object,
    because: stopped,
    writes: [first, ...rest],
    ...(independent === undefined ? {} : { independent }),
    events: [],
    warnings,
  };
}

/** Returns why nothing, or not all, is done; `what` names the work. */
export function describeStop(stop: Stop, what?: string): Reason {
  return { code: "Stopped", message: `${WORDS[stop]}${what === undefined ? "" : `: ${what}`}` };
}

const WORDS = {
  writes: "an operator has stopped writes",
  deletes: "an operator has stopped deletes",
  unproven: "what operators have stopped cannot be read, and this deletion is not proven by itself",
} as const satisfies Record<Stop, string>;

function removeWrites(decision: Decision): Decision {
  const dry = applyDryRun(decision);
  if (decision.kind !== "change") return dry;
  return { kind: "skip", object: dry.object, because: describeStop("writes", dry.because.message) };
}
