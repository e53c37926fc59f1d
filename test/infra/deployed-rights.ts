import type { Template } from "#test/infra/packaged-template.ts";

/** A policy statement in AWS's form. */
export interface Statement {
  readonly Effect: string;
  /** Only in a resource policy. */
  readonly Principal?: unknown;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The target of a deployment. */
interface Place {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

const QUEUES: Readonly<Record<string, string>> = {
  "FailuresQueue.Arn": "failures",
  "DeadLettersQueue.Arn": "dead-letters",
};

/** Resolves a template value as CloudFormation does, for the functions that our templates use. */
export function resolveValue(value: Template, place: Place, queuePrefix: string): Template {
  const resolve = (each: Template): Template => resolveValue(each, place, queuePrefix);
  if (Array.isArray(value)) return value.map(resolve);
  if (typeof value !== "object" || value === null) return value;
  if ("Fn::Sub" in value)
    return value["Fn::Sub"]
      .replaceAll(`\${AWS::Partition}`, place.partition)
      .replaceAll(`\${AWS::Region}`, place.region)
      .replaceAll(`\${AWS::AccountId}`, place.account);
  if ("Fn::Split" in value) return resolve(value["Fn::Split"][1]).split(value["Fn::Split"][0]);
  if ("Fn::Join" in value) return resolve(value["Fn::Join"][1]).join(value["Fn::Join"][0]);
  if ("Fn::GetAtt" in value) {
    const [name, attribute] = value["Fn::GetAtt"];
    const role = /^(\w+?)(Function|Session)Role$/.exec(name);
    if (role !== null && attribute === "Arn")
      return `arn:${place.partition}:iam::${place.account}:role/${queuePrefix}-${nameOfRole(role)}`;
    const queue = QUEUES[`${name}.${attribute}`];
    if (queue === undefined) throw new Error(`no value for ${name}.${attribute}`);
    return `arn:${place.partition}:sqs:${place.region}:${place.account}:${queuePrefix}-${queue}`;
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolve(each)]));
}

/** The name in the module; CloudFormation generates its own. */
function nameOfRole([, owner = "", kind]: RegExpExecArray): string {
  const name = owner.replaceAll(/(?<=.)([A-Z])/g, "-$1").toLowerCase();
  return kind === "Session" ? `${name}-session` : name;
}

/**
 * Returns the rights of a template's role, without writing logs: its own statements and those of attached
 * policies.
 */
export function listRoleRights(
  resources: Template,
  role: string,
  place: Place,
  queuePrefix: string,
): string[] {
  const { Policies: own, ManagedPolicyArns: named = [] } = resources[role].Properties;
  const isAttached = (name: string): boolean =>
    [...(resources[name].Properties.Roles ?? [])].some(({ Ref }) => Ref === role) ||
    named.some(({ Ref }: { readonly Ref: string }) => Ref === name);
  const attached = Object.keys(resources).filter(
    (name) => resources[name].Type === "AWS::IAM::ManagedPolicy" && isAttached(name),
  );
  const documents: Template[] = [
    ...own.flatMap(({ PolicyName, PolicyDocument }: Template) =>
      PolicyName === "logs" ? [] : [PolicyDocument],
    ),
    ...attached.map((name) => resources[name].Properties.PolicyDocument),
  ];
  return canonicalize(
    resolveValue(
      documents.flatMap(({ Statement }) => Statement),
      place,
      queuePrefix,
    ),
  );
}

/** Returns the statements as texts; statements that AWS treats as equal have equal texts. */
export function canonicalize(statements: readonly Statement[]): string[] {
  const list = (value: unknown): string[] => [value].flat().map(String).toSorted();
  return statements
    .map(({ Effect, Principal, Action, Resource, Condition = {} }) =>
      JSON.stringify({
        Effect,
        Principal,
        Action: list(Action),
        Resource: list(Resource),
        Condition: Object.entries(Condition)
          .flatMap(([operator, keys]) =>
            Object.entries(keys).map(([key, value]) => [operator, key, ...list(value)]),
          )
          .toSorted(),
      }),
    )
    .toSorted();
}
