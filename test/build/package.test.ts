import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";
import { functionNames } from "../../build/function-names.ts";
import { writeZip } from "../../build/zip.ts";

const run = promisify(execFile);

// No proxy, no credentials: whatever would go out to the network fails, and fails the test.
const OFFLINE = {
  PATH: process.env["PATH"],
  HTTPS_PROXY: "http://127.0.0.1:1",
  HTTP_PROXY: "http://127.0.0.1:1",
};

describe("serverless package", () => {
  let folder = "";
  let bare: Packaged;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "package-"));
    await copyFile(join(ROOT, "serverless.yml"), join(folder, "serverless.yml"));
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    await mkdir(join(folder, "dist"));
    await writeFile(join(folder, "index.mjs"), "export const handler = async () => ({});");
    for (const name of await functionNames()) {
      await writeZip(join(folder, "dist", `${name}.zip`), { "index.mjs": join(folder, "index.mjs") });
    }
    bare = await packaged(folder, []);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("needs no network and makes a function of each artifact", async () => {
    const { functions } = bare;
    expect(functions.map((definition) => definition.Properties.FunctionName).sort()).toEqual(
      (await functionNames()).map((name) => `serverless-ccm-dev-${name}`),
    );
    for (const { Properties } of functions) {
      expect(Properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
      });
      expect(Properties.Environment.Variables).toEqual({
        AWS_EC2_METADATA_DISABLED: "true",
        CLUSTERS_FILE: "/opt/clusters.yaml",
      });
    }
  });

  test("the node function's role reads instances, writes its log, and no more", async () => {
    const policies = bare.resources["NodeFunctionRole"].Properties.Policies;
    expect(policies.slice(0, 2).flatMap(actionsOf)).toEqual([
      "logs:CreateLogStream",
      "logs:PutLogEvents",
      "ec2:DescribeInstances",
      "ec2:DescribeAvailabilityZones",
      "ec2:DescribeInstanceTopology",
      "ec2:DescribeNetworkInterfaces",
    ]);
    expect(policies.slice(2)).toEqual([
      { "Fn::If": ["AssumesRoles", expect.anything(), { Ref: "AWS::NoValue" }] },
    ]);
  });

  test("the csr function's role reads instances, writes its log, and no more", async () => {
    const policies = bare.resources["CsrFunctionRole"].Properties.Policies;
    expect(policies.slice(0, 2).flatMap(actionsOf)).toEqual([
      "logs:CreateLogStream",
      "logs:PutLogEvents",
      "ec2:DescribeInstances",
      "ec2:DescribeNetworkInterfaces",
    ]);
    expect(policies.slice(2)).toEqual([
      { "Fn::If": ["AssumesRoles", expect.anything(), { Ref: "AWS::NoValue" }] },
    ]);
  });

  test("without parameters there is no layer and no role to assume; with them, both as given", async () => {
    const layer = "arn:aws:lambda:us-east-1:123456789012:layer:clusters:1";
    const role = "arn:aws:iam::*:role/serverless-ccm";
    const full = await packaged(folder, [
      "--param",
      `clustersLayerArn=${layer}`,
      "--param",
      `assumeRoleArn=${role}`,
    ]);
    expect(bare.conditions).toEqual({ HasClustersLayer: differs("none"), AssumesRoles: differs("none") });
    expect(full.conditions).toEqual({ HasClustersLayer: differs(layer), AssumesRoles: differs(role) });
    expect(JSON.stringify(full.functions)).toContain(
      JSON.stringify({ "Fn::If": ["HasClustersLayer", layer, { Ref: "AWS::NoValue" }] }),
    );
    expect(actionsOf(full.resources["NodeFunctionRole"].Properties.Policies[2]["Fn::If"][1])).toEqual([
      "sts:AssumeRole",
    ]);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: a CloudFormation template, of which each test looks at another part
type Template = any;

interface Packaged {
  readonly functions: readonly Template[];
  readonly resources: Template;
  readonly conditions: Template;
}

async function packaged(folder: string, args: readonly string[]): Promise<Packaged> {
  const serverless = join(ROOT, "node_modules/serverless/bin/serverless.js");
  await run(process.execPath, [serverless, "package", ...args], {
    cwd: folder,
    env: { ...OFFLINE, HOME: folder },
  });
  const template = await readFile(
    join(folder, ".serverless/cloudformation-template-update-stack.json"),
    "utf8",
  );
  const { Resources: resources, Conditions: conditions } = JSON.parse(template);
  const all: Template[] = Object.values(resources);
  return { functions: all.filter(({ Type }) => Type === "AWS::Lambda::Function"), resources, conditions };
}

function actionsOf(policy: Template): string[] {
  return policy.PolicyDocument.Statement.flatMap((statement: Template) => statement.Action);
}

function differs(value: string): unknown {
  return { "Fn::Not": [{ "Fn::Equals": [value, "none"] }] };
}
