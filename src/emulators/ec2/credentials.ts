import { createFault, type Fault } from "./fault.ts";

/** The caller, as the credentials claim: the signature itself is not checked. */
export interface Caller {
  readonly accessKeyId: string;
  readonly account: string;
  /** The session's role, if the credentials come from AssumeRole. */
  readonly roleArn: string | undefined;
}

/** The credential in a Signature Version 4 header. */
export interface Credential {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256\s+Credential=([^/,\s]+)\/\d{8}\/([^/,\s]+)\/([^/,\s]+)\/aws4_request\s*,/;

/** Returns the credential of an Authorization header, or AWS's fault for a missing or malformed one. */
export function parseAuthorization(header: string | undefined): Credential | Fault {
  if (header === undefined) {
    return createFault("MissingAuthenticationToken", "Request is missing Authentication Token", 403);
  }
  const [, accessKeyId, region, service] = AUTHORIZATION.exec(header) ?? [];
  if (accessKeyId === undefined || region === undefined || service === undefined) {
    return createFault("IncompleteSignature", "Authorization header requires 'Credential' parameter.");
  }
  return { accessKeyId, region, service };
}

/** One use of AssumeRole, with everything that a role's trust policy can check. */
export interface AssumedRole {
  readonly roleArn: string;
  readonly roleSessionName: string;
  readonly externalId: string | undefined;
  /** The headers x-amz-source-arn and x-amz-source-account, which guard against the confused deputy. */
  readonly sourceArn: string | undefined;
  readonly sourceAccount: string | undefined;
  /** The issued key. */
  readonly accessKeyId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Issued temporary credentials, and their callers. */
export interface SecurityTokens {
  assume(role: Omit<AssumedRole, "accessKeyId">): AssumedRole;
  /** Ends all sessions. */
  expire(): void;
  /** Returns all uses of AssumeRole, oldest first. */
  assumed(): readonly AssumedRole[];
  /** Returns the caller behind an access key, or the fault for an expired one. */
  callerOf(accessKeyId: string, now: number): Caller | Fault;
}
