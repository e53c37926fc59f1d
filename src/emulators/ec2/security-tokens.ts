import type { AssumedRole, SecurityTokens } from "#emulators/ec2/credentials.ts";
import type { Action } from "./action.ts";
import { createFault } from "./fault.ts";

/** The number of remembered sessions; older ones count as expired. */
const MAX_SESSIONS = 10_000;

/**
 * Creates an issuer of temporary credentials; unknown keys belong to the default account, or as `accounts`
 * says.
 */
export function createSecurityTokens(
  account: string,
  accounts: Readonly<Record<string, string>>,
): SecurityTokens {
  const sessions = new Map<string, AssumedRole>();
  let last = 0;
  return {
    assume(role) {
      last += 1;
      const accessKeyId = `${TEMPORARY_PREFIX}${last.toString().padStart(12, "0")}`;
      const session = { ...role, accessKeyId };
      const oldest = sessions.keys().next().value;
      if (sessions.size >= MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
      sessions.set(accessKeyId, session);
      return session;
    },
    expire() {
      for (const [key, session] of sessions) sessions.set(key, { ...session, expiresAt: 0 });
    },
    assumed: () => [...sessions.values()],
    callerOf(accessKeyId, now) {
      if (!accessKeyId.startsWith(TEMPORARY_PREFIX)) {
        const own = Object.hasOwn(accounts, accessKeyId) ? accounts[accessKeyId] : undefined;
        return { accessKeyId, account: own ?? account, roleArn: undefined };
      }
      const session = sessions.get(accessKeyId);
      if (session === undefined || session.expiresAt <= now) {
        return createFault("RequestExpired", "Request has expired.");
      }
      return { accessKeyId, account: parseAccount(session.roleArn), roleArn: session.roleArn };
    },
  };
}

/** The prefix of temporary keys at AWS, and a mark that this endpoint issued them. */
const TEMPORARY_PREFIX = "ASIALOCAL";

const ROLE_ARN = /^arn:aws[a-z-]*:iam::(\d{12}):role\/(?:[^/]+\/)*([\w+=,.@-]+)$/;
const SESSION_NAME = /^[\w+=,.@-]{2,64}$/;
const EXTERNAL_ID = /^[\w+=,.@:/-]{2,1224}$/;

/** Issues credentials for a role of any account, without a check of who may assume it. */
export const assumeRole: Action = ({ parameters, headers, tokens, now }) => {
  const roleArn = parameters.text("RoleArn") ?? "";
  const roleSessionName = parameters.text("RoleSessionName") ?? "";
  const durationSeconds = Number(parameters.text("DurationSeconds") ?? 3600);
  if (!ROLE_ARN.test(roleArn)) return createFault("ValidationError", `${roleArn} is invalid`);
  if (!SESSION_NAME.test(roleSessionName))
    return createFault("ValidationError", "roleSessionName is invalid");
  const externalId = parameters.text("ExternalId");
  if (externalId !== undefined && !EXTERNAL_ID.test(externalId))
    return createFault("ValidationError", "externalId is invalid");
  if (!(durationSeconds >= 900 && durationSeconds <= 43_200)) {
    return createFault("ValidationError", "durationSeconds must be from 900 to 43200");
  }
  const session = tokens.assume({
    roleArn,
    roleSessionName,
    externalId,
    sourceArn: getHeader(headers["x-amz-source-arn"]),
    sourceAccount: getHeader(headers["x-amz-source-account"]),
    expiresAt: now + durationSeconds * 1000,
  });
  return {
    kind: "answer",
    content: {
      Credentials: {
        AccessKeyId: session.accessKeyId,
        SecretAccessKey: `secret-of-${session.accessKeyId}`,
        SessionToken: `token-of-${session.accessKeyId}`,
        Expiration: new Date(session.expiresAt).toISOString(),
      },
      AssumedRoleUser: {
        Arn: formatSessionArn(roleArn, roleSessionName),
        AssumedRoleId: `AROALOCAL:${roleSessionName}`,
      },
    },
    results: 1,
  };
};

/** Returns the caller's identity. */
export const getCallerIdentity: Action = ({ caller, tokens }) => {
  const session = tokens.assumed().find(({ accessKeyId }) => accessKeyId === caller.accessKeyId);
  const arn =
    session === undefined
      ? `arn:aws:iam::${caller.account}:user/local`
      : formatSessionArn(session.roleArn, session.roleSessionName);
  return {
    kind: "answer",
    content: { UserId: caller.accessKeyId, Account: caller.account, Arn: arn },
    results: 1,
  };
};

function parseAccount(roleArn: string): string {
  return ROLE_ARN.exec(roleArn)?.[1] ?? "";
}

function formatSessionArn(roleArn: string, sessionName: string): string {
  const [, account, role] = ROLE_ARN.exec(roleArn) ?? [];
  return `arn:aws:sts::${account}:assumed-role/${role}/${sessionName}`;
}

function getHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
