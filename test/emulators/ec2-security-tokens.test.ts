import {
  AssumeRoleCommand,
  type AssumeRoleCommandInput,
  GetCallerIdentityCommand,
} from "@aws-sdk/client-sts";
import { expect, onTestFinished, test } from "vitest";
import type { Ec2Server } from "#emulators/ec2/server.ts";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import { createTestClock, describeIds, getErrorName, startEmbeddedEc2 } from "./ec2-embedded.ts";
import { type Credentials, createEc2Client, createStsClient } from "./ec2-under-test.ts";

const ROLE = "arn:aws:iam::210987654321:role/path/controller";
const INPUT: AssumeRoleCommandInput = {
  RoleArn: ROLE,
  RoleSessionName: "cluster-one",
  ExternalId: "shared+secret@tenant:a/b",
  DurationSeconds: 900,
};

test("records the facts that a trust policy can use", async () => {
  const { server } = await startEmbeddedEc2({ clock: createTestClock() });
  const sts = client(server);
  sts.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      headers["x-amz-source-arn"] = "arn:aws:eks:eu-central-1:123456789012:cluster/one";
      headers["x-amz-source-account"] = "123456789012";
      return next(args);
    },
    { step: "build", name: "source" },
  );
  const { Credentials: given } = await sts.send(new AssumeRoleCommand(INPUT));
  expect(server.assumedRoles()).toEqual([
    {
      roleArn: ROLE,
      roleSessionName: "cluster-one",
      externalId: "shared+secret@tenant:a/b",
      sourceArn: "arn:aws:eks:eu-central-1:123456789012:cluster/one",
      sourceAccount: "123456789012",
      accessKeyId: given?.AccessKeyId,
      expiresAt: given?.Expiration?.getTime(),
    },
  ]);
  expect(given?.Expiration).toEqual(new Date("2026-01-01T00:15:00Z"));
});

test("attributes calls to their key and role", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}, { account: "210987654321" }] });
  const credentials = await assume(server);
  const theirs = createEc2Client(server.url, credentials);
  onTestFinished(() => theirs.destroy());
  expect(await describeIds(theirs)).toEqual(["i-00000000000000002"]);
  await describeIds(ec2);
  expect(server.record()).toMatchObject([
    { action: "AssumeRole", accessKeyId: "AKIATEST", account: "123456789012" },
    {
      action: "DescribeInstances",
      ...{ accessKeyId: credentials.accessKeyId, account: "210987654321", roleArn: ROLE },
    },
    { action: "DescribeInstances", accessKeyId: "AKIATEST", account: "123456789012", roleArn: undefined },
  ]);
});

test("credentials expire", async () => {
  const clock = createTestClock();
  const { server } = await startEmbeddedEc2({ clock });
  const theirs = createEc2Client(server.url, await assume(server));
  onTestFinished(() => theirs.destroy());
  clock.advance(899_999);
  expect(await getErrorName(describeIds(theirs))).toBe("none");
  clock.advance(1);
  expect(await getErrorName(describeIds(theirs))).toBe("RequestExpired");
});

test("a caller with static credentials is a user of the account", async () => {
  const { server } = await startEmbeddedEc2();
  expect(await client(server).send(new GetCallerIdentityCommand({}))).toMatchObject({
    Account: "123456789012",
    Arn: "arn:aws:iam::123456789012:user/local",
  });
});

test.each([
  { name: "a role of another form", input: { ...INPUT, RoleArn: "controller-of-some-account" } },
  {
    name: "a session's name with spaces",
    input: { ...INPUT, RoleSessionName: "cluster one" },
    violation: "RoleSessionName pattern",
  },
  {
    name: "an external ID with spaces",
    input: { ...INPUT, ExternalId: "tenant a" },
    violation: "ExternalId pattern",
  },
  { name: "a minute", input: { ...INPUT, DurationSeconds: 60 }, violation: "DurationSeconds range" },
  { name: "a day", input: { ...INPUT, DurationSeconds: 86_400 }, violation: "DurationSeconds range" },
])("AssumeRole rejects $name", async ({ input, violation }) => {
  if (violation !== undefined) expectViolations(`sts:AssumeRole request ${violation}`);
  const { server } = await startEmbeddedEc2();
  expect(await getErrorName(client(server).send(new AssumeRoleCommand(input)))).toBe("ValidationError");
  expect(server.assumedRoles()).toEqual([]);
});

test("AssumeRole is denied with STS's message", async () => {
  const { server } = await startEmbeddedEc2({ behaviour: { denied: ["AssumeRole"] } });
  await expect(client(server).send(new AssumeRoleCommand(INPUT))).rejects.toMatchObject({
    name: "AccessDenied",
    $metadata: { httpStatusCode: 403 },
  });
});

async function assume(server: Ec2Server): Promise<Credentials> {
  const { Credentials: given } = await client(server).send(new AssumeRoleCommand(INPUT));
  return {
    accessKeyId: given?.AccessKeyId ?? "",
    secretAccessKey: given?.SecretAccessKey ?? "",
    sessionToken: given?.SessionToken ?? "",
  };
}

function client(server: Ec2Server) {
  const sts = createStsClient(server.url);
  onTestFinished(() => sts.destroy());
  return sts;
}
