import * as z from "zod";
import {
  NODE_EVENT_SOURCE,
  NODE_LIFECYCLE_EVENT_SOURCE,
  RELAY_LEASE,
  SYSTEM_NAMESPACE,
} from "#core/contracts.ts";
import { csrWatch } from "#core/csr/watch.ts";
import type { PatchWrite } from "#core/decision.ts";
import type { ControllerName } from "#core/event.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { LEASES, type ObjectName } from "#core/resources/resource.ts";

/** The name of the Lease of a cluster's relay. */
export const RELAY_LEASE_NAME: ObjectName = { namespace: SYSTEM_NAMESPACE, name: RELAY_LEASE };

/** A Lease proves nothing if it was not renewed within this time. */
export const STALE_AFTER_MS = 120_000;

/**
 * The maximum difference between the clocks of two machines; a Lease renewed further in the future proves
 * nothing.
 */
const MAX_SKEW_MS = 60_000;

/**
 * Returns the write with which any relay renews the Lease, in one request without a read. Its precondition is
 * that the manifest marks the Lease as a relay's. So two relays both renew it, and a Lease with another
 * purpose stays unchanged.
 */
export function buildRenewal(now: Date): PatchWrite {
  return {
    on: "cluster",
    apiVersion: LEASES.apiVersion,
    resource: LEASES.name,
    ...RELAY_LEASE_NAME,
    verb: "patch",
    precondition: [{ op: "test", path: "/spec/holderIdentity", value: RELAY_LEASE }],
    patch: [{ op: "add", path: "/spec/renewTime", value: formatMicroTime(now) }],
  };
}

/**
 * What the Lease proves about the path from the cluster to the functions; only `fresh` proves that it works.
 */
export type LeaseState =
  /** Renewed recently. */
  | { readonly kind: "fresh"; readonly ageMs: number }
  /** Not renewed for two minutes; without an age, never renewed. */
  | { readonly kind: "stale"; readonly ageMs?: number }
  | { readonly kind: "missing" }
  /** It could not be read, or is not a relay's Lease. */
  | { readonly kind: "unreadable"; readonly message: string };

/** Reads what a Lease from the API server proves at a time; never throws. */
export function parseLeaseState(lease: unknown, now: Date): LeaseState {
  const parsed = Lease.safeParse(lease);
  if (!parsed.success) return { kind: "unreadable", message: "what is there is no Lease of a relay" };
  const { renewTime } = parsed.data.spec;
  if (renewTime === undefined || renewTime === null) return { kind: "stale" };
  const ageMs = now.getTime() - Date.parse(renewTime);
  if (!(ageMs >= -MAX_SKEW_MS))
    return { kind: "unreadable", message: "its renewal time is in the future or invalid" };
  return ageMs < STALE_AFTER_MS ? { kind: "fresh", ageMs: Math.max(0, ageMs) } : { kind: "stale", ageMs };
}

const Lease = z.object({
  spec: z.object({ holderIdentity: z.literal(RELAY_LEASE), renewTime: z.string().max(64).nullish() }),
});

/** Kubernetes' MicroTime: exactly six fractional digits. */
function formatMicroTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}

/** The identity with which the relay writes a controller's decisions. */
export interface RelayWriter {
  readonly identity: FunctionIdentity;
  /** The `source.component` of the controller's Events. */
  readonly eventSource: string;
}

/**
 * The controllers whose decisions a relay can carry out: those that change only the cluster. A controller
 * that changes the cloud reads the cluster between its actions, which needs a function with access to it.
 */
const WRITTEN: Readonly<Record<ControllerName, RelayWriter>> = {
  [nodeWatch.name]: { identity: "node", eventSource: NODE_EVENT_SOURCE },
  [nodeLifecycleWatch.name]: { identity: "node-lifecycle", eventSource: NODE_LIFECYCLE_EVENT_SOURCE },
  [csrWatch.name]: { identity: "csr", eventSource: csrWatch.name },
};

/** The names of the controllers for which relays can write. */
export const WRITABLE_BY_RELAY: readonly ControllerName[] = Object.keys(WRITTEN);

/** Returns the identity with which the relay writes for a controller; undefined if it cannot. */
export function findRelayWriter(controller: ControllerName): RelayWriter | undefined {
  return Object.hasOwn(WRITTEN, controller) ? WRITTEN[controller] : undefined;
}
