import type { Reason } from "#core/reason.ts";
import { buildRenewal } from "#core/relay-lease.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import { getAnswerCode } from "#kube/client/answer.ts";
import { withSmallAnswers } from "#kube/client/byte-buffer.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";

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
