import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePackagingFolder, type Packaged, type PackagingFolder } from "#test/infra/packaged-template.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { listFunctionNames } from "../../build/function-names.ts";

const run = promisify(execFile);

/** Optional parameters; those of one row belong together. */
const GIVEN: readonly Readonly<Record<string, string>>[] = [
  { clustersLayerArn: "arn:aws:lambda:us-east-1:123456789012:layer:clusters:1" },
  { assumeRoleArn: "arn:aws:iam::*:role/serverless-ccm" },
  {
    vpcSubnetIds: "subnet-0123456789abcdef0,subnet-0fedcba9876543210",
    vpcSecurityGroupIds: "sg-0123456789abcdef0",
  },
  { reservedConcurrency: "20" },
];

/**
 * Every combination of any three rows, present or absent, occurs in half of all combinations: those with an
 * even number of present rows. The one parameter that is only a string in the template occurs with each of
 * the others and without it.
 */
const COMBINATIONS: readonly Readonly<Record<string, string>>[] = Array.from(
  { length: 2 ** GIVEN.length },
  (_, bits) => GIVEN.map((_row, index) => (bits >> index) % 2 === 1),
)
  .filter((isThere) => isThere.filter(Boolean).length % 2 === 0)
  .map((isThere) => ({
    ...Object.assign({}, ...GIVEN.filter((_row, index) => isThere[index])),
    ...(isThere[0] === isThere[1] ? {} : { clustersFile: "/mnt/clusters/clusters.yaml" }),
  }));

/** A function with a URL is deployed only if it is named. */
const NAMES = (await listFunctionNames()).filter((name) => !["admission", "audit"].includes(name));

/** The number of cores on slow machines; each run takes about a second of one core, and its own folder. */
const AT_ONCE = 2;

/** For machines with busy cores. */
const TIMEOUT_MS = 300_000;

/** W3005: osls makes a function depend on its role twice. It does no harm, and is not ours. */
const LINT = ["--ignore-checks", "W3005", "--format", "parseable"];

describeWithPart(
  "aws-tools",
  "serverless.yml in every combination of any three of its parameters",
  ({ cfnLint }) => {
    let folders: readonly PackagingFolder[] = [];
    const packaged: Packaged[] = [];

    beforeAll(async () => {
      folders = await Promise.all(Array.from({ length: AT_ONCE }, makePackagingFolder));
      const waiting = COMBINATIONS.entries();
      const work = async (folder: PackagingFolder): Promise<void> => {
        for (const [index, parameters] of waiting) packaged[index] = await folder.package(parameters);
      };
      await Promise.all(folders.map(work));
    }, TIMEOUT_MS);
    afterAll(() => Promise.all(folders.map((folder) => folder.close())));

    test("can be packaged and passes cfn-lint", async () => {
      expect(packaged).toHaveLength(2 ** (GIVEN.length - 1));
      const files = packaged.map(({ file }) => file);
      const linted = await run(cfnLint.program, [...cfnLint.args, ...LINT, "--template", ...files]).then(
        () => "",
        // cfn-lint prints its findings to stdout.
        (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
      );
      expect(linted).toBe("");
    });

    test("contains exactly the given parameters", () => {
      const actual = packaged.map(({ functions, resources }) => {
        const [{ Properties: properties }] = functions;
        return {
          layers: properties.Layers,
          clustersFile: properties.Environment.Variables.CLUSTERS_FILE,
          assumes: resources.AssumeRolePolicy?.Properties.PolicyDocument.Statement[0].Resource,
          attaches: resources.NetworkPolicy !== undefined,
          roles: resources.NodeFunctionRole.Properties.ManagedPolicyArns,
          subnets: properties.VpcConfig.SubnetIds,
          groups: properties.VpcConfig.SecurityGroupIds,
          reserved: functions.map((each) => each.Properties.ReservedConcurrentExecutions),
        };
      });
      const assumed = (arn: string | undefined) =>
        arn === undefined
          ? undefined
          : {
              "Fn::Join": [
                `\${aws:PrincipalTag/serverless-ccm-function}`,
                { "Fn::Split": ["{function}", arn] },
              ],
            };
      const split = (ids: string | undefined) => (ids === undefined ? [] : { "Fn::Split": [",", ids] });
      const wanted = COMBINATIONS.map((each) => ({
        layers: each["clustersLayerArn"] === undefined ? [] : [each["clustersLayerArn"]],
        clustersFile: each["clustersFile"] ?? "/opt/clusters.yaml",
        assumes: assumed(each["assumeRoleArn"]),
        attaches: each["vpcSubnetIds"] !== undefined,
        roles: each["vpcSubnetIds"] === undefined ? undefined : [{ Ref: "NetworkPolicy" }],
        subnets: split(each["vpcSubnetIds"]),
        groups: split(each["vpcSecurityGroupIds"]),
        reserved: NAMES.map(() =>
          each["reservedConcurrency"] === undefined ? undefined : Number(each["reservedConcurrency"]),
        ),
      }));
      expect(actual).toEqual(wanted);
    });

    test.each([
      [{ vpcSubnetIds: "subnet-0123456789abcdef0" }, "vpcSubnetIds is given without vpcSecurityGroupIds"],
      [{ vpcSecurityGroupIds: "sg-0123456789abcdef0" }, "vpcSecurityGroupIds is given without vpcSubnetIds"],
      [{ reservedConcurrency: "many" }, "functions.node.reservedConcurrency"],
    ])("%j is rejected, with the name of %s", async (parameters, name) => {
      await expect(folders[0]?.package(parameters)).rejects.toThrow(name);
    });
  },
);
