import { runSimulation } from "@cloud-copilot/iam-simulate";
import { resolveValue, type Statement } from "#test/infra/deployed-rights.ts";
import { statementsOf } from "#test/infra/iam-roles.ts";

/** Where all of it is. */
export const PLACE = { partition: "aws", region: "eu-central-1", account: "123456789012" };

/** One request to AWS, as far as IAM looks at it: the action is asked for on each resource that AWS checks. */
export interface IamRequest {
  readonly action: string;
  /** What follows the account in its ARN, as `ec2:instance/i-1`; all of them without it, as a Describe action has it. */
  readonly resource?: string;
  /** Tags that the resource carries. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Tags that the request gives, or takes away. */
  readonly requestTags?: Readonly<Record<string, string>>;
  /** Further condition keys. */
  readonly context?: Readonly<Record<string, string>>;
}

/** What a session may do: the role's statements and, where there is one, the session policy as AssumeRole was given it. */
export interface Session {
  readonly statements: readonly Statement[];
  readonly policy?: string | undefined;
}

/** Whether IAM lets the request through, as the simulator has it; throws where it takes request or policy for none. */
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

/** IAM's own resources are in no region. */
function arnOf(service: string, path: string): string {
  return `arn:aws:${service}:${service === "iam" ? "" : PLACE.region}:${PLACE.account}:${path}`;
}

/** What a role of serverless.yml may do, deployed to `PLACE`. */
export async function deployedStatements(role: string): Promise<readonly Statement[]> {
  return resolveValue(await statementsOf(role), PLACE, "serverless-ccm-prod");
}

/** A role of another account whose owner has given it everything: all that is left to hold is the session policy. */
export const ALL_POWERFUL: readonly Statement[] = [{ Effect: "Allow", Action: "*", Resource: "*" }];

function prefixed(prefix: string, pairs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).map(([key, value]) => [`${prefix}${key}`, value]));
}
