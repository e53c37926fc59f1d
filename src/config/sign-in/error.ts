import type { Cluster } from "#config/cluster.ts";
import type { SecretCode } from "#platforms/secrets/secret-error.ts";

/** Why an identity is unavailable; stable codes. */
export type SignInCode =
  | "NotConfigured"
  | "NotSupported"
  | "FileUnreadable"
  | "FileTooLarge"
  | "FileEmpty"
  | "FileInvalid"
  | SecretCode;

/** The role that signs in, the cluster, and the key of the cluster's entry. */
export interface SignInSubject {
  readonly cluster: string;
  readonly role: SignInRole;
  readonly key: SignInRole;
}

/**
 * An identity is unavailable. The message names cluster, kind, file or secret, and what to do; it never
 * quotes their contents.
 */
export class SignInError extends Error {
  override readonly name = "SignInError";
  readonly code: SignInCode;
  readonly cluster: string;
  readonly role: SignInRole;
  readonly file: string | undefined;

  constructor(code: SignInCode, about: SignInSubject, what: string, file?: string, cause?: unknown) {
    super(`cluster ${about.cluster}, sign-in of the ${ROLE_NAMES[about.role]}: ${what}`, { cause });
    this.code = code;
    this.cluster = about.cluster;
    this.role = about.role;
    this.file = file;
  }
}

/** For messages, after "the". */
const ROLE_NAMES: Readonly<Record<SignInRole, string>> = {
  relay: "relay",
  functions: "functions",
  node: "function node",
  "node-lifecycle": "function node-lifecycle",
  csr: "function csr",
  service: "function service",
  route: "function route",
  tagging: "function tagging",
  sweep: "function sweep",
  "ec2-events": "function ec2-events",
};

/** The role that signs in to a cluster: the relay, one function, or `functions` for any function. */
export type SignInRole = keyof Cluster["signIn"];
