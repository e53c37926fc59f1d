import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { resolveValue } from "#test/infra/deployed-rights.ts";
import { makePackagingFolder, type Packaged, type PackagingFolder } from "#test/infra/packaged-template.ts";
import { isMatch } from "#test/infra/trusts.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);

const PLACE = { partition: "aws", region: "eu-central-1", account: "123456789012" };
const SECRETS = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:tenants/{function}/*";
const PARAMETERS = "arn:aws:ssm:eu-central-1:123456789012:parameter/tenants/{function}/*";
const KEY = "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef";
const ROLES = "arn:aws:iam::123456789012:role/tenants/{function}/*";

/** The role tag of any function, as AWS resolves it. */
const ASKING = `\${aws:PrincipalTag/serverless-ccm-function}`;

const split = (text: string): object => ({ "Fn::Split": [",", text] });
const named = (text: string): object => ({ "Fn::Join": [ASKING, { "Fn::Split": ["{function}", text] }] });

/** Deploys every function that signs in. */
const EVERY_FUNCTION = {
  controllers: "node,node-lifecycle,csr,service,route,tagging,audit",
  auditPublicKeys: PUBLIC_KEY,
};

/** Parameters and the policies that they create, each with one statement. */
const ROWS: readonly [Readonly<Record<string, string>>, Readonly<Record<string, object>>][] = [
  [{}, {}],
  [
    { ...EVERY_FUNCTION, signInSecrets: `${SECRETS},${PARAMETERS}`, signInKeys: KEY },
    {
      SignInSecretsPolicy: {
        Effect: "Allow",
        Action: ["secretsmanager:GetSecretValue", "ssm:GetParameter"],
        Resource: { "Fn::Split": [",", named(`${SECRETS},${PARAMETERS}`)] },
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
      SignInRolesPolicy: { Effect: "Allow", Action: "sts:AssumeRole", Resource: named(ROLES) },
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

/** W3005: osls makes a function depend on its role twice. */
const LINT = ["--ignore-checks", "W3005", "--format", "parseable"];

describeWithPart("aws-tools", "what the functions may, to sign in", ({ cfnLint }) => {
  let folder: PackagingFolder;
  const packaged: Packaged[] = [];

  beforeAll(async () => {
    folder = await makePackagingFolder();
    for (const [parameters] of ROWS) packaged.push(await folder.package(parameters));
  }, 120_000);
  afterAll(() => folder.close());

  test("matches the parameters, for every function", () => {
    for (const [index, [, policies]] of ROWS.entries()) {
      const resources = packaged[index]?.resources ?? {};
      const roles = Object.keys(resources).filter((name) => name.endsWith("FunctionRole"));
      expect(POLICIES.filter((name) => resources[name] !== undefined)).toEqual(Object.keys(policies));
      for (const [name, statement] of Object.entries(policies)) {
        const { PolicyDocument, Roles } = resources[name].Properties;
        expect(PolicyDocument.Statement, name).toMatchObject([statement]);
        const named: string[] = Roles.map(({ Ref }: { readonly Ref: string }) => Ref);
        expect(named.toSorted(), name).toEqual(roles.toSorted());
      }
    }
  });

  test("covers only a function's own resources if {function} stands for its name", () => {
    const { resources } = packaged[1] as Packaged;
    const read = resolveValue(resources.SignInSecretsPolicy.Properties.PolicyDocument.Statement, PLACE, "");
    const assumed = packaged[2]?.resources.SignInRolesPolicy.Properties.PolicyDocument.Statement;
    const assume = resolveValue(assumed, PLACE, "");
    const owners = FUNCTION_IDENTITIES.map((owner) => ({
      owner,
      arns: [SECRETS, PARAMETERS, ROLES].map((arn) =>
        arn.replace("{function}", owner).replace("*", "blue-AbCdEf"),
      ),
    }));
    const roles = Object.keys(resources).filter((name) => name.endsWith("FunctionRole"));
    expect(roles).toHaveLength(FUNCTION_IDENTITIES.length);
    for (const role of roles) {
      const { Tags } = resources[role].Properties;
      expect(Tags).toEqual([{ Key: "serverless-ccm-function", Value: expect.any(String) }]);
      const reader = String(Tags[0].Value);
      expect(role).toBe(`${pascal(reader)}FunctionRole`);
      const patterns = [...read, ...assume].flatMap(({ Resource }) => [Resource].flat().map(String));
      for (const { owner, arns } of owners)
        for (const arn of arns) {
          const isAllowed = patterns.some((pattern) => isMatch(pattern.replaceAll(ASKING, reader), arn));
          expect(isAllowed, `${reader} and ${arn}`).toBe(owner === reader);
        }
    }
  });

  test("passes cfn-lint", async () => {
    const files = packaged.map(({ file }) => file);
    const linted = await run(cfnLint.program, [...cfnLint.args, ...LINT, "--template", ...files]).then(
      () => "",
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
    expect(linted).toBe("");
  }, 120_000);

  test("matches the reference", async () => {
    const reference = await readFile(`${ROOT}docs/reference/aws-permissions.md`, "utf8");
    const [, section = ""] = /## Signing in\n([\s\S]*?)\n## /.exec(reference) ?? [];
    // The location of the clusters has its own test.
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

/** Returns a name such as Ec2Events. */
function pascal(name: string): string {
  return name.replaceAll(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
}
