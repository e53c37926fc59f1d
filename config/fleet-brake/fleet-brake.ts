import { RecordError, type RecordStore } from "#config/fleet-brake/record-store.ts";
import { messageOf } from "#core/message-of.ts";
import { admit, type FleetClaim, type FleetHold } from "#core/node-lifecycle/fleet-brake.ts";
import {
  type FleetBrake as Brake,
  fleetRecordText,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";

/** The brake that all clusters of a fleet share. */
export interface FleetBrake {
  /** Lets deletions that nothing proves, as many as there may be; never rejects. What it lets counts, whether or not it is carried out. */
  claim(claim: Omit<FleetClaim, "now">, signal: AbortSignal): Promise<FleetAnswer>;
}

/** What was let, why no more is, and the brake where this very claim has pulled it. */
export interface FleetAnswer {
  readonly granted: readonly string[];
  readonly held: FleetHold | undefined;
  readonly pulled: Brake | undefined;
}

export interface FleetBrakeOptions {
  readonly store: RecordStore;
  readonly now?: () => Date;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** Twenty deletions are let in all: whoever loses so often has met as many others. */
const MAX_ATTEMPTS = 6;
/** Before another attempt, times how many there were. */
const PAUSE_MS = 50;

/** The brake over a record: each claim is compared and swapped, and what cannot be lets nothing. */
export function createFleetBrake(options: FleetBrakeOptions): FleetBrake {
  const { store, now = () => new Date(), clock = systemClock, random = Math.random } = options;
  const nothing = (code: FleetHold["code"], message: string): FleetAnswer => ({
    granted: [],
    held: { code, message: `the node is not deleted: ${message}` },
    pulled: undefined,
  });

  async function attempt(claim: Omit<FleetClaim, "now">, signal: AbortSignal): Promise<FleetAnswer | "lost"> {
    const stored = await store.read(signal);
    if (stored.kind === "absent") return nothing("FleetBrakeUnusable", missing(store.name));
    const read = readFleetRecord(stored.text);
    if (read.kind === "unusable") return nothing("FleetBrakeUnusable", `${store.name} ${read.message}`);
    const { granted, hold, brake, next } = admit(read.record, { ...claim, now: now() });
    if (next !== undefined && !(await store.swap(fleetRecordText(next), stored.version, signal)))
      return "lost";
    return {
      granted,
      held: hold,
      pulled: read.record.brake === undefined ? brake : undefined,
    };
  }

  return {
    async claim(claim, signal) {
      try {
        for (let attempts = 1; attempts <= MAX_ATTEMPTS && !signal.aborted; attempts += 1) {
          const answer = await attempt(claim, signal);
          if (answer !== "lost") return answer;
          await pause(clock, PAUSE_MS * attempts * (0.5 + random()), signal);
        }
      } catch (error) {
        const known = error instanceof RecordError ? "" : `${store.name}: `;
        return nothing("FleetBrakeUnusable", `${known}${messageOf(error)}`);
      }
      return nothing("FleetBrakeContended", `others changed ${store.name} meanwhile; it is tried again`);
    },
  };
}

/** What to do where there is no record: whoever made it anew by himself would have let go of the brake. */
export function missing(name: string): string {
  return `there is no ${name}: make it by "serverless-ccm brake --fleet --reset"`;
}
