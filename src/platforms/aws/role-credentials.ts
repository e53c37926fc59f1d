import { HTTP_TIMEOUTS } from "#platforms/aws/http.ts";

/** Temporary credentials, in the SDK's shape. */
export interface RoleCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration: Date;
}

/** Called before every request. */
export type CredentialSource = () => Promise<RoleCredentials>;

/** The role to assume, and how. */
export interface RoleIdentity {
  readonly roleArn?: string | undefined;
  /** The region of STS; the environment's region without it. */
  readonly region?: string | undefined;
  readonly sourceArn?: string | undefined;
  readonly externalId?: string | undefined;
  /** The session policy that limits the session; without it the session has all rights of the role. */
  readonly policy?: string | undefined;
  /** The credentials that assume the role; without it the SDK's standard chain. */
  readonly source?: CredentialSource | undefined;
}

/** Credentials are renewed this long before they expire, so that none expires during a request. */
export const RENEWAL_MARGIN_MS = 5 * 60_000;

/**
 * Creates the credentials of a role; without a role those of `source`, and undefined without either: the SDK's
 * standard chain then serves. STS is imported on first use. Concurrent callers share one AssumeRole call, and its
 * answer is kept until shortly before it expires. `wallClock` is milliseconds since the epoch.
 */
export function createRoleCredentials(
  identity: RoleIdentity,
  clusterName: string,
  wallClock: () => number,
  assume: typeof assumeRole = assumeRole,
): CredentialSource | undefined {
  const { roleArn, source } = identity;
  if (roleArn === undefined) return source;
  const sessionName = formatSessionName(clusterName);
  let current: RoleCredentials | undefined;
  let pending: Promise<RoleCredentials> | undefined;
  return async () => {
    const expiresAt = current?.expiration.getTime() ?? 0;
    if (current !== undefined && expiresAt - wallClock() > RENEWAL_MARGIN_MS) return current;
    pending ??= assume({ ...identity, roleArn }, sessionName, source).finally(() => {
      pending = undefined;
    });
    current = await pending;
    return current;
  };
}

/** Formats a session name of the 2 to 64 characters that STS accepts; the account's audit trail shows it. */
export function formatSessionName(clusterName: string): string {
  return `serverless-ccm-${clusterName}`.replace(/[^\w+=,.@-]/g, "-").slice(0, 64);
}

/**
 * Sends one AssumeRole, with two attempts, to `AWS_ENDPOINT_URL_STS` if set. Rejects with the SDK's error and
 * a remedy.
 */
async function assumeRole(
  identity: RoleIdentity & { readonly roleArn: string },
  sessionName: string,
  credentials: CredentialSource | undefined,
): Promise<RoleCredentials> {
  const { AssumeRoleCommand, STSClient } = await import("@aws-sdk/client-sts");
  const { region, roleArn, sourceArn, externalId, policy } = identity;
  const where = { ...(region && { region }), ...(credentials && { credentials }) };
  const client = new STSClient({ ...where, maxAttempts: 2, requestHandler: HTTP_TIMEOUTS });
  if (sourceArn !== undefined) {
    // At this step the headers are added before the request is signed, so the signature covers them.
    client.middlewareStack.add(
      (next) => (args) => addHeaders(buildSourceHeaders(roleArn, sourceArn), args, next),
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

/** Remedies for STS's rejections of a role, by error code. */
const REMEDIES: Readonly<Record<string, string>> = {
  AccessDenied:
    "its trust policy has to name the role that calls (and externalId, where it asks for one), and that role needs sts:AssumeRole for it",
  PackedPolicyTooLarge:
    "the session policy is too large: shorten routeTableIDs, allow.nodeSecurityGroups or clusterTag, or set sessionPolicy: none",
  MalformedPolicyDocument:
    "AWS does not take the session policy: see clusterTag, or set sessionPolicy: none, and report it",
  RegionDisabledException: "the region is not enabled for STS in that account",
};

/** Adds the role and the remedy to an error's message; its name and metadata stay. */
function withRemedy(error: unknown, roleArn: string): unknown {
  if (!(error instanceof Error)) return error;
  const remedy = REMEDIES[error.name.replace(/Exception$/, "")] ?? REMEDIES[error.name];
  if (remedy !== undefined) error.message = `AssumeRole ${roleArn}: ${error.message}: ${remedy}`;
  return error;
}

/**
 * Headers that a role's trust policy compares with aws:SourceAccount and aws:SourceArn, against the
 * confused-deputy problem.
 */
function buildSourceHeaders(roleArn: string, sourceArn: string): Readonly<Record<string, string>> {
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
