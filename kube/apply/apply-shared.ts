import type { Because, ClusterWrite } from "#core/decision.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What came of a write that a whole batch waits for. */
export type SharedOutcome =
  | { readonly kind: "done" }
  /** Somebody else was first: what it was decided on is not so any more. */
  | { readonly kind: "conflict" }
  | { readonly kind: "failed"; readonly because: Because; readonly afterSeconds: number };

/** Sends a write that a whole batch waits for, once; what is not known to be done counts as failed. */
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
