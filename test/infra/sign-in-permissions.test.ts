import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePackagingFolder, type Packaged, type PackagingFolder } from "#test/infra/packaged-template.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);

const SECRETS = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:tenants/*";
const PARAMETERS = "arn:aws:ssm:eu-central-1:123456789012:parameter/tenants/*";
const KEY = "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef";
const ROLES = "arn:aws:iam::123456789012:role/tenants/*";

const split = (text: string): object => ({ "Fn::Split": [",", text] });

/** By parameters, the policies that they make, each with its one statement. */
const ROWS: readonly [Readonly<Record<string, string>>, Readonly<Record<string, object>>][] = [
  [{}, {}],
  [
    { signInSecrets: `${SECRETS},${PARAMETERS}`, signInKeys: KEY },
    {
      SignInSecretsPolicy: {
        Effect: "Allow",
        Action: ["secretsmanager:GetSecretValue", "ssm:GetParameter"],
        Resource: split(`${SECRETS},${PARAMETERS}`),
      },
      SignInKeysPolicy: {
        Effect: "Allow",
        Action: "kms:Decrypt",
        Resource: split(KEY),
        Condition: { StringLike: { "kms:ViaService": ["secretsmanager.*", "ssm.*"] } },
      },
    },
  ],
  [
    { signInRoleArn: ROLES, webIdentityAudiences: "*.clusters.example,blue", webIdentityMaxSeconds: "900" },
    {
      SignInRolesPolicy: { Effect: "Allow", Action: "sts:AssumeRole", Resource: ROLES },
      WebIdentityPolicy: {
        Effect: "Allow",
        Action: "sts:GetWebIdentityToken",
        Resource: "*",
        Condition: {
          "ForAllValues:StringLike": { "sts:IdentityTokenAudience": split("*.clusters.example,blue") },
          Null: { "sts:IdentityTokenAudience": "false" },
          NumericLessThanEquals: { "sts:DurationSeconds": "900" },
        },
      },
    },
  ],
];

const POLICIES = ["SignInSecretsPolicy", "SignInKeysPolicy", "SignInRolesPolicy", "WebIdentityPolicy"];

/** W3005: osls makes a function depend on its role twice over. */
const LINT = ["--ignore-checks", "W3005", "--format", "parseable"];

describeWithPart("aws-tools", "what the functions may, to sign in", ({ cfnLint }) => {
  let folder: PackagingFolder;
  const packaged: Packaged[] = [];

  beforeAll(async () => {
    folder = await makePackagingFolder();
    for (const [parameters] of ROWS) packaged.push(await folder.package(parameters));
  }, 120_000);
  afterAll(() => folder.close());

  test("is what the parameters say, for every function", () => {
    for (const [index, [, policies]] of ROWS.entries()) {
      const resources = packaged[index]?.resources ?? {};
      const roles = Object.keys(resources).filter((name) => resources[name].Type === "AWS::IAM::Role");
      expect(POLICIES.filter((name) => resources[name] !== undefined)).toEqual(Object.keys(policies));
      for (const [name, statement] of Object.entries(policies)) {
        const { PolicyDocument, Roles } = resources[name].Properties;
        expect(PolicyDocument.Statement, name).toMatchObject([statement]);
        const named: string[] = Roles.map(({ Ref }: { readonly Ref: string }) => Ref);
        expect(named.toSorted(), name).toEqual(roles.toSorted());
      }
    }
  });

  test("is a template that CloudFormation takes", async () => {
    const files = packaged.map(({ file }) => file);
    const linted = await run(cfnLint.program, [...cfnLint.args, ...LINT, "--template", ...files]).then(
      () => "",
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
    expect(linted).toBe("");
  }, 120_000);

  test("is what the reference says", async () => {
    const reference = await readFile(`${ROOT}docs/reference/aws-permissions.md`, "utf8");
    const [, section = ""] = /## Signing in\n([\s\S]*?)\n## /.exec(reference) ?? [];
    // Where the clusters are written down has a test of its own.
    const rows = section.split("\n").filter((line) => !line.startsWith("| `clustersPath`"));
    const named = [...rows.join("\n").matchAll(/`((?:secretsmanager|ssm|kms|sts):\w+)`/g)].map(
      ([, action]) => action,
    );
    const granted = ROWS.flatMap(([, policies]) =>
      Object.values(policies).flatMap((statement) => Reflect.get(statement, "Action") as string | string[]),
    );
    const keys = ["kms:ViaService", "sts:IdentityTokenAudience", "sts:DurationSeconds"];
    expect([...new Set(named)].toSorted()).toEqual([...granted, ...keys].toSorted());
  });
});
