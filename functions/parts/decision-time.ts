import { randomInt, randomUUID } from "node:crypto";
import type { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { isLasting } from "#core/rounds.ts";

/** The time of all decisions in an invocation, and its clock. */
export interface DecisionTime {
  readonly now: Date;
  readonly clock: string;
}

/**
 * Returns the time of an invocation: its own, or that of its first round, which a writing relay passes from
 * one round to the next.
 */
export function getDecisionTime({ round }: Event, { writes }: Cluster, now: Date): DecisionTime {
  if (writes === "relay" && round !== undefined && isLasting(round.moment, now))
    return { now: new Date(round.moment.now), clock: round.moment.clock };
  return { now, clock: CLOCK };
}

/** Returns a name for one invocation, unique even for the same event: nine digits, not all 0. */
export function createActorName(): string {
  return `${randomInt(1, 1_000_000_000)}`.padStart(9, "0");
}

/** Identifies this process: all its invocations share one clock. */
const CLOCK = randomUUID().slice(0, 8);
