import * as z from "zod";
import { REPLICA_LABEL } from "#core/contracts.ts";
import { LEASES } from "#core/resources/resource.ts";

/** What a replica's Lease says: who renews it, and what this renewal is known by. */
export interface ReplicaLease {
  /** Which process; its name alone is the replica's, and would be that of two by mistake. */
  readonly holder: string;
  readonly renewal: string;
}

/** For people and their tools; how long replicas wait for each other is said in live-replicas.ts. */
const LEASE_SECONDS = 5;

/** Reads the Lease of a replica; undefined where it is none. */
export function replicaLeaseOf(object: unknown): ReplicaLease | undefined {
  const parsed = Lease.safeParse(object);
  if (!parsed.success) return undefined;
  const { holderIdentity, renewTime } = parsed.data.spec;
  return { holder: holderIdentity, renewal: `${holderIdentity} ${renewTime}` };
}

const Lease = z.object({
  metadata: z.object({ labels: z.object({ [REPLICA_LABEL]: z.string() }) }),
  spec: z.object({ holderIdentity: z.string().min(1).max(512), renewTime: z.string().max(64) }),
});

/** The Lease of a replica as it is written; with the version that it has to have, unless it is new. */
export function replicaLease(name: string, holder: string, now: Date, resourceVersion?: string) {
  return {
    apiVersion: LEASES.apiVersion,
    kind: LEASES.kind,
    metadata: {
      name,
      labels: { "app.kubernetes.io/name": "serverless-ccm", [REPLICA_LABEL]: "relay" },
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: LEASE_SECONDS,
      // Kubernetes' MicroTime: exactly six digits of a second.
      renewTime: now.toISOString().replace("Z", "000Z"),
    },
  };
}
