import { admit, type FleetClaim } from "#core/node-lifecycle/fleet-brake.ts";
import {
  type FleetBrake as Brake,
  type FleetHold,
  formatFleetRecord,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";

/** The brake that all clusters of a fleet share. */
export interface FleetBrake {
  /**
   * Claims unproven deletions, up to the limit. Never rejects. A granted deletion counts even if it is not
   * carried out.
   */
  claim(claim: Omit<FleetClaim, "now">, signal: AbortSignal): Promise<FleetAnswer>;
}

/** The granted deletions, why the others are held, and whether this claim has engaged the brake. */
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

/** The brake grants twenty deletions in all, so a claim with this many conflicts met as many others. */
const MAX_ATTEMPTS = 6;

/** Pause before the next attempt, multiplied by the number of attempts. */
const PAUSE_MS = 50;

/**
 * Creates a fleet brake over a record. It writes each claim by compare-and-swap; a claim that cannot be
 * written grants nothing.
 */
export function createFleetBrake(options: FleetBrakeOptions): FleetBrake {
  const { store, now = () => new Date(), clock = systemClock, random = Math.random } = options;
  const nothing = (code: FleetHold["code"], message: string): FleetAnswer => ({
    granted: [],
    held: { code, message: `the node is not deleted: ${message}` },
    pulled: undefined,
  });

  async function attempt(claim: Omit<FleetClaim, "now">, signal: AbortSignal): Promise<FleetAnswer | "lost"> {
    const stored = await store.read(signal);
    if (stored.kind === "absent") return nothing("FleetBrakeUnusable", describeMissingRecord(store.name));
    const read = readFleetRecord(stored.text);
    if (read.kind === "unusable") return nothing("FleetBrakeUnusable", `${store.name} ${read.message}`);
    const { granted, hold, brake, next } = admit(read.record, { ...claim, now: now() });
    if (next !== undefined && !(await store.swap(formatFleetRecord(next), stored.version, signal)))
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
        return nothing("FleetBrakeUnusable", `${known}${getErrorMessage(error)}`);
      }
      return nothing("FleetBrakeContended", `others changed ${store.name} meanwhile; the controller retries`);
    },
  };
}

/** Explains what to do when the record is missing: creating it automatically would release the brake. */
export function describeMissingRecord(name: string): string {
  return `there is no ${name}: make it by "serverless-ccm brake --fleet --reset"`;
}

/** The store of a fleet's record: one document with compare-and-swap. */
export interface RecordStore {
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** Reads the current document, never a stale copy. Rejects with `RecordError` if it is unreadable. */
  read(signal: AbortSignal): Promise<StoredRecord>;
  /**
   * Replaces the document of this version, or creates it if `version` is undefined. Returns false if another
   * writer was first and nothing was written. Rejects with `RecordError` if the result of the write is
   * unknown.
   */
  swap(text: string, version: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** The stored document; empty if it was never written. */
export type StoredRecord =
  | { readonly kind: "absent" }
  | { readonly kind: "stored"; readonly text: string; readonly version: string };

/** The record cannot be read or written. The message says why and what to do. */
export class RecordError extends Error {
  override readonly name = "RecordError";
}
