import { type Fault, fault } from "./fault.ts";

/** Who calls: the signature itself is not checked, only whose it says it is. */
export interface Caller {
  readonly accessKeyId: string;
  readonly account: string;
  /** Of the session, where the credentials come from AssumeRole. */
  readonly roleArn: string | undefined;
}

/** What a Signature Version 4 header says of its credentials. */
export interface Credential {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256\s+Credential=([^/,\s]+)\/\d{8}\/([^/,\s]+)\/([^/,\s]+)\/aws4_request\s*,/;

/** The credential of an Authorization header, or the fault that AWS answers where there is none or another form. */
export function parseAuthorization(header: string | undefined): Credential | Fault {
  if (header === undefined) {
    return fault("MissingAuthenticationToken", "Request is missing Authentication Token", 403);
  }
  const [, accessKeyId, region, service] = AUTHORIZATION.exec(header) ?? [];
  if (accessKeyId === undefined || region === undefined || service === undefined) {
    return fault("IncompleteSignature", "Authorization header requires 'Credential' parameter.");
  }
  return { accessKeyId, region, service };
}
