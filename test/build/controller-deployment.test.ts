import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { OPERATED_CONTROLLERS } from "#core/operations.ts";
import { listDeploymentNeeds } from "#test/build/deployment-needs.ts";
import { ROOT } from "../../build/bundle.ts";

const CONTROLLERS = DESCRIPTORS.map((descriptor) => {
  const { rights } = OPERATED_CONTROLLERS.find(({ name }) => name === descriptor.name) ?? {};
  return { ...descriptor, rights: rights?.granted ?? [] };
});

test.each(CONTROLLERS.map((controller) => [controller.name, controller] as const))(
  "%s has all that deploys and describes it",
  async (_, controller) => {
    expect(await listMissing(controller)).toEqual([]);
  },
);

test("names each place that a new controller lacks, and what to add there", async () => {
  const right = { verb: "create", group: "", resource: "events", namespace: "default" };
  const added = { name: "example-controller", functionName: "example", rights: [right] };
  const session =
    "which a controller that changes a cloud needs; if it changes only the cluster, add it to WRITTEN in src/core/relay-lease.ts";
  expect(await listMissing(added)).toEqual([
    "src/core/watches.ts: add the watch of example-controller",
    "functions/parts/controllers.ts: add example-controller",
    "functions/example.ts: add the function",
    "functions/README.md: add a row that begins with | [`example.ts`](example.ts)",
    'README.md: add `example` to a row of "What it replaces"',
    "serverless.yml: add the function example",
    "serverless.yml: add the role ExampleFunctionRole",
    `serverless.yml: add SESSION_ROLE_ARN to the environment of the function example, ${session}`,
    `serverless.yml: add the role ExampleSessionRole, ${session}`,
    `infra/terraform/policies.tf: add "example" to the names in sessions, ${session}`,
    "infra/terraform/functions.tf: add example to every_function",
    'infra/terraform/variables.tf: add "example" to the default of controllers',
    'infra/terraform/variables.tf: add "example" to the condition of controllers',
    "infra/terraform/variables.tf: add example to the error_message of controllers",
    "infra/terraform/statements.tf: add the statements of example",
    "infra/rbac/example-controller/example.yaml: run `npm run manifests`",
    "infra/rbac/flow-schema.yaml: run `npm run manifests`",
    "infra/rbac/service-accounts/service-accounts.yaml: run `npm run manifests` for the ServiceAccount",
    "infra/rbac/service-accounts/service-accounts.yaml: run `npm run manifests` for the ServiceAccount's binding",
    "infra/admission/identities.yaml: run `npm run manifests`",
    "infra/admission/keepalived/identities.yaml: run `npm run manifests`",
    "infra/admission/kubevip/identities.yaml: run `npm run manifests`",
    "infra/rbac/README.md: add a row that begins with | `serverless-ccm-example` | [example-controller/example.yaml](example-controller/example.yaml) | `events` in `default`: create |",
    "infra/admission/example.yaml: add a ValidatingAdmissionPolicy with validations that matches serverless-ccm-example and its ServiceAccount, and its binding",
    "infra/admission/README.md: add a row that begins with | [example.yaml](example.yaml)",
    "infra/admission/events.yaml: add serverless-ccm-example to the names in ours",
    "infra/admission/events.yaml: add serverless-ccm-example to source",
    "infra/admission/events.yaml: add serverless-ccm-example to kinds",
    'docs/reference/configuration.md: add a row for example-controller to the table "Controllers"',
    "docs/reference/configuration.md: add `signIn.example` to the row of `signIn.node`",
    "docs/reference/configuration.md: add `example` to the row of `--function-kubeconfig`",
    "docs/reference/configuration.md: add `example` to the names for {function} in the row of `roleArn`",
    "docs/reference/aws-permissions.md: add a row that begins with | `example`",
    "docs/how-to/deploy-to-aws.md: add `example` to the row of `--param controllers=`",
    'docs/how-to/deploy-to-aws.md: add `example` to the table of "What the stack contains"',
    "docs/how-to/cross-account-roles.md: add a row that begins with | `example-controller` | `example`",
  ]);
});

test("does not accept an admission policy without rules", async () => {
  const need = listDeploymentNeeds({ name: "tagging", functionName: "tagging", rights: [] }).find(
    ({ file }) => file === "infra/admission/tagging.yaml",
  );
  const text = await readFile(join(ROOT, "infra/admission/tagging.yaml"), "utf8");
  expect(need?.isMet(text)).toBe(true);
  for (const empty of [
    "",
    "# Later.\n",
    text.replace(/ {2}validations:\n(?: {4}.*\n)+/, "  validations: []\n"),
  ])
    expect(need?.isMet(empty)).toBe(false);
});

/** Returns what a controller lacks outside its folder, as `FILE: WHAT`. */
async function listMissing(
  controller: Parameters<typeof listDeploymentNeeds>[0],
): Promise<readonly string[]> {
  const rows = await Promise.all(
    listDeploymentNeeds(controller).map(async ({ file, add, isMet }) => {
      const text = await readFile(join(ROOT, file), "utf8").catch(() => "");
      return isMet(text) ? [] : [`${file}: ${add}`];
    }),
  );
  return rows.flat();
}
