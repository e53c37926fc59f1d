import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { type CredentialSource, roleCredentials } from "#clouds/aws/credentials.ts";
import {
  MAX_POLICY_LENGTH,
  SESSION_PURPOSES,
  type SessionPurpose,
  sessionPolicy,
} from "#clouds/aws/session-policy.ts";

/** Who works on a cluster, where that is not for its capabilities to say, and as which role without one of the cluster's own. */
export interface SessionOptions {
  /** The name of the deployed function; what is none has a purpose for each capability. */
  readonly functionName?: string | undefined;
  /** Assumed for clusters whose configuration names neither a role nor credentials; their calls are the process's own without it. */
  readonly sessionRoleArn?: string | undefined;
}

/**
 * The credentials of a cluster for one purpose: of its role, or of the session role, each narrowed by the session policy; undefined where
 * the SDK's standard chain serves. `name` stands in the session's name. A session lasts an hour, the most that AWS gives to a role that
 * another role assumes.
 */
export function clusterCredentials(
  cluster: AwsCluster,
  {
    name,
    purpose,
    functionName,
    sessionRoleArn,
  }: SessionOptions & { readonly name: string; readonly purpose: SessionPurpose },
  wallClock: () => number,
): CredentialSource | undefined {
  const { region, externalId, sourceArn, credentials, ...own } = cluster;
  const policy = sessionPolicy(cluster, purpose);
  // Without a policy a session of that role could do nothing that the process itself cannot.
  const isNarrowed = credentials === undefined && policy !== undefined;
  const roleArn = own.roleArn ?? (isNarrowed ? sessionRoleArn : undefined);
  if (roleArn === undefined) return roleCredentials({ region, credentials }, name, wallClock);
  if (policy !== undefined && policy.length > MAX_POLICY_LENGTH) {
    const message = `no session for ${purpose}: its policy has ${policy.length} characters, and AWS takes ${MAX_POLICY_LENGTH}; give the cluster a shorter clusterTag, or set sessionPolicy: none`;
    return () => Promise.reject(new Error(message));
  }
  // The two are the trust policy's of the cluster's own role.
  const trusted = own.roleArn === undefined ? {} : { externalId, sourceArn };
  // The look of `doctor` is that of a function, as whom it is told to look.
  const named = roleArn.replaceAll("{function}", purpose === "doctor" ? (functionName ?? "node") : purpose);
  return roleCredentials({ region, credentials, ...trusted, roleArn: named, policy }, name, wallClock);
}

/** The purpose of a capability: that of the function it works in, or its own where several work in one process. */
export function purposeIn(functionName: string | undefined, own: SessionPurpose): SessionPurpose {
  return SESSION_PURPOSES.find((each) => each === functionName) ?? own;
}

/**
 * One session for all who ask for the same. Each gets a function of its own, which its client calls again once AWS has refused what it got:
 * the first to do so gets a new session, and the others that one.
 */
export function shareCredentials(
  make: () => CredentialSource | undefined,
): () => () => CredentialSource | undefined {
  let current: CredentialSource | undefined;
  return () => {
    let mine: CredentialSource | undefined;
    return () => {
      if (current === undefined || current === mine) current = make();
      mine = current;
      return current;
    };
  };
}
