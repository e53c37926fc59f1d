import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { canonicalize, listRoleRights, resolveValue } from "#test/infra/deployed-rights.ts";
import {
  makePackagingFolder,
  type Packaged,
  type PackagingFolder,
  type Template,
} from "#test/infra/packaged-template.ts";
import {
  describeWithTerraform,
  type Evaluated,
  evaluateModule,
} from "#test/infra/terraform/evaluate-module.ts";
import { ROOT } from "../../../build/bundle.ts";

const run = promisify(execFile);

const ACCOUNT = "123456789012";
const PLACES = {
  commercial: { partition: "aws", region: "eu-central-1", account: ACCOUNT },
  government: { partition: "aws-us-gov", region: "us-gov-west-1", account: ACCOUNT },
};

/** Parameters of serverless.yml, and the equivalent variables. */
const ROWS = [
  { place: PLACES.commercial, parameters: {}, variables: {} },
  {
    place: PLACES.government,
    parameters: {
      controllers: "node,node-lifecycle,service",
      fips: "true",
      clustersFile: "/mnt/clusters.yaml",
      assumeRoleArn: "arn:aws-us-gov:iam::*:role/{function}/ccm",
      signInSecrets: "arn:aws-us-gov:ssm:a/{function}/*,arn:aws-us-gov:ssm:b",
      signInKeys: "arn:aws-us-gov:kms:c",
      signInRoleArn: "arn:aws-us-gov:iam::*:role/{function}-sign-in",
      webIdentityAudiences: "a,b:*",
      webIdentityMaxSeconds: "900",
      vpcSubnetIds: "subnet-1,subnet-2",
      vpcSecurityGroupIds: "sg-1",
      sessionRoles: "true",
      sweepEveryMinute: "false",
      otlpEndpoint: "http://collector:4318",
      codeSigningConfigArn:
        "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:code-signing-config:csc-0f6c334abcdea4d8b",
      stopSwitchPath: "/ccm/stop",
      fleetBrake: "my-bucket/cells/one.json",
      roleNamePrefix: "ccm-{region}-prod-",
    },
    variables: {
      controllers: ["node", "node-lifecycle", "service"],
      fips: true,
      clusters_file: "/mnt/clusters.yaml",
      assume_role_arn: "arn:aws-us-gov:iam::*:role/{function}/ccm",
      sign_in_secrets: ["arn:aws-us-gov:ssm:a/{function}/*", "arn:aws-us-gov:ssm:b"],
      sign_in_keys: ["arn:aws-us-gov:kms:c"],
      sign_in_role_arn: "arn:aws-us-gov:iam::*:role/{function}-sign-in",
      web_identity_audiences: ["a", "b:*"],
      web_identity_max_seconds: 900,
      vpc_subnet_ids: ["subnet-1", "subnet-2"],
      vpc_security_group_ids: ["sg-1"],
      session_roles: true,
      sweep_every_minute: false,
      otlp_endpoint: "http://collector:4318",
      code_signing_config_arn:
        "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:code-signing-config:csc-0f6c334abcdea4d8b",
      stop_switch_path: "/ccm/stop",
      fleet_brake: "my-bucket/cells/one.json",
      role_name_prefix: "ccm-{region}-prod-",
    },
  },
  {
    place: PLACES.commercial,
    parameters: {
      controllers: "route,tagging,csr,audit",
      clustersPath: "/ccm/clusters",
      allowedNetworks: "10.0.0.0/8,!10.1.0.0/16",
      admissionPublicKeys: `${PUBLIC_KEY},${PUBLIC_KEY}`,
      auditPublicKeys: PUBLIC_KEY,
      allowedSecrets: "secretsmanager:tenants/,ssm:/tenants/",
    },
    variables: {
      controllers: ["route", "tagging", "csr", "audit"],
      clusters_path: "/ccm/clusters",
      allowed_networks: ["10.0.0.0/8", "!10.1.0.0/16"],
      admission_public_keys: [PUBLIC_KEY, PUBLIC_KEY],
      audit_public_keys: [PUBLIC_KEY],
      allowed_secrets: ["secretsmanager:tenants/", "ssm:/tenants/"],
    },
  },
  {
    place: PLACES.commercial,
    parameters: { controllers: "service", vpcSubnetIds: "subnet-1", vpcSecurityGroupIds: "sg-1" },
    variables: {
      controllers: ["service"],
      vpc_subnet_ids: ["subnet-1"],
      vpc_security_group_ids: ["sg-1"],
    },
  },
  {
    place: PLACES.commercial,
    parameters: { controllers: "tagging", sessionRoles: "false" },
    variables: { controllers: ["tagging"], session_roles: false },
  },
];

await describeWithTerraform("the Terraform module", (program) => {
  let folder: PackagingFolder;
  const packaged: Packaged[] = [];
  const evaluated: Evaluated[] = [];

  beforeAll(async () => {
    folder = await makePackagingFolder();
    for (const { place, parameters, variables } of ROWS) {
      evaluated.push(await evaluateModule(program, place, { package_folder: "dist", ...variables }));
      packaged.push(await folder.package(parameters, place.region));
    }
  }, 240_000);
  afterAll(() => folder?.close());

  const each = ROWS.map((row, index) => ({
    ...row,
    module: () => evaluated[index] as Evaluated,
    stack: () => packaged[index] as Packaged,
  }));

  test.each(each)("has the functions of serverless.yml for $parameters", ({ module, stack }) => {
    const { prefix, functions, environment, sessions } = module();
    const ours = Object.entries(functions).map(([name, settings]) => ({
      FunctionName: `${prefix}-${name}`,
      Description: settings.description,
      MemorySize: settings.memory_size,
      Timeout: settings.timeout,
      Environment: {
        Variables: {
          ...environment,
          ...(name in sessions ? { SESSION_ROLE_ARN: { "Fn::GetAtt": [sessionRole(name), "Arn"] } } : {}),
        },
      },
    }));
    const theirs = stack().functions.map(
      ({ Properties: { FunctionName, Description, MemorySize, Timeout, Environment } }) => ({
        FunctionName,
        Description,
        MemorySize,
        Timeout,
        Environment,
      }),
    );
    expect(ours.toSorted(byName)).toEqual(theirs.toSorted(byName));
    const handing = Object.values<Template>(stack().resources).filter(
      ({ Properties }) => Properties.DestinationConfig?.OnFailure !== undefined,
    );
    expect(Object.values(functions).filter(({ asynchronous }) => asynchronous)).toHaveLength(handing.length);
  });

  test.each(each)("grants the rights of serverless.yml for $parameters", ({ module, stack, place }) => {
    const { prefix, functions, statements, shared, attachments, sessions } = module();
    for (const name of Object.keys(functions)) {
      const attached = Object.values(attachments).flatMap((attachment) =>
        attachment.function === name ? (shared[attachment.policy] ?? []) : [],
      );
      const { Role } = stack().functions.find(
        ({ Properties }) => Properties.FunctionName === `${prefix}-${name}`,
      ).Properties;
      const theirs = listRoleRights(stack().resources, Role["Fn::GetAtt"][0], place, prefix);
      const ours = [...(statements[name] ?? []), ...attached];
      const arn = `arn:${place.partition}:iam::${place.account}:role/${prefix}-${name}-session`;
      if (name in sessions) ours.push({ Effect: "Allow", Action: "sts:AssumeRole", Resource: arn });
      expect(canonicalize(ours), name).toEqual(theirs);
    }
  });

  test.each(each)("grants the relay the rights of serverless.yml for $parameters", (row) => {
    const { prefix, relayStatements } = row.module();
    const { PolicyDocument, Roles, Users, Groups } = row.stack().resources["RelayPolicy"].Properties;
    expect(canonicalize(relayStatements)).toEqual(
      canonicalize(resolveValue(PolicyDocument.Statement, row.place, prefix)),
    );
    expect([Roles, Users, Groups]).toEqual([undefined, undefined, undefined]);
  });

  test.each(each)("has the session roles of serverless.yml for $parameters", ({ module, stack, place }) => {
    const { prefix, statements, sessions } = module();
    const { resources } = stack();
    const theirs = Object.keys(resources).filter((name) => name.endsWith("SessionRole"));
    expect(theirs.toSorted()).toEqual(Object.keys(sessions).map(sessionRole).toSorted());
    for (const name of Object.keys(sessions)) {
      const role = sessionRole(name);
      expect(listRoleRights(resources, role, place, prefix)).toEqual(canonicalize(statements[name] ?? []));
      expect(resources[role].Properties.AssumeRolePolicyDocument.Statement).toEqual([
        {
          Effect: "Allow",
          Principal: { AWS: { "Fn::GetAtt": [role.replace("Session", "Function"), "Arn"] } },
          Action: "sts:AssumeRole",
        },
      ]);
    }
  });

  test.each(each)("names the roles that serverless.yml names for $parameters", ({ module, stack, place }) => {
    const { functions, sessions, rolePrefix, prefix } = module();
    const names = Object.values<Template>(stack().resources).flatMap(({ Type, Properties }) =>
      Type === "AWS::IAM::Role" ? [resolveValue(Properties.RoleName ?? "", place, prefix)] : [],
    );
    const ours = [...Object.keys(functions), ...Object.keys(sessions).map((name) => `${name}-session`)];
    const isNamed = names.some((name) => name !== "");
    expect(names.toSorted()).toEqual(ours.map((name) => (isNamed ? `${rolePrefix}${name}` : "")).toSorted());
    if (!isNamed) expect(rolePrefix).toBe(`${prefix}-`);
  });

  test.each(each)("has the rules of serverless.yml for $parameters", ({ module, stack }) => {
    const { prefix, rules } = module();
    const ours = Object.entries(rules).map(([name, rule]) => ({
      name: `${prefix}-${name}`,
      schedule: rule.schedule_expression ?? undefined,
      pattern: rule.event_pattern === null ? undefined : JSON.parse(rule.event_pattern),
      state: rule.state,
      attempts: rule.maximum_retry_attempts,
    }));
    const theirs = Object.values<Template>(stack().resources)
      .filter(({ Type }) => Type === "AWS::Events::Rule")
      .map(({ Properties: { Name, ScheduleExpression, EventPattern, State, Targets } }) => ({
        name: Name,
        schedule: ScheduleExpression,
        pattern: EventPattern,
        state: State,
        attempts: Targets[0].RetryPolicy.MaximumRetryAttempts,
      }));
    const sorted = (list: typeof theirs): typeof theirs =>
      list.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(sorted(ours)).toEqual(sorted(theirs));
  });

  test.each(each)("trusts the principals of serverless.yml for $parameters", ({ module, stack, place }) => {
    const { prefix, trustPolicy, queuePolicies } = module();
    const { resources } = stack();
    for (const [name, { Type, Properties }] of Object.entries<Template>(resources))
      if (Type === "AWS::IAM::Role" && !name.endsWith("SessionRole"))
        expect(Properties.AssumeRolePolicyDocument).toEqual(trustPolicy);
    const policies = [
      ["failures", "FailuresQueuePolicy"],
      ["dead_letters", "DeadLettersQueuePolicy"],
    ] as const;
    for (const [name, theirs] of policies) {
      const { Statement } = resolveValue(resources[theirs].Properties.PolicyDocument, place, prefix);
      expect(canonicalize(queuePolicies[name].Statement), name).toEqual(canonicalize(Statement));
    }
  });

  test.each([
    [{ controllers: ["nodes"] }, "controllers are one or more of node, node-lifecycle"],
    [{ controllers: [] }, "controllers are one or more of node, node-lifecycle"],
    [{ stage: "Prod!" }, "stage is of at most 20 lower-case letters"],
    [
      { vpc_subnet_ids: ["subnet-1"] },
      "One of vpc_subnet_ids and vpc_security_group_ids is given without the other",
    ],
    [
      { vpc_security_group_ids: ["sg-1"] },
      "One of vpc_subnet_ids and vpc_security_group_ids is given without the other",
    ],
    [{ sign_in_keys: ["arn:aws:kms:x"] }, "sign_in_keys is given without sign_in_secrets"],
    [{ sign_in_secrets: ["tenants/a"] }, "sign_in_secrets are ARNs of secrets and parameters"],
    [{ sign_in_secrets: ["arn:aws:ssm:{role}"] }, "sign_in_secrets: nothing but {function} stands in braces"],
    [
      { sign_in_role_arn: "arn:aws:iam::1:role/{role}" },
      "sign_in_role_arn: nothing but {function} stands in braces",
    ],
    [{ web_identity_max_seconds: 900 }, "web_identity_max_seconds is given without web_identity_audiences"],
    [
      { web_identity_max_seconds: 5 },
      "web_identity_max_seconds is a whole number of seconds from 60 to 3600",
    ],
    [{ reserved_concurrency: 0 }, "reserved_concurrency is a number of invocations, of at least 1"],
    [{ admission_concurrency: 0 }, "admission_concurrency is a number of invocations, of at least 1"],
    [{ admission_public_keys: ["secret"] }, "admission_public_keys are at most four public keys"],
    [{ controllers: ["admission"] }, "admission_public_keys is missing"],
    [{ audit_concurrency: 0 }, "audit_concurrency is a number of invocations, of at least 1"],
    [{ audit_public_keys: ["secret"] }, "audit_public_keys are at most four public keys"],
    [{ controllers: ["audit"] }, "audit_public_keys is missing"],
    [{ alarm_topic_arn: "on-call" }, "alarm_topic_arn is the ARN of an SNS topic"],
    [
      { code_signing_config_arn: "arn:aws:lambda:us-east-1:1:code-signing-config:csc-0f6c334abcdea4d8b" },
      "code_signing_config_arn is the ARN of a code signing configuration of the functions' region",
    ],
    [
      { clusters_layer_arn: "arn:aws:lambda:x" },
      "clusters_layer_arn is the ARN of a layer's version in the functions' region",
    ],
    [
      { clusters_layer_arn: "arn:aws:lambda:us-east-1:123456789012:layer:clusters:1" },
      "clusters_layer_arn is the ARN of a layer's version in the functions' region",
    ],
    [{ assume_role_arn: "ccm" }, "assume_role_arn is the ARN of a role, or a pattern"],
    [
      { assume_role_arn: "arn:aws:iam::1:role/{role}" },
      "assume_role_arn: nothing but {function} stands in braces",
    ],
    [{ sign_in_role_arn: "ccm" }, "sign_in_role_arn is the ARN of a role, or a pattern"],
    [{ role_name_prefix: "a/b" }, "role_name_prefix is the beginning of a role's name"],
    [{ role_name_prefix: "{region}{stage}" }, "role_name_prefix is the beginning of a role's name"],
    [{ role_name_prefix: `{region}${"a".repeat(38)}` }, "role_name_prefix is the beginning of a role's name"],
    [{ fips: true }, "fips: this region has no FIPS endpoints"],
  ])("rejects %j: %s", async (variables, message) => {
    const given = { package_folder: "dist", ...variables };
    await expect(evaluateModule(program, PLACES.commercial, given)).rejects.toThrow(message);
  });

  test("requires the folder with the zips", async () => {
    await expect(evaluateModule(program, PLACES.commercial, {})).rejects.toThrow("package_folder");
  });

  test("is formatted by Terraform's rules", async () => {
    const { stdout } = await run(
      program,
      ["fmt", "-check", "-recursive", "-list=true", `${ROOT}infra/terraform`],
      {
        env: { PATH: process.env["PATH"], TF_CLI_CONFIG_FILE: "/dev/null" },
      },
    ).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });
});

function byName(one: { readonly FunctionName: string }, other: { readonly FunctionName: string }): number {
  return one.FunctionName < other.FunctionName ? -1 : 1;
}

/** The name in serverless.yml. */
function sessionRole(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}SessionRole`;
}
