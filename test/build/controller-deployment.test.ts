import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatUser, type Identity } from "#core/identities.ts";
import type { Watch } from "#core/watch.ts";
import { NAMED_WATCHES } from "#core/watches.ts";
import { CONTROLLER_NAMES } from "#functions/parts/controllers.ts";
import { ROOT } from "../../build/bundle.ts";

/** The parts of a controller's value that its deployment repeats. */
type Deployed = Pick<Watch, "name" | "functionName" | "enablement">;

test.each(NAMED_WATCHES.map((watch) => [watch.name, watch] as const))(
  "%s has all that deploys it",
  async (_, watch) => {
    expect(await listMissing(watch)).toEqual([]);
  },
);

test("names what a new controller lacks", async () => {
  const added = { name: "example-controller", functionName: "example" };
  expect(await listMissing(added)).toEqual([
    "functions/parts/controllers.ts: example-controller",
    "functions/example.ts",
    "functions/README.md: the row of example.ts",
    "serverless.yml: functions.example",
    "serverless.yml: ExampleFunctionRole",
    "infra/terraform/functions.tf: example",
    "infra/terraform/variables.tf: example by default",
    "infra/terraform/variables.tf: example in the validation",
    "infra/terraform/*statements.tf: example",
    "infra/rbac/example-controller/example.yaml",
    "infra/rbac/README.md: serverless-ccm-example",
    "infra/rbac/flow-schema.yaml: User serverless-ccm-example",
    "infra/rbac/flow-schema.yaml: ServiceAccount serverless-ccm-example",
    "infra/rbac/service-accounts/service-accounts.yaml: serverless-ccm-example",
    "infra/admission/example.yaml",
    ...["", "keepalived/", "kubevip/"].flatMap((folder) => [
      `infra/admission/${folder}identities.yaml: serverless-ccm-example`,
      `infra/admission/${folder}identities.yaml: what serverless-ccm-example may write`,
    ]),
  ]);
});

/** Returns what a controller lacks outside its folder, as `FILE: WHAT`. */
async function listMissing(watch: Deployed): Promise<readonly string[]> {
  const rows = await Promise.all(
    listNeeds(watch).map(async ({ files, what, pattern }) => {
      const texts = await Promise.all(files.map(readIfPresent));
      if (texts.some((text) => text !== undefined && (pattern?.test(text) ?? true))) return [];
      const place = files.length === 1 ? files.join() : "infra/terraform/*statements.tf";
      return [what === undefined ? place : `${place}: ${what}`];
    }),
  );
  const unlisted = CONTROLLER_NAMES.includes(watch.name)
    ? []
    : [`functions/parts/controllers.ts: ${watch.name}`];
  return [...unlisted, ...rows.flat()];
}

/** A file, or one of several, that must exist and contain the pattern. */
interface Need {
  readonly files: readonly string[];
  readonly what?: string;
  readonly pattern?: RegExp;
}

function listNeeds({ name, functionName, enablement }: Deployed): readonly Need[] {
  const user = formatUser(functionName as Identity);
  const role = `${toPascalCase(functionName)}FunctionRole`;
  const roles = `infra/rbac/${enablement?.onByDefault === true ? "" : `${name}/`}${functionName}.yaml`;
  const need = (file: string, what?: string, pattern?: RegExp): Need => ({
    files: [file],
    ...(what === undefined ? {} : { what }),
    ...(pattern === undefined ? {} : { pattern }),
  });
  const account = "infra/rbac/service-accounts/service-accounts.yaml";
  const subject = (kind: string): RegExp => new RegExp(`^ +${kind}:\\n +name: ${user}$`, "m");
  return [
    need(`functions/${functionName}.ts`),
    need(
      "functions/README.md",
      `the row of ${functionName}.ts`,
      new RegExp(`^\\| \\[\`${functionName}\\.ts\``, "m"),
    ),
    need("serverless.yml", `functions.${functionName}`, new RegExp(`^ {2}${functionName}:$`, "m")),
    need("serverless.yml", role, new RegExp(`^ {6}${role}:\\n {8}Type: AWS::IAM::Role$`, "m")),
    need("infra/terraform/functions.tf", functionName, new RegExp(`^ {4}${functionName} = \\{$`, "m")),
    need(
      "infra/terraform/variables.tf",
      `${functionName} by default`,
      new RegExp(`default += \\[.*"${functionName}"`),
    ),
    need(
      "infra/terraform/variables.tf",
      `${functionName} in the validation`,
      new RegExp(`setsubtract\\(var\\.controllers, \\[\\n.*"${functionName}"`),
    ),
    {
      files: ["infra/terraform/statements.tf", "infra/terraform/service-statements.tf"],
      what: functionName,
      pattern: new RegExp(`^ {4}("?)${functionName}\\1 += `, "m"),
    },
    need(roles),
    need("infra/rbac/README.md", user, new RegExp(`^\\| \`${user}\``, "m")),
    need("infra/rbac/flow-schema.yaml", `User ${user}`, subject("user")),
    need("infra/rbac/flow-schema.yaml", `ServiceAccount ${user}`, subject("serviceAccount")),
    need(account, user, new RegExp(`^kind: ServiceAccount\\nmetadata:\\n {2}name: ${user}$`, "m")),
    need(`infra/admission/${functionName}.yaml`),
    ...["", "keepalived/", "kubevip/"].flatMap((folder) => {
      const file = `infra/admission/${folder}identities.yaml`;
      const names = `'${user}', 'system:serviceaccount:kube-system:${user}'`;
      return [
        need(file, user, new RegExp(names)),
        need(file, `what ${user} may write`, new RegExp(`'${user}': \\[`)),
      ];
    }),
  ];
}

async function readIfPresent(file: string): Promise<string | undefined> {
  return readFile(join(ROOT, file), "utf8").catch(() => undefined);
}

function toPascalCase(name: string): string {
  return name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
