import * as z from "zod";
import type { Because, Decision, Write } from "#core/decision.ts";
import { dryRun } from "#core/policies.ts";

/** What an operator can stop. `writes`: all of them, in the cluster and in its cloud; `deletes`: what takes something away. */
export const StopKind = z.enum(["writes", "deletes"]);
export type StopKind = z.output<typeof StopKind>;

/**
 * What holds for an event. `unproven`: nobody can read by now what is stopped, and what is deleted for want of something, rather than for
 * its own end, stays until somebody can.
 */
export const Stop = z.enum([...StopKind.options, "unproven"]);
export type Stop = z.output<typeof Stop>;

/** The one of them that holds back the most: whoever adds a stop tightens. */
export function tightest(...stops: readonly (Stop | undefined)[]): Stop | undefined {
  return Stop.options.find((each) => stops.includes(each));
}

/**
 * Whether a write takes away what somebody may be using: an object, a resource of the cloud, a target, a rule. Tags are none of it, as
 * they are also how a deletion is called off.
 */
export function isDeleting(write: Write): boolean {
  if (write.on === "cluster") return write.verb === "delete";
  const operation = write.action.slice(write.action.indexOf(":") + 1);
  return /^(delete|deregister|detach|release|remove|revoke)/i.test(operation) && !operation.endsWith("Tags");
}

/**
 * Whether a stop holds a write back that was decided under it. Which nodes are deleted while nobody knows what is stopped their own
 * controller decides; in the cloud, what goes for want of an object stays.
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

/** Whether a write is held back by what holds `now`, where it was decided under `before`. */
export function isHeldSince(before: Stop | undefined, now: Stop | undefined, write: Write): boolean {
  if (now === undefined) return false;
  return isHeldBy(now, write) || (now !== before && isDeleting(write));
}

/** The decision as a stop leaves it: what it holds back goes, and what would only come after that. */
export function underStop(decision: Decision, stop: Stop | undefined): Decision {
  if (stop === undefined) return decision;
  if (stop === "writes") return withoutWrites(decision);
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
  const stopped = becauseOfStop(stop, because.message);
  if (first === undefined) return { kind: "skip", object, because: stopped };
  // What is left is not what the Events are about.
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

/** Why nothing, or not all, is done; `what` is what would be. */
export function becauseOfStop(stop: Stop, what?: string): Because {
  return { code: "Stopped", message: `${WORDS[stop]}${what === undefined ? "" : `: ${what}`}` };
}

const WORDS = {
  writes: "an operator has stopped writes",
  deletes: "an operator has stopped deletes",
  unproven: "what operators have stopped cannot be read, and this deletion is not proven by itself",
} as const satisfies Record<Stop, string>;

function withoutWrites(decision: Decision): Decision {
  const dry = dryRun(decision);
  if (decision.kind !== "change") return dry;
  return { kind: "skip", object: dry.object, because: becauseOfStop("writes", dry.because.message) };
}
