import { HTTP_TIMEOUTS } from "#clouds/aws/http.ts";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";
import { accessKeys } from "#clouds/aws/secrets/access-keys.ts";

/** Temporary credentials, in the SDK's shape. */
export interface RoleCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration: Date;
}

/** Asked before every request. */
export type CredentialSource = () => Promise<RoleCredentials>;

/** Who a cloud is to be, of its configuration; without a region that of the environment. */
export type Identity = Pick<AwsCloudConfig, "roleArn" | "sourceArn" | "externalId" | "credentials"> & {
  readonly region?: string | undefined;
  /** The session policy that the role is assumed with; all that the role may without one. */
  readonly policy?: string | undefined;
};

/** Credentials are renewed this long before they expire, so that no request is signed with some that lapse on the way. */
export const RENEWAL_MARGIN_MS = 5 * 60_000;

/**
 * The credentials of the configured role, or those that are configured by reference, with which the role is assumed where there are both;
 * undefined without either: the SDK's standard chain then serves. STS is imported on first use only, asked once for all who wait at a
 * time, and the answer kept until shortly before its end. `wallClock` is milliseconds since the epoch.
 */
export function roleCredentials(
  identity: Identity,
  clusterName: string,
  wallClock: () => number,
  assume: typeof assumeRole = assumeRole,
): CredentialSource | undefined {
  const { roleArn, region, credentials } = identity;
  const own = credentials && accessKeys(credentials, { clusterName, region }, wallClock);
  if (roleArn === undefined) return own;
  const sessionName = sessionNameOf(clusterName);
  let current: RoleCredentials | undefined;
  let pending: Promise<RoleCredentials> | undefined;
  return async () => {
    const expiresAt = current?.expiration.getTime() ?? 0;
    if (current !== undefined && expiresAt - wallClock() > RENEWAL_MARGIN_MS) return current;
    pending ??= assume({ ...identity, roleArn }, sessionName, own).finally(() => {
      pending = undefined;
    });
    current = await pending;
    return current;
  };
}

/** STS takes 2 to 64 of these characters; the name is what the account's audit trail shows. */
export function sessionNameOf(clusterName: string): string {
  return `serverless-ccm-${clusterName}`.replace(/[^\w+=,.@-]/g, "-").slice(0, 64);
}

/** One AssumeRole, at `AWS_ENDPOINT_URL_STS` where that is set, tried twice. Rejects with the SDK's error, and what to do about it. */
async function assumeRole(
  identity: Identity & { readonly roleArn: string },
  sessionName: string,
  credentials: CredentialSource | undefined,
): Promise<RoleCredentials> {
  const { AssumeRoleCommand, STSClient } = await import("@aws-sdk/client-sts");
  const { region, roleArn, sourceArn, externalId, policy } = identity;
  const where = { ...(region && { region }), ...(credentials && { credentials }) };
  const client = new STSClient({ ...where, maxAttempts: 2, requestHandler: HTTP_TIMEOUTS });
  if (sourceArn !== undefined) {
    // At this step they are in before the request is signed, and so part of what is signed.
    client.middlewareStack.add(
      (next) => (args) => addHeaders(sourceHeaders(roleArn, sourceArn), args, next),
      {
        step: "build",
        name: "sourceHeaders",
      },
    );
  }
  try {
    const { Credentials: given } = await client.send(
      new AssumeRoleCommand({
        RoleArn: roleArn,
        RoleSessionName: sessionName,
        ExternalId: externalId,
        Policy: policy,
      }),
    );
    if (!given?.AccessKeyId || !given.SecretAccessKey || !given.Expiration) {
      throw new Error(`AssumeRole ${roleArn}: the answer holds no credentials`);
    }
    return {
      accessKeyId: given.AccessKeyId,
      secretAccessKey: given.SecretAccessKey,
      ...(given.SessionToken === undefined ? {} : { sessionToken: given.SessionToken }),
      expiration: given.Expiration,
    };
  } catch (error) {
    throw withRemedy(error, roleArn);
  } finally {
    client.destroy();
  }
}

/** What to do where STS refuses a role, by the code of its error. */
const REMEDIES: Readonly<Record<string, string>> = {
  AccessDenied:
    "its trust policy has to name the role that calls (and externalId, where it asks for one), and that role needs sts:AssumeRole for it",
  PackedPolicyTooLarge:
    "the session policy is too large: shorten routeTableIDs, allow.nodeSecurityGroups or clusterTag, or set sessionPolicy: none",
  MalformedPolicyDocument:
    "AWS does not take the session policy: see clusterTag, or set sessionPolicy: none, and report it",
  RegionDisabledException: "the region is not enabled for STS in that account",
};

/** The same error with the role and the remedy in its message; its name and metadata say what kind it is. */
function withRemedy(error: unknown, roleArn: string): unknown {
  if (!(error instanceof Error)) return error;
  const remedy = REMEDIES[error.name.replace(/Exception$/, "")] ?? REMEDIES[error.name];
  if (remedy !== undefined) error.message = `AssumeRole ${roleArn}: ${error.message}: ${remedy}`;
  return error;
}

/** What a role's trust policy compares with aws:SourceAccount and aws:SourceArn, against the confused deputy. */
function sourceHeaders(roleArn: string, sourceArn: string): Readonly<Record<string, string>> {
  return { "x-amz-source-account": roleArn.split(":")[4] ?? "", "x-amz-source-arn": sourceArn };
}

function addHeaders<Args extends { request: unknown }, Result>(
  headers: Readonly<Record<string, string>>,
  args: Args,
  next: (args: Args) => Promise<Result>,
): Promise<Result> {
  Object.assign((args.request as { headers: Record<string, string> }).headers, headers);
  return next(args);
}
