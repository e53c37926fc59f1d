import { type LeaseState, parseLeaseState, RELAY_LEASE_NAME } from "#core/relay-lease.ts";
import { LEASES } from "#core/resources/resource.ts";
import { readObject } from "#kube/apply/requests.ts";
import { withSmallAnswers } from "#kube/client/small-answers.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The state of a cluster's relay, read with one request. */
export type LeaseRead =
  | LeaseState
  /** No answer came: other requests would fail as well. */
  | { readonly kind: "unreachable"; readonly code: string; readonly message: string };

/** Reads the Lease of a cluster's relay. */
export async function readLease(transport: Transport, now: Date, signal: AbortSignal): Promise<LeaseRead> {
  const read = await readObject(
    withSmallAnswers(transport),
    LEASES,
    RELAY_LEASE_NAME,
    // A malformed Lease is part of the relay's state.
    (value) => ({ kind: "object", object: parseLeaseState(value, now) }),
    signal,
  );
  if (read.kind === "object") return read.object;
  if (read.kind === "gone") return { kind: "missing" };
  const { message } = read;
  if (read.kind !== "unavailable" || read.code === undefined || read.code === "AnswerTooLarge")
    return { kind: "unreadable", message };
  return { kind: "unreachable", code: read.code, message };
}
