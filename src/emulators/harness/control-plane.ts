import { formatUser, IDENTITIES, type Identity, mapIdentities } from "#core/identities.ts";

/** A user of a test or demo API server, identified by a bearer token. */
export interface ControlPlaneUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** One request in the API server's own record. */
export interface RequestRecord {
  readonly user: string;
  /** Kubernetes's verb: get, list, watch, create, update, patch, delete. */
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  /** HTTP status. */
  readonly code: number;
  /** Milliseconds since the epoch at which the answer was complete. */
  readonly at: number;
}

/**
 * The identities of tests, demo and bench. `admin` is in system:masters and represents the world outside,
 * never ours.
 */
export type ControlPlaneUsers = Readonly<Record<"admin" | Identity, ControlPlaneUser>>;

/** The users' names are those in the bindings of infra/rbac/. */
export const CONTROL_PLANE_USERS: ControlPlaneUsers = {
  admin: { name: "admin", groups: ["system:masters"] },
  ...mapIdentities(IDENTITIES, createUser),
};

/** The names of all our users. */
export const OUR_USERS: readonly string[] = IDENTITIES.map(formatUser);

function createUser(identity: Identity): ControlPlaneUser {
  return { name: formatUser(identity), groups: ["serverless-ccm"] };
}

/**
 * A running API server with its store, embedded or real. It is started for a folder with all its files, and
 * listens on 127.0.0.1 on a free port.
 */
export interface ControlPlane {
  readonly kind: "embedded" | "kube-apiserver";
  /** `https://127.0.0.1:port`; unchanged after `restart`. */
  readonly server: string;
  readonly certificateAuthorityFile: string;
  /** Returns the file with the user's bearer token. */
  tokenFile(user: keyof ControlPlaneUsers): string;
  /** Writes a kubeconfig of the user (once) and returns its path. */
  kubeconfig(user: keyof ControlPlaneUsers): Promise<string>;
  /**
   * Returns all requests since the start, from the server's own record (kube-apiserver: its audit log at
   * level Metadata).
   */
  record(): Promise<readonly RequestRecord[]>;
  /** Stops the API server but not its store; `start` starts it again on the same port. */
  stopServer(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  startServer(): Promise<void>;
  /** Saves a copy of the store. */
  backup(): Promise<string>;
  /** Restores the store from a copy, under a running relay: versions seen since are then from the future. */
  restore(backup: string): Promise<void>;
  /** Ends everything; no process and no socket is left. */
  close(): Promise<void>;
}
