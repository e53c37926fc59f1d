import * as z from "zod";
import { REPLICA_LABEL } from "#core/contracts.ts";
import { LEASES } from "#core/resources/resource.ts";

/** The content of a replica's Lease: the process that renews it, and what identifies this renewal. */
export interface ReplicaLease {
  /**
   * Identifies the process. The name alone identifies the replica, and two processes may share it by mistake.
   */
  readonly holder: string;
  readonly renewal: string;
}

/** Informative only; live-replicas.ts defines how long replicas wait for each other. */
const LEASE_SECONDS = 5;

/** Parses the Lease of a replica; undefined for any other object. */
export function parseReplicaLease(object: unknown): ReplicaLease | undefined {
  const parsed = Lease.safeParse(object);
  if (!parsed.success) return undefined;
  const { holderIdentity, renewTime } = parsed.data.spec;
  return { holder: holderIdentity, renewal: `${holderIdentity} ${renewTime}` };
}

const Lease = z.object({
  metadata: z.object({ labels: z.object({ [REPLICA_LABEL]: z.string() }) }),
  spec: z.object({ holderIdentity: z.string().min(1).max(512), renewTime: z.string().max(64) }),
});

/** Builds the Lease of a replica, with the required version unless it is new. */
export function buildReplicaLease(name: string, holder: string, now: Date, resourceVersion?: string) {
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
      // A MicroTime of Kubernetes: exactly six digits of a second.
      renewTime: now.toISOString().replace("Z", "000Z"),
    },
  };
}
