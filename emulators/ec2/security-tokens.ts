import type { Action } from "./action.ts";
import type { Caller } from "./credentials.ts";
import { type Fault, fault } from "./fault.ts";

/** One use of AssumeRole, with what a role's trust policy can look at. */
export interface AssumedRole {
  readonly roleArn: string;
  readonly roleSessionName: string;
  readonly externalId: string | undefined;
  /** The headers x-amz-source-arn and x-amz-source-account, which guard against the confused deputy. */
  readonly sourceArn: string | undefined;
  readonly sourceAccount: string | undefined;
  /** The key handed out. */
  readonly accessKeyId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Temporary credentials handed out, and whose they are. */
export interface SecurityTokens {
  assume(role: Omit<AssumedRole, "accessKeyId">): AssumedRole;
  /** Ends all sessions there are. */
  expire(): void;
  /** All uses of AssumeRole, oldest first. */
  assumed(): readonly AssumedRole[];
  /** The caller behind an access key, or the fault for one whose time is over. */
  callerOf(accessKeyId: string, now: number): Caller | Fault;
}

/** How many sessions are remembered; older ones count as expired. */
const MAX_SESSIONS = 10_000;

/** A place that hands out temporary credentials; keys it does not know are the account's own, or as `accounts` says. */
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
        return fault("RequestExpired", "Request has expired.");
      }
      return { accessKeyId, account: accountOf(session.roleArn), roleArn: session.roleArn };
    },
  };
}

/** Keys of temporary credentials start so at AWS; the rest marks them as handed out here. */
const TEMPORARY_PREFIX = "ASIALOCAL";

const ROLE_ARN = /^arn:aws[a-z-]*:iam::(\d{12}):role\/(?:[^/]+\/)*([\w+=,.@-]+)$/;
const SESSION_NAME = /^[\w+=,.@-]{2,64}$/;

/** Hands out credentials for a role of any account; who may assume it is not asked. */
export const assumeRole: Action = ({ parameters, headers, tokens, now }) => {
  const roleArn = parameters.text("RoleArn") ?? "";
  const roleSessionName = parameters.text("RoleSessionName") ?? "";
  const durationSeconds = Number(parameters.text("DurationSeconds") ?? 3600);
  if (!ROLE_ARN.test(roleArn)) return fault("ValidationError", `${roleArn} is invalid`);
  if (!SESSION_NAME.test(roleSessionName)) return fault("ValidationError", "roleSessionName is invalid");
  if (!(durationSeconds >= 900 && durationSeconds <= 43_200)) {
    return fault("ValidationError", "durationSeconds is to be from 900 to 43200");
  }
  const session = tokens.assume({
    roleArn,
    roleSessionName,
    externalId: parameters.text("ExternalId"),
    sourceArn: headerOf(headers["x-amz-source-arn"]),
    sourceAccount: headerOf(headers["x-amz-source-account"]),
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
        Arn: sessionArnOf(roleArn, roleSessionName),
        AssumedRoleId: `AROALOCAL:${roleSessionName}`,
      },
    },
    results: 1,
  };
};

/** Says who the caller is. */
export const getCallerIdentity: Action = ({ caller, tokens }) => {
  const session = tokens.assumed().find(({ accessKeyId }) => accessKeyId === caller.accessKeyId);
  const arn =
    session === undefined
      ? `arn:aws:iam::${caller.account}:user/local`
      : sessionArnOf(session.roleArn, session.roleSessionName);
  return {
    kind: "answer",
    content: { UserId: caller.accessKeyId, Account: caller.account, Arn: arn },
    results: 1,
  };
};

function accountOf(roleArn: string): string {
  return ROLE_ARN.exec(roleArn)?.[1] ?? "";
}

function sessionArnOf(roleArn: string, sessionName: string): string {
  const [, account, role] = ROLE_ARN.exec(roleArn) ?? [];
  return `arn:aws:sts::${account}:assumed-role/${role}/${sessionName}`;
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
