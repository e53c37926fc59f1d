import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveValue, type Statement } from "#test/infra/deployed-rights.ts";
import {
  makePackagingFolder,
  type Packaged,
  type PackagingFolder,
  type Template,
} from "#test/infra/packaged-template.ts";
import { type Asked, allows } from "#test/infra/trusts.ts";

const PLACE = { partition: "aws", region: "us-east-1", account: "123456789012" };
const PREFIX = "serverless-ccm-dev";
const RULE = `arn:aws:events:us-east-1:123456789012:rule/${PREFIX}`;

/** Who might want to be one of our functions. */
const ASSUMING: readonly [string, Asked["principal"], boolean][] = [
  ["Lambda", { service: "lambda.amazonaws.com" }, true],
  ["Lambda@Edge", { service: "edgelambda.amazonaws.com" }, false],
  ["EC2", { service: "ec2.amazonaws.com" }, false],
  ["EventBridge", { service: "events.amazonaws.com" }, false],
  ["an administrator of the account", { arn: "arn:aws:iam::123456789012:role/admin" }, false],
  ["the node function", { arn: `arn:aws:iam::123456789012:role/${PREFIX}-node` }, false],
  ["somebody of another account", { arn: "arn:aws:iam::210987654321:role/admin" }, false],
  [
    "the same function of another cell's account",
    { arn: `arn:aws:iam::210987654321:role/${PREFIX}-node` },
    false,
  ],
];

/** Who might want to leave something in the queue of what EventBridge could not deliver. */
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
    "somebody of another account",
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

describe("what is packaged", () => {
  let folder: PackagingFolder;
  let packaged: Packaged;

  beforeAll(async () => {
    folder = await makePackagingFolder();
    packaged = await folder.package({});
  });
  afterAll(() => folder.close());

  test.each(ASSUMING)("has no role that %s could be wrongly", (_, principal, expected) => {
    const roles = ofType("AWS::IAM::Role");
    expect(roles).toHaveLength(packaged.functions.length);
    for (const {
      AssumeRolePolicyDocument: { Statement },
    } of roles) {
      expect(allows(Statement, { principal, action: "sts:AssumeRole" })).toBe(expected);
      for (const action of ["sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML", "sts:TagSession"])
        expect(allows(Statement, { principal, action })).toBe(false);
    }
  });

  test.each(SENDING)("lets %s leave a dead letter only if it is one", (_, asked, expected) => {
    expect(allows(statementsOf("DeadLettersQueuePolicy"), asked)).toBe(expected);
  });

  test("leaves the queue of failures to the account's own roles", () => {
    for (const [, asked] of SENDING) expect(allows(statementsOf("FailuresQueuePolicy"), asked)).toBe(false);
  });

  test("lets nobody but its own two rules invoke a function", () => {
    const permissions = ofType("AWS::Lambda::Permission");
    expect(
      permissions.map(({ Principal, SourceArn }) => [
        Principal,
        SourceArn["Fn::Join"][1].at(-1)["Fn::Join"][1].at(-1),
      ]),
    ).toEqual(["sweep", "ec2-events"].map((name) => ["events.amazonaws.com", `${PREFIX}-${name}`]));
  });

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
