import { runSimulation } from "@cloud-copilot/iam-simulate";
import { resolveValue, type Statement } from "#test/infra/deployed-rights.ts";
import { readStatements } from "#test/infra/iam-roles.ts";

/** The partition, region and account of all resources. */
export const PLACE = { partition: "aws", region: "eu-central-1", account: "123456789012" };

/** One request to AWS as IAM sees it: the action on each resource that AWS checks. */
export interface IamRequest {
  readonly action: string;
  /**
   * What follows the account in the ARN, such as `ec2:instance/i-1`. Without it: all resources, as for a
   * Describe action.
   */
  readonly resource?: string;
  /** The tags that the resource carries. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The tags that the request sets or removes. */
  readonly requestTags?: Readonly<Record<string, string>>;
  /** More condition keys. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * What a session may do: the role's statements and, if there is one, the session policy given to AssumeRole.
 */
export interface Session {
  readonly statements: readonly Statement[];
  readonly policy?: string | undefined;
}

/**
 * Returns whether IAM allows the request, according to the simulator. Throws if the simulator rejects the
 * request or the policy as invalid.
 */
export async function isAllowed({ statements, policy }: Session, request: IamRequest): Promise<boolean> {
  const { action, resource, tags = {}, requestTags = {}, context = {} } = request;
  const [service = "", path] = resource?.split(/:(.*)/s) ?? [];
  const keys = Object.keys(requestTags);
  const result = await runSimulation(
    {
      request: {
        principal: `arn:aws:sts::${PLACE.account}:assumed-role/ccm/serverless-ccm-prod`,
        action,
        resource: {
          resource: path === undefined ? "*" : arnOf(service, path),
          accountId: PLACE.account,
        },
        contextVariables: {
          ...prefixed("aws:ResourceTag/", tags),
          ...prefixed("aws:RequestTag/", requestTags),
          ...(keys.length === 0 ? {} : { "aws:TagKeys": keys }),
          ...context,
        },
      },
      identityPolicies: [{ name: "role", policy: { Version: "2012-10-17", Statement: statements } }],
      ...(policy === undefined ? {} : { sessionPolicy: JSON.parse(policy) }),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (result.resultType === "error") throw new Error(`${action}: ${JSON.stringify(result.errors)}`);
  return result.overallResult === "Allowed";
}

/** IAM's own resources have no region. */
function arnOf(service: string, path: string): string {
  return `arn:aws:${service}:${service === "iam" ? "" : PLACE.region}:${PLACE.account}:${path}`;
}

/** Returns the statements of a role in serverless.yml, deployed to `PLACE`. */
export async function readDeployedStatements(role: string): Promise<readonly Statement[]> {
  return resolveValue(await readStatements(role), PLACE, "serverless-ccm-prod");
}

/** A role of another account with all permissions: only the session policy limits it. */
export const ALL_POWERFUL: readonly Statement[] = [{ Effect: "Allow", Action: "*", Resource: "*" }];

function prefixed(prefix: string, pairs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).map(([key, value]) => [`${prefix}${key}`, value]));
}
