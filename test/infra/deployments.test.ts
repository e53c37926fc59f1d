import { afterAll, beforeAll, expect, test } from "vitest";
import { PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { lintTemplates } from "#test/infra/lint-template.ts";
import {
  makePackagingFolder,
  type Packaged,
  type PackagingFolder,
  type Template,
} from "#test/infra/packaged-template.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { listFunctionNames } from "../../build/function-names.ts";

interface Row {
  readonly region: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly functions: readonly string[];
}

const ALL = await listFunctionNames();

/** The functions with a URL. */
const URLS = ["admission", "audit"];

/**
 * One row for each partition that more than one customer can use, and one for each selection of controllers.
 */
const ROWS: readonly Row[] = [
  // A function with a URL is deployed only if it is named.
  { region: "eu-central-1", parameters: {}, functions: ALL.filter((name) => !URLS.includes(name)) },
  {
    region: "eu-west-1",
    parameters: {
      ...{ controllers: "service,admission,audit", clustersPath: "/serverless-ccm/clusters" },
      ...{ admissionPublicKeys: PUBLIC_KEY, admissionConcurrency: "5", reservedConcurrency: "20" },
      ...{ auditPublicKeys: `${PUBLIC_KEY},${PUBLIC_KEY}`, auditConcurrency: "7" },
      codeSigningConfigArn: "arn:aws:lambda:eu-west-1:123456789012:code-signing-config:csc-0f6c334abcdea4d8b",
      signInSecrets: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:{function}/*",
    },
    functions: ["admission", "audit", "service", "sweep"],
  },
  {
    region: "us-gov-west-1",
    parameters: {
      controllers: "node,node-lifecycle,csr",
      fips: "true",
      alarmTopicArn: "arn:aws-us-gov:sns:us-gov-west-1:123456789012:on-call",
      assumeRoleArn: "arn:aws-us-gov:iam::*:role/serverless-ccm",
      codeSigningConfigArn:
        "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:code-signing-config:csc-0f6c334abcdea4d8b",
      roleNamePrefix: "ccm-{region}-",
      vpcSubnetIds: "subnet-0123456789abcdef0",
      vpcSecurityGroupIds: "sg-0123456789abcdef0",
    },
    functions: ["csr", "ec2-events", "node", "node-lifecycle", "sweep"],
  },
  {
    region: "cn-north-1",
    parameters: {
      controllers: "service,route,tagging",
      codeSigningConfigArn:
        "arn:aws-cn:lambda:cn-north-1:123456789012:code-signing-config:csc-0f6c334abcdea4d8b",
      sweepEveryMinute: "false",
      webIdentityAudiences: "serverless-ccm:*",
    },
    functions: ["route", "service", "sweep", "tagging"],
  },
];

describeWithPart("aws-tools", "a deployment", ({ cfnLint }) => {
  let folder: PackagingFolder;
  const packaged: Packaged[] = [];

  beforeAll(async () => {
    folder = await makePackagingFolder();
    for (const { region, parameters } of ROWS) packaged.push(await folder.package(parameters, region));
  }, 240_000);
  afterAll(() => folder.close());

  const each = ROWS.map((row, index) => ({ ...row, of: () => packaged[index] as Packaged }));

  test.each(each)(
    "to $region passes cfn-lint for that region",
    async ({ region, of }) => {
      expect(await lintTemplates(cfnLint, region, [of().file])).toBe("");
    },
    240_000,
  );

  test.each(each)("to $region names no fixed partition", ({ of, parameters }) => {
    const given = new Set(Object.values(parameters));
    const texts = JSON.stringify(of().resources).match(/"arn:[^"]+"/g) ?? [];
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts)
      if (!given.has(JSON.parse(text))) expect(text).toMatch(/^"arn:\$\{AWS::Partition\}:/);
  });

  test.each(each)(
    "to $region has functions, roles, logs, rules and rights only for these controllers",
    (row) => {
      const { resources, functions } = row.of();
      const names = functions.map(({ Properties }) => Properties.FunctionName as string);
      expect(names.toSorted()).toEqual(row.functions.map((name) => `serverless-ccm-dev-${name}`));
      const logs = ofType(resources, "AWS::Logs::LogGroup");
      expect(logs.map(({ LogGroupName }) => LogGroupName).toSorted()).toEqual(
        names.map((name) => `/aws/lambda/${name}`).toSorted(),
      );
      for (const { RetentionInDays } of logs) expect(RetentionInDays).toBe(30);
      const roles = functions.map(({ Properties }) => Properties.Role["Fn::GetAtt"][0]);
      const sessions = functions.flatMap(({ Properties: { Environment } }) => {
        const { SESSION_ROLE_ARN: named } = Environment.Variables;
        return named === undefined ? [] : [named["Fn::GetAtt"][0]];
      });
      const changing = row.functions.filter((name) => ["service", "route", "tagging"].includes(name));
      expect(sessions).toHaveLength("vpcSubnetIds" in row.parameters ? 0 : changing.length);
      expect(namesOfType(resources, "AWS::IAM::Role")).toEqual([...roles, ...sessions].toSorted());
      const text = JSON.stringify(resources);
      for (const left of ALL.filter((name) => !row.functions.includes(name))) {
        expect(text).not.toMatch(new RegExp(`serverless-ccm-dev-${left}(?![a-z-])`));
      }
      const asked = new Set([...text.matchAll(/\{"Ref":"([^"]+)"\}/g)].map(([, name = ""]) => name));
      for (const name of asked) if (!name.startsWith("AWS::")) expect(resources).toHaveProperty([name]);
    },
  );

  test.each(each)("to $region makes every function verify signatures, if a configuration is given", (row) => {
    const configurations = row.of().functions.map(({ Properties }) => Properties.CodeSigningConfigArn);
    expect(configurations).toEqual(row.functions.map(() => row.parameters["codeSigningConfigArn"]));
  });

  test.each(each)("to $region never repeats an asynchronous invocation, and records every failure", (row) => {
    const { resources } = row.of();
    const configurations = ofType(resources, "AWS::Lambda::EventInvokeConfig");
    for (const { MaximumRetryAttempts } of configurations) expect(MaximumRetryAttempts).toBe(0);
    const asynchronous = row.functions.filter((name) => ["sweep", "ec2-events"].includes(name));
    expect(
      configurations.filter(({ DestinationConfig }) => DestinationConfig.OnFailure !== undefined),
    ).toMatchObject(
      asynchronous.map(() => ({
        MaximumEventAgeInSeconds: 60,
        DestinationConfig: { OnFailure: { Destination: arnOf("FailuresQueue") } },
      })),
    );
    const sending = Object.entries<Template>(resources)
      .filter(([, { Type }]) => Type === "AWS::IAM::Role")
      .filter(([, role]) => JSON.stringify(role).includes('"sqs:'));
    expect(sending.map(([name]) => name).toSorted()).toEqual(
      asynchronous
        .map((name) => (name === "sweep" ? "SweepFunctionRole" : "Ec2EventsFunctionRole"))
        .toSorted(),
    );
    for (const [, role] of sending)
      expect(role.Properties.Policies.at(-1).PolicyDocument.Statement).toEqual([
        { Effect: "Allow", Action: "sqs:SendMessage", Resource: arnOf("FailuresQueue") },
      ]);
    const rules = ofType(resources, "AWS::Events::Rule");
    expect(rules.map(({ Name }) => Name)).toEqual(
      asynchronous
        .map((name) => `serverless-ccm-dev-${name}`)
        .toSorted()
        .reverse(),
    );
    for (const { Targets } of rules)
      expect(Targets).toMatchObject([
        {
          RetryPolicy: { MaximumEventAgeInSeconds: 60 },
          DeadLetterConfig: { Arn: arnOf("DeadLettersQueue") },
        },
      ]);
    const [
      ,
      {
        Statement: [allowed],
      } = { Statement: [] },
    ] = ofType(resources, "AWS::SQS::QueuePolicy").map(({ PolicyDocument }) => PolicyDocument);
    expect(allowed.Condition.ArnEquals["aws:SourceArn"]).toEqual(
      rules.map(({ Name }) => ({ "Fn::Sub": expect.stringMatching(new RegExp(`:rule/${Name}$`)) })),
    );
  });

  test.each(each)(
    "to $region encrypts and watches its queues, and keeps messages for 14 days",
    ({ of, parameters }) => {
      const { resources } = of();
      expect(ofType(resources, "AWS::SQS::Queue")).toEqual([
        {
          QueueName: "serverless-ccm-dev-failures",
          KmsMasterKeyId: "alias/aws/sqs",
          MessageRetentionPeriod: 1_209_600,
        },
        {
          QueueName: "serverless-ccm-dev-dead-letters",
          SqsManagedSseEnabled: true,
          MessageRetentionPeriod: 1_209_600,
        },
      ]);
      const topic = parameters["alarmTopicArn"];
      const actions = topic === undefined ? [] : [topic];
      expect(ofType(resources, "AWS::CloudWatch::Alarm")).toMatchObject(
        ["FailuresQueue", "DeadLettersQueue"].map((queue) => ({
          Namespace: "AWS/SQS",
          MetricName: "ApproximateNumberOfMessagesVisible",
          Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": [queue, "QueueName"] } }],
          AlarmActions: actions,
          OKActions: actions,
        })),
      );
    },
  );

  test.each(each)("to $region passes the parameters to its functions", ({ of, parameters }) => {
    for (const { Properties } of of().functions)
      expect(Properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Environment: { Variables: { AWS_USE_FIPS_ENDPOINT: parameters["fips"] ?? "false" } },
      });
    const [sweep] = ofType(of().resources, "AWS::Events::Rule");
    expect(sweep).toMatchObject({
      ScheduleExpression: "rate(1 minute)",
      State: parameters["sweepEveryMinute"] === "false" ? "DISABLED" : "ENABLED",
    });
  });

  test("reserves the requested invocations for functions with a URL, and the common number for the others", () => {
    const { functions } = packaged[1] as Packaged;
    const kept = functions.map(({ Properties }) => [
      Properties.FunctionName,
      Properties.ReservedConcurrentExecutions,
      Properties.Environment.Variables.ADMISSION_PUBLIC_KEYS,
      Properties.Environment.Variables.AUDIT_PUBLIC_KEYS,
    ]);
    const keys = [PUBLIC_KEY, `${PUBLIC_KEY},${PUBLIC_KEY}`];
    expect(kept.toSorted()).toEqual([
      ["serverless-ccm-dev-admission", 5, ...keys],
      ["serverless-ccm-dev-audit", 7, ...keys],
      ["serverless-ccm-dev-service", 20, ...keys],
      ["serverless-ccm-dev-sweep", 20, ...keys],
    ]);
  });

  test("rejects invalid parameters and names every fault", async () => {
    const parameters = { controller: "node", vpcSubnetIds: "subnet-1", fips: "true" };
    const refusal = folder.package(parameters, "eu-central-1").catch((error: Error) => error.message);
    const said = await refusal;
    for (const fault of [
      "unknown parameter controller",
      "vpcSubnetIds is given without",
      "fips: eu-central-1",
    ])
      expect(said).toContain(fault);
    expect(said).not.toMatch(/\n\s+at /);
  });
});

function ofType(resources: Template, type: string): Template[] {
  return Object.values<Template>(resources).flatMap(({ Type, Properties }) =>
    Type === type ? [Properties] : [],
  );
}

function namesOfType(resources: Template, type: string): string[] {
  return Object.keys(resources)
    .filter((name) => resources[name].Type === type)
    .toSorted();
}

function arnOf(name: string): object {
  return { "Fn::GetAtt": [name, "Arn"] };
}
