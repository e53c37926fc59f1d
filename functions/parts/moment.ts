import { randomInt, randomUUID } from "node:crypto";
import type { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { isLasting } from "#core/rounds.ts";

/** When everything in an invocation is decided, and by whose clock. */
export interface DecidedAt {
  readonly now: Date;
  readonly clock: string;
}

/** The moment of an invocation: its own, or that of the first of its rounds, which a relay that writes hands from one to the next. */
export function decidedAt({ round }: Event, { writes }: Cluster, now: Date): DecidedAt {
  if (writes === "relay" && round !== undefined && isLasting(round.moment, now))
    return { now: new Date(round.moment.now), clock: round.moment.clock };
  return { now, clock: CLOCK };
}

/** Names one invocation, another one of the same event included: nine digits, not all of them 0. */
export function createActorName(): string {
  return `${randomInt(1, 1_000_000_000)}`.padStart(9, "0");
}

/** Names this process: all its invocations go by the same clock. */
const CLOCK = randomUUID().slice(0, 8);
