import type { Reason } from "#core/reason.ts";
import { buildRenewal } from "#core/relay-lease.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import { getAnswerCode } from "#kube/client/answer.ts";
import { withSmallAnswers } from "#kube/client/byte-buffer.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import { ABANDONED, type Invocation } from "#platforms/invoker.ts";

/** The liveness of an informer. */
export interface InformerLiveness {
  readonly resource: { readonly name: string };
  /**
   * Returns when a watch or a whole list last delivered something; undefined before the first list is
   * complete.
   */
  heardMs(): number | undefined;
  /**
   * Returns whether the connection was lost and nothing has arrived since: the API server's store may have
   * been reset meanwhile.
   */
  isLost(): boolean;
}

/** A controller's path to its function. */
export interface DeliveringController {
  readonly watch: { readonly name: string };
  /**
   * Returns why objects that need work may not reach the function; undefined if they do or if no object needs
   * work.
   */
  explainUndelivered(nowMs: number): string | undefined;
}

/** Bookmarks come about every minute, and a watch that is silent for this long is ended. */
const ALIVE_MS = 90_000;

/** Decides whether changes in the cluster reach the functions, as far as the relay can see. */
export function decideHeartbeat(
  feeds: Iterable<InformerLiveness>,
  controllers: Iterable<DeliveringController>,
  nowMs: number,
): Heartbeat {
  for (const feed of feeds) {
    const heardMs = feed.heardMs();
    if (heardMs === undefined) return { kind: "too-early" };
    if (feed.isLost())
      return buildDoubt(
        "WatchSilent",
        `the connection was lost, and nothing of ${feed.resource.name} was heard since`,
      );
    const silentMs = nowMs - heardMs;
    if (silentMs > ALIVE_MS)
      return buildDoubt(
        "WatchSilent",
        `nothing was heard of ${feed.resource.name} for ${toSeconds(silentMs)} s`,
      );
  }
  for (const controller of controllers) {
    const why = controller.explainUndelivered(nowMs);
    if (why !== undefined) return buildDoubt("NotDelivered", `${controller.watch.name}: ${why}`);
  }
  return { kind: "vouches" };
}

function buildDoubt(code: Reason["code"], message: string): Heartbeat {
  return { kind: "doubts", because: { code, message } };
}

function toSeconds(milliseconds: number): number {
  return Math.round(milliseconds / 1_000);
}

/** Whether one controller's objects reach its function, for the heartbeat. */
interface DeliveryHealth {
  /** Records the result of an invocation. */
  recordEnd(invocation: Invocation): void;
  /**
   * Returns why objects that need work may not reach the function; undefined if they do. Tenants write
   * the objects in the cluster, so the text contains nothing from there.
   */
  explainUndelivered(pending: PendingWork, nowMs: number): string | undefined;
}

/** A controller's objects that wait for delivery. */
interface PendingWork {
  /** Whether an object will be sent, because it needs work or because objects are resynced. */
  readonly willSend: boolean;
  /** Since when the oldest object that is due and not yet sent has waited; undefined if no object waits. */
  readonly waitingSinceMs: number | undefined;
}

/**
 * Maximum wait of a due object. Batches close within milliseconds, so an object that waits longer is held back
 * by the platform, the account's limit or a missing permit.
 */
const MAX_WAIT_MS = 60_000;

/** Creates the health of a controller that has not invoked its function yet. */
export function createDeliveryHealth(): DeliveryHealth {
  let failureCode: string | undefined;
  return {
    recordEnd(invocation) {
      if (invocation.kind === "report") failureCode = undefined;
      // The relay itself abandoned such an invocation: its end says nothing about the function.
      else if (invocation.code !== ABANDONED) failureCode = invocation.code;
    },
    explainUndelivered({ willSend, waitingSinceMs }, nowMs) {
      // A failure counts only while objects will be sent: otherwise no later invocation could clear it.
      if (failureCode !== undefined && willSend)
        return `its last invocation ended without a report (${failureCode})`;
      const waitedMs = waitingSinceMs === undefined ? 0 : nowMs - waitingSinceMs;
      if (waitedMs > MAX_WAIT_MS) return `objects have waited ${Math.round(waitedMs / 1_000)} s to be sent`;
      return undefined;
    },
  };
}

/** The outcome of one renewal. `withheld` means that there was no proof of delivery, so nothing was sent. */
export type LeaseOutcome = "renewed" | "withheld" | "missing" | "forbidden" | "failed";

/** The state of a cluster's Lease. */
export interface LeaseNote {
  readonly kind: "lease";
  readonly outcome: LeaseOutcome;
  /** Why the Lease was not renewed. */
  readonly because: Reason | undefined;
  /** Whether the outcome differs from the previous one, or is the first. */
  readonly isNews: boolean;
}

/** Whether a relay can prove that changes in a cluster reach the functions. */
export type Heartbeat =
  | { readonly kind: "vouches" }
  | { readonly kind: "doubts"; readonly because: Reason }
  /** The relay has just started. */
  | { readonly kind: "too-early" };

export interface LeaseOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Ends the renewals. */
  readonly signal: AbortSignal;
  readonly heartbeat: () => Heartbeat;
  readonly note: (note: LeaseNote) => void;
}

/** The renewal interval; a Lease is stale after four of these. */
const EVERY_MS = 30_000;

/**
 * Renews the Lease about every 30 s while the heartbeat allows it, and reports each outcome. Resolves when
 * the signal fires.
 */
export async function renewLease(options: LeaseOptions): Promise<void> {
  const { clock, random, signal, note } = options;
  const transport = withSmallAnswers(options.transport);
  let last: LeaseOutcome | undefined;
  // Not sooner: there is nothing to prove until something was received and sent.
  await pause(clock, EVERY_MS * (0.5 + 0.5 * random()), signal);
  while (!signal.aborted) {
    const result = await renewOnce(transport, options);
    if (signal.aborted) return;
    if (result !== undefined) {
      note({ kind: "lease", ...result, isNews: result.outcome !== last });
      last = result.outcome;
    }
    await pause(clock, EVERY_MS * (0.8 + 0.4 * random()), signal);
  }
}

async function renewOnce(
  transport: Transport,
  { clock, signal, heartbeat }: LeaseOptions,
): Promise<Pick<LeaseNote, "outcome" | "because"> | undefined> {
  const found = heartbeat();
  if (found.kind === "too-early") return undefined;
  if (found.kind === "doubts") return { outcome: "withheld", because: found.because };
  try {
    const answer = await sendWrite(transport, buildRenewal(clock.wallTime()), signal);
    if (answer.kind === "applied") return { outcome: "renewed", because: undefined };
    const code = getAnswerCode(answer);
    return { outcome: OUTCOMES[code] ?? "failed", because: { code, message: answer.message } };
  } catch (error) {
    // An error of ours is no reason to stop following the cluster.
    return { outcome: "failed", because: { code: "Unexpected", message: getErrorMessage(error) } };
  }
}

const OUTCOMES: Readonly<Record<string, LeaseOutcome>> = { Gone: "missing", Forbidden: "forbidden" };
