import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { GetFunctionConfigurationCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { afterAll, beforeAll, expect, test } from "vitest";
import { printAuthenticationConfig } from "#cli/infra/authentication-config.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { makePackagingFolder, type Packaged, type PackagingFolder } from "#test/infra/packaged-template.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const run = promisify(execFile);
const REGION = "eu-central-1";
const PREFIX = "serverless-ccm-dev-";
const KEYS = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };

/** `audit` has a URL, and is deployed only if it is named. */
const DEPLOYED = FUNCTION_IDENTITIES.filter((name) => name !== "audit");

/** With generated and with custom role names: CloudFormation's parameters, and the resulting role names. */
const ROWS = [
  {
    stack: "named-by-cloudformation",
    parameters: {},
    capability: "CAPABILITY_IAM",
    role: (name: string) => new RegExp(`:role/named-by-cloudformation-${pascal(name)}Role-\\w+$`),
  },
  {
    stack: "named-by-prefix",
    parameters: { roleNamePrefix: "ccm-{region}-prod-" },
    capability: "CAPABILITY_NAMED_IAM",
    role: (name: string) => new RegExp(`:role/ccm-${REGION}-prod-${name}$`),
  },
];

// Moto ignores what it does not support: alarms, policies of queues and settings of asynchronous invocations.
describeWithPart("moto", "the packaged stack, made on moto,", (program) => {
  describeWithPart("aws-tools", "by AWS's command line", ({ aws }) => {
    let moto: Moto;
    let folder: PackagingFolder;

    beforeAll(async () => {
      // The zips are in no bucket.
      moto = await startMoto(program, { VALIDATE_LAMBDA_S3: "false" });
      folder = await makePackagingFolder();
    });
    afterAll(() => Promise.all([moto?.close(), folder?.close()]));

    const cloudformation = async (...args: readonly string[]): Promise<string> => {
      const environment = { ...process.env, ...KEYS, AWS_DEFAULT_REGION: REGION, AWS_ENDPOINT_URL: moto.url };
      const { stdout } = await run(aws.program, [...aws.args, "cloudformation", ...args], {
        env: environment,
      });
      return stdout;
    };

    test.each(ROWS)("$stack: lists its roles, functions and queues", async (row) => {
      const { stack, parameters, capability, role } = row;
      await moto.reset();
      const packaged: Packaged = await folder.package(parameters, REGION);
      const template = `file://${packaged.file}`;
      await cloudformation(
        ...["create-stack", "--stack-name", stack, "--template-body", template, "--capabilities", capability],
      );
      const described = await cloudformation("describe-stacks", "--stack-name", stack);
      const [{ StackStatus, Outputs }] = JSON.parse(described).Stacks;
      expect(StackStatus).toBe("CREATE_COMPLETE");
      const outputs: Readonly<Record<string, string>> = Object.fromEntries(
        Outputs.map(({ OutputKey, OutputValue }: Record<string, string>) => [OutputKey, OutputValue]),
      );
      const lambda = new LambdaClient({
        region: REGION,
        endpoint: moto.url,
        credentials: { accessKeyId: "test", secretAccessKey: "test" },
      });
      for (const name of DEPLOYED) {
        const FunctionName = `${PREFIX}${name}`;
        const deployed = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
        expect(outputs[`${pascal(name)}Arn`]).toBe(deployed.FunctionArn);
        expect(outputs[`${pascal(name)}RoleArn`]).toBe(deployed.Role);
        expect(deployed.Role).toMatch(role(name));
      }
      lambda.destroy();
      expect(outputs["FunctionPrefix"]).toBe(PREFIX);
      for (const name of ["Service", "Route", "Tagging"])
        expect(outputs[`${name}SessionRoleArn`]).toMatch(/^arn:aws:iam::\d{12}:role\//);
      for (const [name, queue] of [
        ["FailuresQueueUrl", "failures"],
        ["DeadLettersQueueUrl", "dead-letters"],
      ] as const)
        expect(outputs[name]).toMatch(new RegExp(`/${PREFIX}${queue}$`));

      const file = join(dirname(packaged.file), "outputs.json");
      await writeFile(file, described);
      const listed = new Set((await authenticationConfig(file)).match(/arn:aws:iam::\d+:role\/[\w-]+/g));
      expect([...listed].toSorted()).toEqual(
        DEPLOYED.map((name) => outputs[`${pascal(name)}RoleArn`]).toSorted(),
      );
    });
  });
});

async function authenticationConfig(rolesFrom: string): Promise<string> {
  const texts: string[] = [];
  await printAuthenticationConfig(
    {
      issuer: ["https://1234abcd.tokens.sts.global.api.aws"],
      rolesFrom,
      clusterName: "tenant-a",
      serverVersion: "1.36",
    },
    {},
    (text) => texts.push(text),
    () => {},
  );
  return texts.join("");
}

/** Returns a name such as Ec2EventsFunction. */
function pascal(name: string): string {
  return `${name.replaceAll(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Function`;
}
