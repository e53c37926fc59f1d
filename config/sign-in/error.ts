import type { SecretCode } from "#clouds/secrets/secret-error.ts";
import type { SignInRole } from "#config/sign-in.ts";

/** Why an identity cannot be had; stable. */
export type SignInCode =
  | "NotConfigured"
  | "NotSupported"
  | "FileUnreadable"
  | "FileTooLarge"
  | "FileEmpty"
  | "FileInvalid"
  | SecretCode;

/** Who signs in where, and by which key of the cluster's entry. */
export interface SignInSubject {
  readonly cluster: string;
  readonly role: SignInRole;
  readonly key: SignInRole;
}

/** An identity cannot be had. Names cluster, kind, file or secret, and what to do; never anything that stands in them. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  readonly code: SignInCode;
  readonly cluster: string;
  readonly role: SignInRole;
  readonly file: string | undefined;

  constructor(code: SignInCode, about: SignInSubject, what: string, file?: string, cause?: unknown) {
    super(`cluster ${about.cluster}, sign-in of the ${WHO[about.role]}: ${what}`, { cause });
    this.code = code;
    this.cluster = about.cluster;
    this.role = about.role;
    this.file = file;
  }
}

/** For people, behind "the". */
const WHO: Readonly<Record<SignInRole, string>> = {
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
