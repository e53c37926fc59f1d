import { IDENTITIES, type Identity, userOf } from "#core/identities.ts";

/** A user of a test or demo API server, known by a bearer token. */
export interface ControlPlaneUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** One request, as the API server itself recorded it. */
export interface RequestRecord {
  readonly user: string;
  /** Kubernetes' verb: get, list, watch, create, update, patch, delete. */
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  /** HTTP status. */
  readonly code: number;
  /** Milliseconds since the epoch at which the answer was complete. */
  readonly at: number;
}

/** The identities that tests, demo and bench use. `admin` is in system:masters and is the world outside, never ours. */
export type ControlPlaneUsers = Readonly<Record<"admin" | Identity, ControlPlaneUser>>;

/** The users' names are those that the bindings in infra/rbac/ name. */
export const CONTROL_PLANE_USERS: ControlPlaneUsers = {
  admin: { name: "admin", groups: ["system:masters"] },
  relay: ourUser("relay"),
  node: ourUser("node"),
  "node-lifecycle": ourUser("node-lifecycle"),
  csr: ourUser("csr"),
  service: ourUser("service"),
  route: ourUser("route"),
  tagging: ourUser("tagging"),
  sweep: ourUser("sweep"),
  "ec2-events": ourUser("ec2-events"),
};

/** The names of all users that are ours. */
export const OUR_USERS: readonly string[] = IDENTITIES.map(userOf);

function ourUser(identity: Identity): ControlPlaneUser {
  return { name: userOf(identity), groups: ["serverless-ccm"] };
}

/**
 * A running API server with its store, embedded or real; both are started for a folder that holds all their files,
 * and listen on 127.0.0.1 on a free port.
 */
export interface ControlPlane {
  readonly kind: "embedded" | "kube-apiserver";
  /** `https://127.0.0.1:port`; the same after `restart`. */
  readonly server: string;
  readonly certificateAuthorityFile: string;
  /** The file with the user's bearer token. */
  tokenFile(user: keyof ControlPlaneUsers): string;
  /** Writes (once) and names a kubeconfig of the user. */
  kubeconfig(user: keyof ControlPlaneUsers): Promise<string>;
  /** All requests since the start, from the server's own record (kube-apiserver: its audit log at level Metadata). */
  record(): Promise<readonly RequestRecord[]>;
  /** Stops the API server (its store stays) and, with `start`, starts it again on the same port. */
  stopServer(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  startServer(): Promise<void>;
  /** A copy of the store as it is now … */
  backup(): Promise<string>;
  /** … and the store set back to it, under a running relay: versions seen since are then from the future. */
  restore(backup: string): Promise<void>;
  /** Ends everything; no process and no socket is left. */
  close(): Promise<void>;
}
