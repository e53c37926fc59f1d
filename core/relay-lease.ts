import * as z from "zod";
import { RELAY_LEASE, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { PatchWrite } from "#core/decision.ts";
import { LEASES, type ObjectName } from "#core/resources/resource.ts";

/** Where the Lease of a cluster's relay is. */
export const RELAY_LEASE_NAME: ObjectName = { namespace: SYSTEM_NAMESPACE, name: RELAY_LEASE };

/** A Lease that was not renewed for so long vouches for nothing. */
export const STALE_AFTER_MS = 120_000;

/** The clocks of two machines differ by less; a Lease that was renewed further in the future says nothing. */
const MAX_SKEW_MS = 60_000;

/**
 * The write with which a relay renews it: by whichever relay, in one request and without a read. Its precondition is that the Lease
 * is a relay's, which the manifest says: two relays both renew it, and what somebody has made into another Lease is left alone.
 */
export function renewalOf(now: Date): PatchWrite {
  return {
    on: "cluster",
    apiVersion: LEASES.apiVersion,
    resource: LEASES.name,
    ...RELAY_LEASE_NAME,
    verb: "patch",
    precondition: [{ op: "test", path: "/spec/holderIdentity", value: RELAY_LEASE }],
    patch: [{ op: "add", path: "/spec/renewTime", value: microTime(now) }],
  };
}

/** What the Lease says of the way from the cluster to the functions; all but `fresh` is no word for it. */
export type LeaseState =
  /** Renewed not long ago. */
  | { readonly kind: "fresh"; readonly ageMs: number }
  /** Not renewed for two minutes; never yet, where no age is known. */
  | { readonly kind: "stale"; readonly ageMs?: number }
  | { readonly kind: "missing" }
  /** It could not be read, or is none of a relay's. */
  | { readonly kind: "unreadable"; readonly message: string };

/** Reads what a Lease, as it came from the API server, says at a moment; never throws. */
export function leaseStateOf(lease: unknown, now: Date): LeaseState {
  const parsed = Lease.safeParse(lease);
  if (!parsed.success) return { kind: "unreadable", message: "what is there is no Lease of a relay" };
  const { renewTime } = parsed.data.spec;
  if (renewTime === undefined || renewTime === null) return { kind: "stale" };
  const ageMs = now.getTime() - Date.parse(renewTime);
  if (!(ageMs >= -MAX_SKEW_MS))
    return { kind: "unreadable", message: "it was renewed at a time that has not come, or that is none" };
  return ageMs < STALE_AFTER_MS ? { kind: "fresh", ageMs: Math.max(0, ageMs) } : { kind: "stale", ageMs };
}

const Lease = z.object({
  spec: z.object({ holderIdentity: z.literal(RELAY_LEASE), renewTime: z.string().max(64).nullish() }),
});

/** Kubernetes' MicroTime: exactly six digits of a second. */
function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
