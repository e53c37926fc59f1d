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
    super(`cluster ${about.cluster}, sign-in of the ${describeRole(about.role)}: ${what}`, { cause });
    this.code = code;
    this.cluster = about.cluster;
    this.role = about.role;
    this.file = file;
  }
}

/** For messages, after "the". */
function describeRole(role: SignInRole): string {
  return role === "relay" || role === "functions" ? role : `function ${role}`;
}

/** The role that signs in to a cluster: the relay, one function, or `functions` for any function. */
export type SignInRole = keyof Cluster["signIn"];
