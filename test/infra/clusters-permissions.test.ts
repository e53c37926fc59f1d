import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { getFunctionRole } from "#test/infra/function-roles.ts";
import { makePackagingFolder, type Packaged, type PackagingFolder } from "#test/infra/packaged-template.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const run = promisify(execFile);

const parameter = (path: string) => ({
  "Fn::Sub": `arn:\${AWS::Partition}:ssm:\${AWS::Region}:\${AWS::AccountId}:parameter${path}`,
});

/** W3005: osls makes a function depend on its role twice. */
const LINT = ["--ignore-checks", "W3005", "--format", "parseable"];

describeWithPart("aws-tools", "where the functions read clusters", ({ cfnLint }) => {
  let folder: PackagingFolder;
  let without: Packaged;
  let elsewhere: Packaged;
  let of: Packaged;
  beforeAll(async () => {
    folder = await makePackagingFolder();
    without = await folder.package({});
    elsewhere = await folder.package({ stopSwitchPath: "/ccm/stop" });
    of = await folder.package({ clustersPath: "/ccm/clusters", allowedNetworks: "10.0.0.0/8" });
  }, 120_000);
  afterAll(() => folder.close());

  const environmentsOf = ({ functions }: Packaged) =>
    new Set(
      functions.map(({ Properties: { Environment } }) => {
        const { CLUSTERS_FILE, ALLOWED_NETWORKS } = Environment.Variables;
        return `${CLUSTERS_FILE} ${ALLOWED_NETWORKS}`;
      }),
    );

  test("without a path, is a file of a layer, and grants no access to parameters", () => {
    expect([...environmentsOf(without)]).toEqual(["/opt/clusters.yaml "]);
    expect(without.resources).not.toHaveProperty("ClusterPolicy");
    expect(without.resources).not.toHaveProperty("AllClustersPolicy");
  });

  test("is the given path: one entry by its name, or all entries for functions that need all", () => {
    expect([...environmentsOf(of)]).toEqual(["ssm:/ccm/clusters/ 10.0.0.0/8"]);
    const statementOf = (name: string) => {
      const { PolicyDocument, Roles } = of.resources[name].Properties;
      return {
        ...PolicyDocument.Statement[0],
        roles: Roles.map(({ Ref }: { readonly Ref: string }) => Ref).toSorted(),
      };
    };
    expect(
      statementOf("ClusterPolicy"),
      "name the role of every controller's function in Roles of ClusterPolicy in serverless.yml",
    ).toEqual({
      Effect: "Allow",
      Action: "ssm:GetParameter",
      Resource: parameter("/ccm/clusters/*"),
      roles: DESCRIPTORS.map(({ functionName }) => getFunctionRole(functionName)).toSorted(),
    });
    expect(statementOf("AllClustersPolicy")).toEqual({
      Effect: "Allow",
      Action: ["ssm:GetParameters", "ssm:GetParametersByPath"],
      Resource: [parameter("/ccm/clusters"), parameter("/ccm/clusters/*")],
      roles: ["Ec2EventsFunctionRole", "SweepFunctionRole"],
    });
  });

  test.each([
    { given: "nothing", template: () => without, path: undefined },
    { given: "a path of clusters", template: () => of, path: "/ccm/clusters-stop" },
    { given: "a path of its own", template: () => elsewhere, path: "/ccm/stop" },
  ])("stores the stop switch next to it: given $given, the functions read $path", ({ template, path }) => {
    const { functions, resources } = template();
    const switches = functions.map(({ Properties }) => Properties.Environment.Variables["STOP_SWITCH"]);
    expect([...new Set(switches)]).toEqual([path === undefined ? "" : `ssm:${path}/`]);
    const policy = resources["StopSwitchPolicy"]?.Properties;
    expect(policy?.PolicyDocument.Statement).toEqual(
      path === undefined
        ? undefined
        : [
            {
              Effect: "Allow",
              Action: ["ssm:GetParameters", "ssm:GetParametersByPath"],
              Resource: [parameter(path), parameter(`${path}/*`)],
            },
          ],
    );
    expect(policy?.Roles.length).toBe(path === undefined ? undefined : functions.length);
  });

  test("passes cfn-lint in both forms", async () => {
    for (const { file } of [without, elsewhere, of])
      await run(cfnLint.program, [...cfnLint.args, ...LINT, file]);
  });
});
