import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { listRoleRights, resolveValue, type Statement } from "#test/infra/deployed-rights.ts";
import {
  makePackagingFolder,
  type Packaged,
  type PackagingFolder,
  type Template,
} from "#test/infra/packaged-template.ts";
import { type Asked, isAllowed, isMatch } from "#test/infra/trusts.ts";
import { ROOT } from "../../build/bundle.ts";

const PLACE = { partition: "aws", region: "us-east-1", account: "123456789012" };
const PREFIX = "serverless-ccm-dev";
const RULE = `arn:aws:events:us-east-1:123456789012:rule/${PREFIX}`;

/** The role tag of any function, as AWS resolves it. */
const ASKING = `\${aws:PrincipalTag/serverless-ccm-function}`;

/** Principals that might assume a role of our functions. */
const ASSUMING: readonly [string, Asked["principal"], boolean][] = [
  ["Lambda", { service: "lambda.amazonaws.com" }, true],
  ["Lambda@Edge", { service: "edgelambda.amazonaws.com" }, false],
  ["EC2", { service: "ec2.amazonaws.com" }, false],
  ["EventBridge", { service: "events.amazonaws.com" }, false],
  ["an administrator of the account", { arn: "arn:aws:iam::123456789012:role/admin" }, false],
  ["the node function", { arn: `arn:aws:iam::123456789012:role/${PREFIX}-node` }, false],
  ["a role of another account", { arn: "arn:aws:iam::210987654321:role/admin" }, false],
  [
    "the same function of another cell of the account",
    { arn: "arn:aws:iam::123456789012:role/serverless-ccm-other-node" },
    false,
  ],
  [
    "the same function of another cell's account",
    { arn: `arn:aws:iam::210987654321:role/${PREFIX}-node` },
    false,
  ],
];

/** A cell whose parameters name its own resources, as docs/explanation/blast-radius.md recommends. */
const CELL = {
  clustersPath: "/cells/dev/clusters",
  signInSecrets: "arn:aws:secretsmanager:us-east-1:123456789012:secret:cells/dev/{function}/*",
  signInRoleArn: "arn:aws:iam::123456789012:role/cells/dev/{function}",
  assumeRoleArn: "arn:aws:iam::*:role/cells/dev/*",
};

/** Resources of another cell in the account, each with a counterpart in this one. */
const OTHERS: readonly [what: string, ofCell: (stage: string) => string][] = [
  ["a function", (stage) => `arn:aws:lambda:us-east-1:123456789012:function:serverless-ccm-${stage}-node`],
  ["what failed", (stage) => `arn:aws:sqs:us-east-1:123456789012:serverless-ccm-${stage}-failures`],
  [
    "a function's log",
    (stage) =>
      `arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/serverless-ccm-${stage}-node:log-stream:a`,
  ],
  ["a cluster", (stage) => `arn:aws:ssm:us-east-1:123456789012:parameter/cells/${stage}/clusters/blue`],
  [
    "a secret",
    (stage) => `arn:aws:secretsmanager:us-east-1:123456789012:secret:cells/${stage}/node/blue-AbCdEf`,
  ],
  ["a role to sign in with", (stage) => `arn:aws:iam::123456789012:role/cells/${stage}/node`],
  ["a role in a tenant's account", (stage) => `arn:aws:iam::210987654321:role/cells/${stage}/ccm`],
];

/** Services with resources of a cell. The rest belongs to the cloud, where the account is the boundary. */
const ABOUT_CELLS = /^(lambda|sqs|logs|ssm|secretsmanager|kms|sts:AssumeRole)/;

/** Principals that might send messages to the dead-letter queue of EventBridge. */
const SENDING: readonly [string, Asked, boolean][] = [
  ["the sweep's rule", by("events.amazonaws.com", `${RULE}-sweep`), true],
  ["the rule of ec2-events", by("events.amazonaws.com", `${RULE}-ec2-events`), true],
  ["another rule of the account", by("events.amazonaws.com", `${RULE}-other`), false],
  [
    "a rule of that name of another account",
    by("events.amazonaws.com", `${RULE}-sweep`.replace("123456789012", "210987654321")),
    false,
  ],
  ["SNS", by("sns.amazonaws.com", `${RULE}-sweep`), false],
  [
    "a role of another account",
    { principal: { arn: "arn:aws:iam::210987654321:role/a" }, action: "sqs:SendMessage" },
    false,
  ],
  [
    "the rule, reading",
    { ...by("events.amazonaws.com", `${RULE}-sweep`), action: "sqs:ReceiveMessage" },
    false,
  ],
  ["the rule, without TLS", by("events.amazonaws.com", `${RULE}-sweep`, "false"), false],
];

describe("the package", () => {
  let folder: PackagingFolder;
  let packaged: Packaged;

  beforeAll(async () => {
    folder = await makePackagingFolder();
    packaged = await folder.package({});
  });
  afterAll(() => folder.close());

  test.each(ASSUMING)("has no role that %s could wrongly assume", (_, principal, expected) => {
    const roles = ofType("AWS::IAM::Role").filter(({ Tags }) => Tags[0].Key === "serverless-ccm-function");
    expect(roles).toHaveLength(packaged.functions.length);
    for (const {
      AssumeRolePolicyDocument: { Statement },
    } of roles) {
      expect(isAllowed(Statement, { principal, action: "sts:AssumeRole" })).toBe(expected);
      for (const action of ["sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML", "sts:TagSession"])
        expect(isAllowed(Statement, { principal, action })).toBe(false);
    }
  });

  test.each(["service", "route", "tagging"])(
    "has a session role of %s that only this function can assume",
    (name) => {
      const roles = ofType("AWS::IAM::Role").filter(({ Tags }) => Tags[0].Key === "serverless-ccm-session");
      expect(roles).toHaveLength(3);
      const own = roles.find(({ Tags }) => Tags[0].Value === name);
      const { Statement } = resolveValue(own.AssumeRolePolicyDocument, PLACE, PREFIX);
      const principals: Asked["principal"][] = [
        ...ASSUMING.map(([, principal]) => principal),
        ...["service", "route", "tagging"].map((each) => ({
          arn: `arn:aws:iam::123456789012:role/${PREFIX}-${each}`,
        })),
      ];
      const allowed = principals.filter((principal) =>
        isAllowed(Statement, { principal, action: "sts:AssumeRole" }),
      );
      expect(allowed).toEqual([{ arn: `arn:aws:iam::123456789012:role/${PREFIX}-${name}` }]);
    },
  );

  test.each(SENDING)("accepts from %s only real dead letters", (_, asked, expected) => {
    expect(isAllowed(statementsOf("DeadLettersQueuePolicy"), asked)).toBe(expected);
  });

  test("restricts the queue of failures to the account's own roles", () => {
    for (const [, asked] of SENDING)
      expect(isAllowed(statementsOf("FailuresQueuePolicy"), asked)).toBe(false);
  });

  test("allows only its own two rules to invoke a function", () => {
    const permissions = ofType("AWS::Lambda::Permission");
    expect(
      permissions.map(({ Principal, SourceArn }) => [
        Principal,
        SourceArn["Fn::Join"][1].at(-1)["Fn::Join"][1].at(-1),
      ]),
    ).toEqual(["sweep", "ec2-events"].map((name) => ["events.amazonaws.com", `${PREFIX}-${name}`]));
  });

  test("allows anonymous invocations only of admission and audit, and only through their URLs", async () => {
    const { resources } = await folder.package({
      controllers: "admission,audit",
      ...{ admissionPublicKeys: PUBLIC_KEY, auditPublicKeys: PUBLIC_KEY },
    });
    const open = Object.values<Template>(resources).flatMap(({ Type, Properties }) =>
      Type === "AWS::Lambda::Permission" && Properties.Principal === "*" ? [Properties] : [],
    );
    const expected = ["Admission", "Audit"].flatMap((name) => {
      const FunctionName = { "Fn::GetAtt": [`${name}LambdaFunction`, "Arn"] };
      return [
        { FunctionName, Action: "lambda:InvokeFunctionUrl", Principal: "*", FunctionUrlAuthType: "NONE" },
        { FunctionName, Action: "lambda:InvokeFunction", Principal: "*", InvokedViaFunctionUrl: true },
      ];
    });
    expect(open).toHaveLength(expected.length);
    expect(open).toEqual(expect.arrayContaining(expected));
  });

  test.each(OTHERS)("of one cell reaches no %s of another by any role", async (_, arnOf) => {
    const { resources } = await cell();
    const roles = Object.keys(resources).filter((name) => resources[name].Type === "AWS::IAM::Role");
    const relayed = resolveValue(
      resources["RelayPolicy"].Properties.PolicyDocument.Statement,
      PLACE,
      PREFIX,
    ).flatMap(({ Resource }: Statement) => [Resource].flat().map(String));
    expect(
      relayed.filter((pattern: string) => isMatch(pattern.replaceAll(ASKING, "relay"), arnOf("other"))),
    ).toEqual([]);
    const reached = (stage: string): string[] =>
      roles.filter((role) => {
        const [{ Value: name }] = resources[role].Properties.Tags;
        return listRoleRights(resources, role, PLACE, PREFIX)
          .map((text): Statement => JSON.parse(text))
          .concat(resolveValue(logsOf(resources[role]), PLACE, PREFIX))
          .filter(({ Effect, Action }) => Effect === "Allow" && [Action].flat().some(isAboutCells))
          .flatMap(({ Resource }) => [Resource].flat().map(String))
          .some((pattern) => isMatch(pattern.replaceAll(ASKING, name), arnOf(stage)));
      });
    expect(reached("other")).toEqual([]);
    expect(reached("dev").length).toBeGreaterThan(0);
  });

  /** The trust policy that docs/explanation/blast-radius.md gives for a role in a tenant's account. */
  test.each<[string, string, string | undefined, boolean]>([
    ["the node function of the cell", "111111111111:role/serverless-ccm-blue-node", "tenant-a", true],
    ["the same for another tenant", "111111111111:role/serverless-ccm-blue-node", "tenant-b", false],
    ["the same without an external id", "111111111111:role/serverless-ccm-blue-node", undefined, false],
    ["a function of it that is not named", "111111111111:role/serverless-ccm-blue-csr", "tenant-a", false],
    ["another cell of that account", "111111111111:role/serverless-ccm-green-node", "tenant-a", false],
    ["that cell of another account", "222222222222:role/serverless-ccm-blue-node", "tenant-a", false],
    ["an administrator of that account", "111111111111:role/admin", "tenant-a", false],
  ])("a tenant's account answers %s correctly", async (_, principal, externalId, expected) => {
    const page = await readFile(`${ROOT}docs/explanation/blast-radius.md`, "utf8");
    const { Statement } = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
    const context: Record<string, string> = externalId === undefined ? {} : { "sts:ExternalId": externalId };
    const asked = { principal: { arn: `arn:aws:iam::${principal}` }, action: "sts:AssumeRole", context };
    expect(isAllowed(Statement, asked)).toBe(expected);
  });

  const isAboutCells = (action: string): boolean => ABOUT_CELLS.test(action);
  let packagedCell: Promise<Packaged> | undefined;
  function cell(): Promise<Packaged> {
    packagedCell ??= folder.package(CELL);
    return packagedCell;
  }

  function logsOf({ Properties: { Policies } }: Template): Statement[] {
    return Policies.filter(({ PolicyName }: Template) => PolicyName === "logs").flatMap(
      ({ PolicyDocument }: Template) => PolicyDocument.Statement,
    );
  }

  function statementsOf(name: string): readonly Statement[] {
    const { Properties } = packaged.resources[name];
    return resolveValue(Properties.PolicyDocument.Statement, PLACE, PREFIX);
  }

  function ofType(type: string): Template[] {
    return Object.values<Template>(packaged.resources).flatMap(({ Type, Properties }) =>
      Type === type ? [Properties] : [],
    );
  }
});

function by(service: string, source: string, secure = "true"): Asked {
  return {
    principal: { service },
    action: "sqs:SendMessage",
    context: { "aws:SourceArn": source, "aws:SecureTransport": secure },
  };
}
