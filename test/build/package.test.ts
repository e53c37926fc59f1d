import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  makePackagingFolder,
  type Packaged,
  type PackagingFolder,
  type Template,
} from "#test/infra/packaged-template.ts";
import { listFunctionNames } from "../../build/function-names.ts";

describe("serverless package", () => {
  let folder: PackagingFolder;
  let bare: Packaged;

  /** Functions that change a cloud do so in a session of their own role. */
  const sessionRoleFor = (functionName: string): object => {
    const [, role] = /-(service|route|tagging)$/.exec(functionName) ?? [];
    if (role === undefined) return {};
    const name = `${role[0]?.toUpperCase()}${role.slice(1)}SessionRole`;
    return { SESSION_ROLE_ARN: { "Fn::GetAtt": [name, "Arn"] } };
  };
  beforeAll(async () => {
    folder = await makePackagingFolder();
    bare = await folder.package({});
  });
  afterAll(() => folder.close());

  test("needs no network and creates a function from each artifact", async () => {
    const { functions } = bare;
    expect(functions.map((definition) => definition.Properties.FunctionName).sort()).toEqual(
      // A function with a URL is deployed only if it is named.
      (await listFunctionNames())
        .filter((name) => !["admission", "audit"].includes(name))
        .map((name) => `serverless-ccm-dev-${name}`),
    );
    for (const { Properties } of functions) {
      expect(Properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
      });
      expect(Properties.Environment.Variables).toEqual({
        ALLOWED_SECRETS: "",
        AWS_EC2_METADATA_DISABLED: "true",
        AWS_USE_FIPS_ENDPOINT: "false",
        CLUSTERS_FILE: "/opt/clusters.yaml",
        ALLOWED_NETWORKS: "",
        OTEL_EXPORTER_OTLP_ENDPOINT: "",
        STOP_SWITCH: "",
        ADMISSION_PUBLIC_KEYS: "",
        AUDIT_PUBLIC_KEYS: "",
        FLEET_BRAKE: "",
        ...sessionRoleFor(Properties.FunctionName),
      });
    }
  });

  test("the node function's role may only read instances and write its log", async () => {
    const policies = bare.resources["NodeFunctionRole"].Properties.Policies;
    expect(policies.flatMap(actionsOf)).toEqual([
      "logs:CreateLogStream",
      "logs:PutLogEvents",
      "ec2:DescribeInstances",
      "ec2:DescribeAvailabilityZones",
      "ec2:DescribeInstanceTopology",
      "ec2:DescribeNetworkInterfaces",
    ]);
  });

  test("the csr function's role may only read instances and write its log", async () => {
    const policies = bare.resources["CsrFunctionRole"].Properties.Policies;
    expect(policies.flatMap(actionsOf)).toEqual([
      "logs:CreateLogStream",
      "logs:PutLogEvents",
      "ec2:DescribeInstances",
      "ec2:DescribeNetworkInterfaces",
    ]);
  });

  test("the ec2-events function's role may only read instances, invoke the node lifecycle, write its log and send its failures", async () => {
    const policies = bare.resources["Ec2EventsFunctionRole"].Properties.Policies;
    expect(policies.flatMap(actionsOf)).toEqual([
      "logs:CreateLogStream",
      "logs:PutLogEvents",
      "ec2:DescribeInstances",
      "lambda:InvokeFunction",
      "sqs:SendMessage",
    ]);
    expect(policies.at(-2).PolicyDocument.Statement).toMatchObject([
      { Resource: { "Fn::Sub": expect.stringMatching(/:function:serverless-ccm-dev-node-lifecycle$/) } },
    ]);
  });

  test("ec2-events receives EC2's termination events, each once", async () => {
    const rules = Object.values<Template>(bare.resources).filter(({ Type }) => Type === "AWS::Events::Rule");
    const patterns = rules.flatMap(({ Properties }) => Properties.EventPattern ?? []);
    expect(patterns).toEqual([
      {
        source: ["aws.ec2"],
        "detail-type": ["EC2 Instance State-change Notification"],
        detail: { state: ["stopping", "stopped", "shutting-down", "terminated"] },
      },
    ]);
  });

  test("in a VPC, Lambda may attach the functions to it, but their code may not", async () => {
    const { resources } = await folder.package({
      vpcSubnetIds: "subnet-0123456789abcdef0",
      vpcSecurityGroupIds: "sg-0123456789abcdef0",
    });
    const { Statement: statements } = resources.NetworkPolicy.Properties.PolicyDocument;
    const attaching = [
      "ec2:CreateNetworkInterface",
      "ec2:DeleteNetworkInterface",
      "ec2:AssignPrivateIpAddresses",
      "ec2:UnassignPrivateIpAddresses",
    ];
    expect(statements).toMatchObject([
      {
        Effect: "Allow",
        Action: ["ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"],
        Resource: "*",
      },
      {
        Effect: "Allow",
        Action: attaching,
        Resource: { "Fn::Sub": expect.stringMatching(/:ec2:.*AWS::Region.*AWS::AccountId.*:\*\/\*$/) },
      },
      {
        Effect: "Deny",
        Action: attaching,
        Condition: {
          ArnLike: {
            "lambda:SourceFunctionArn": {
              "Fn::Sub": expect.stringMatching(/:function:serverless-ccm-dev-\*$/),
            },
          },
        },
      },
    ]);
    for (const role of ["NodeFunctionRole", "CsrFunctionRole", "Ec2EventsFunctionRole"])
      expect(resources[role].Properties.ManagedPolicyArns).toEqual([{ Ref: "NetworkPolicy" }]);
  });

  test("with a role to assume, only the functions that call a cloud may assume it", async () => {
    const role = "arn:aws:iam::*:role/serverless-ccm-{function}";
    const { resources } = await folder.package({ assumeRoleArn: role });
    // CloudFormation replaces {function} by the function's name; IAM replaces it by the tag of each role.
    const named = [
      expect.stringContaining("aws:PrincipalTag/serverless-ccm-function"),
      { "Fn::Split": ["{function}", role] },
    ];
    expect(resources.AssumeRolePolicy.Properties).toMatchObject({
      PolicyDocument: {
        Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Resource: { "Fn::Join": named } }],
      },
      Roles: [
        { Ref: "NodeFunctionRole" },
        { Ref: "NodeLifecycleFunctionRole" },
        { Ref: "CsrFunctionRole" },
        { Ref: "ServiceFunctionRole" },
        { Ref: "RouteFunctionRole" },
        { Ref: "TaggingFunctionRole" },
        { Ref: "Ec2EventsFunctionRole" },
      ],
    });
  });
});

function actionsOf(policy: Template): string[] {
  return policy.PolicyDocument.Statement.flatMap((statement: Template) => statement.Action);
}
