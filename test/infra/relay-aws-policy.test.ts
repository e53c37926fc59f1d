import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { resolveValue, type Statement } from "#test/infra/deployed-rights.ts";
import { makePackagingFolder, type PackagingFolder, type Template } from "#test/infra/packaged-template.ts";
import { isMatch } from "#test/infra/trusts.ts";
import { ROOT } from "../../build/bundle.ts";

const PLACE = { partition: "aws", region: "eu-central-1", account: "123456789012" };
const ACCOUNT = "eu-central-1:123456789012";
const FUNCTION = `arn:aws:lambda:${ACCOUNT}:function:serverless-ccm-dev`;
const SECRETS = `arn:aws:secretsmanager:${ACCOUNT}:secret:tenants/{function}/*`;
const KEY = `arn:aws:kms:${ACCOUNT}:key/01234567-89ab-cdef-0123-456789abcdef`;

/** The relay's role tag, as AWS resolves it. */
const ASKING = `\${aws:PrincipalTag/serverless-ccm-function}`;

interface Row {
  readonly title: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** The requested actions and their resources. */
  readonly allowed: readonly (readonly [action: string, resource: string])[];
  readonly refused: readonly (readonly [action: string, resource: string])[];
}

/** Each test packages a template, which is slow on busy cores. */
const TIMEOUT_MS = 240_000;

const ROWS: readonly Row[] = [
  {
    title: "invokes the functions of controllers, and no other",
    parameters: {},
    allowed: DESCRIPTORS.map(({ functionName }) => ["lambda:InvokeFunction", `${FUNCTION}-${functionName}`]),
    refused: [
      ...["sweep", "ec2-events", "admission", "audit"].map(
        (name) => ["lambda:InvokeFunction", `${FUNCTION}-${name}`] as const,
      ),
      ["lambda:InvokeFunction", `${FUNCTION.replace("-dev", "-prod")}-node`],
      ["lambda:UpdateFunctionCode", `${FUNCTION}-node`],
      ["ssm:GetParametersByPath", `arn:aws:ssm:${ACCOUNT}:parameter/ccm/clusters`],
      ["sts:GetWebIdentityToken", "*"],
    ],
  },
  {
    title: "invokes those that are deployed",
    parameters: { controllers: "csr" },
    allowed: [["lambda:InvokeFunction", `${FUNCTION}-csr`]],
    refused: [["lambda:InvokeFunction", `${FUNCTION}-node`]],
  },
  {
    title: "lists clusters and what is stopped, and writes neither",
    parameters: { clustersPath: "/ccm/clusters" },
    allowed: [
      ["ssm:GetParametersByPath", `arn:aws:ssm:${ACCOUNT}:parameter/ccm/clusters`],
      ["ssm:GetParametersByPath", `arn:aws:ssm:${ACCOUNT}:parameter/ccm/clusters-stop`],
    ],
    refused: [
      ["ssm:PutParameter", `arn:aws:ssm:${ACCOUNT}:parameter/ccm/clusters/a`],
      ["ssm:PutParameter", `arn:aws:ssm:${ACCOUNT}:parameter/ccm/clusters-stop/deletes`],
      ["ssm:GetParametersByPath", `arn:aws:ssm:${ACCOUNT}:parameter/ccm`],
    ],
  },
  {
    title: "signs in by what is its own",
    parameters: {
      signInSecrets: SECRETS,
      signInKeys: KEY,
      signInRoleArn: "arn:aws:iam::123456789012:role/tenants/{function}/*",
      webIdentityAudiences: "serverless-ccm:*",
    },
    allowed: [
      ["secretsmanager:GetSecretValue", `arn:aws:secretsmanager:${ACCOUNT}:secret:tenants/relay/a`],
      ["kms:Decrypt", KEY],
      ["sts:AssumeRole", "arn:aws:iam::123456789012:role/tenants/relay/a"],
      ["sts:GetWebIdentityToken", "*"],
    ],
    refused: [
      ["secretsmanager:GetSecretValue", `arn:aws:secretsmanager:${ACCOUNT}:secret:tenants/node/a`],
      ["sts:AssumeRole", "arn:aws:iam::123456789012:role/tenants/node/a"],
      ["ec2:DescribeInstances", "*"],
    ],
  },
  {
    title: "assumes no role of a cloud",
    parameters: { assumeRoleArn: "arn:aws:iam::*:role/ccm" },
    allowed: [],
    refused: [["sts:AssumeRole", "arn:aws:iam::210987654321:role/ccm"]],
  },
];

describe("the relay's policy", () => {
  let folder: PackagingFolder;
  beforeAll(async () => {
    folder = await makePackagingFolder();
  });
  afterAll(() => folder.close());

  test.each(ROWS)(
    "$title",
    async ({ parameters, allowed, refused }) => {
      const { resources } = await folder.package(parameters, PLACE.region);
      const statements: readonly Statement[] = resolveValue(
        resources["RelayPolicy"].Properties.PolicyDocument.Statement,
        PLACE,
        "serverless-ccm-dev",
      );
      const isAllowed = ([action, resource]: readonly [string, string]): boolean =>
        statements.some(
          ({ Effect, Action, Resource }) =>
            Effect === "Allow" &&
            [Action].flat().includes(action) &&
            [Resource]
              .flat()
              .some((pattern) => isMatch(String(pattern).replaceAll(ASKING, "relay"), resource)),
        );
      expect(
        allowed.filter((asked) => !isAllowed(asked)),
        "add these to the statements of RelayPolicy in serverless.yml",
      ).toEqual([]);
      expect(refused.filter(isAllowed), "remove these from RelayPolicy in serverless.yml").toEqual([]);
      expect(statements.filter(({ Effect }) => Effect !== "Allow")).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "is not attached, and is missing if a relay has nothing to invoke",
    async () => {
      const named = (resources: Template): string[] =>
        Object.keys(resources).filter((name) => name === "RelayPolicy");
      const { resources } = await folder.package({}, PLACE.region);
      expect(Object.keys(resources["RelayPolicy"].Properties).toSorted()).toEqual([
        "Description",
        "PolicyDocument",
      ]);
      const alone = { controllers: "admission", admissionPublicKeys: PUBLIC_KEY };
      const left = await folder.package(alone, PLACE.region);
      expect(named(left.resources)).toEqual([]);
      expect(JSON.stringify(JSON.parse(await readFile(left.file, "utf8")).Outputs)).not.toContain("Relay");
    },
    TIMEOUT_MS,
  );

  test(
    "grants the actions that the reference lists",
    async () => {
      const reference = await readFile(`${ROOT}docs/reference/aws-permissions.md`, "utf8");
      const [, section = ""] = /## The relay\n([\s\S]*?)\n## /.exec(reference) ?? [];
      const listed = [...section.matchAll(/^\| `[^|]*\|([^|]*)\|/gm)].flatMap(([, cell = ""]) =>
        [...cell.matchAll(/`(\w+:\w+)`/g)].map(([, action = ""]) => action),
      );
      const parameters = Object.assign({}, ...ROWS.slice(2, 4).map(({ parameters: each }) => each));
      const { resources } = await folder.package(parameters, PLACE.region);
      const granted = resources["RelayPolicy"].Properties.PolicyDocument.Statement.flatMap(
        ({ Action }: Statement) => [Action].flat(),
      );
      expect([...new Set(listed)].toSorted()).toEqual([...new Set(granted)].toSorted());
    },
    TIMEOUT_MS,
  );
});
