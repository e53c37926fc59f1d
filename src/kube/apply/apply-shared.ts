import type { ClusterWrite } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The result of a shared write. */
export type SharedOutcome =
  | { readonly kind: "done" }
  /** Another writer was first; the state of the decision is outdated. */
  | { readonly kind: "conflict" }
  | { readonly kind: "failed"; readonly because: Reason; readonly afterSeconds: number };

/** Sends a shared write once; an unknown result counts as a failure. */
export async function applyShared(
  transport: Transport,
  write: ClusterWrite,
  signal: AbortSignal,
): Promise<SharedOutcome> {
  const answer = await sendWrite(transport, write, signal);
  const failed = (code: string, message: string, afterSeconds: number): SharedOutcome => ({
    kind: "failed",
    because: { code, message },
    afterSeconds,
  });
  switch (answer.kind) {
    case "applied":
      return { kind: "done" };
    case "conflict":
    case "exists":
    case "gone":
      return { kind: "conflict" };
    case "rejected":
      return failed(answer.status === 403 ? "Forbidden" : "Rejected", answer.message, 30);
    case "throttled":
      return failed("Throttled", answer.message, answer.retryAfterSeconds);
    case "unauthenticated":
      return failed("Unauthenticated", answer.message, 5);
    case "unavailable":
      return failed("Unavailable", answer.message, 2);
  }
}
