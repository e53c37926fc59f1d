import type { Because } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";
import { renewalOf } from "#core/relay-lease.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import { codeOf } from "#kube/client/answer.ts";
import { withSmallAnswers } from "#kube/client/small-answers.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";

/** What became of one renewal. `withheld`: there was no reason to vouch for anything, and nothing was sent. */
export type LeaseOutcome = "renewed" | "withheld" | "missing" | "forbidden" | "failed";

/** How the Lease of a cluster stands with this relay. */
export interface LeaseNote {
  readonly kind: "lease";
  readonly outcome: LeaseOutcome;
  /** Why it was not renewed. */
  readonly because: Because | undefined;
  /** Whether the outcome is another one than the time before, or the first. */
  readonly isNews: boolean;
}

/** Whether a relay can vouch for the way from a cluster to the functions. */
export type Vouching =
  | { readonly kind: "vouches" }
  | { readonly kind: "doubts"; readonly because: Because }
  /** It has only begun. */
  | { readonly kind: "too-early" };

export interface LeaseOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly vouching: () => Vouching;
  readonly note: (note: LeaseNote) => void;
}

/** A Lease is stale after four of these. */
const EVERY_MS = 30_000;

/** Renews the Lease about every 30 s while there is reason to, and says what came of it. Resolves when the signal fires. */
export async function renewLease(options: LeaseOptions): Promise<void> {
  const { clock, random, signal, note } = options;
  const transport = withSmallAnswers(options.transport);
  let last: LeaseOutcome | undefined;
  // Not sooner: until something was heard and sent there is nothing to vouch for.
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
  { clock, signal, vouching }: LeaseOptions,
): Promise<Pick<LeaseNote, "outcome" | "because"> | undefined> {
  const found = vouching();
  if (found.kind === "too-early") return undefined;
  if (found.kind === "doubts") return { outcome: "withheld", because: found.because };
  try {
    const answer = await sendWrite(transport, renewalOf(clock.wallTime()), signal);
    if (answer.kind === "applied") return { outcome: "renewed", because: undefined };
    const code = codeOf(answer);
    return { outcome: OUTCOMES[code] ?? "failed", because: { code, message: answer.message } };
  } catch (error) {
    // A fault of ours, and no reason to follow the cluster no longer.
    return { outcome: "failed", because: { code: "Unexpected", message: messageOf(error) } };
  }
}

const OUTCOMES: Readonly<Record<string, LeaseOutcome>> = { Gone: "missing", Forbidden: "forbidden" };
