import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OPERATED_CONTROLLERS } from "#core/controllers.ts";
import { NODE_OBJECTS } from "#core/descriptor.ts";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { listDeploymentNeeds } from "#test/build/deployment-needs.ts";
import { ROOT } from "../../build/bundle.ts";

const CONTROLLERS = DESCRIPTORS.map((descriptor) => {
  const { rights } = OPERATED_CONTROLLERS.find(({ name }) => name === descriptor.name) ?? {};
  return { ...descriptor, granted: rights?.granted ?? [], followed: rights?.followed ?? [] };
});

test.each(CONTROLLERS.map((controller) => [controller.name, controller] as const))(
  "%s has all that deploys and describes it",
  async (_, controller) => {
    expect(await listMissing(controller)).toEqual([]);
  },
);

test("names each place that a new controller lacks, and what to add there", async () => {
  const right = { verb: "create", group: "", resource: "events", namespace: "default" };
  const added = {
    name: "absent-controller",
    functionName: "absent",
    granted: [right],
    followed: [NODE_OBJECTS],
  };
  const session =
    "which a controller that changes a cloud needs; if it changes only the cluster, add it to WRITTEN in src/core/relay-lease.ts";
  expect(await listMissing(added)).toEqual([
    "src/core/controllers.ts: add the watch of absent-controller",
    "functions/parts/controllers.ts: add absent-controller",
    "functions/absent.ts: add the function",
    "functions/README.md: add a row that begins with | [`absent.ts`](absent.ts)",
    'README.md: add `absent` to a row of "What it replaces"',
    "serverless.yml: add the function absent",
    "serverless.yml: add the role AbsentFunctionRole",
    `serverless.yml: add SESSION_ROLE_ARN to the environment of the function absent, ${session}`,
    `serverless.yml: add the role AbsentSessionRole, ${session}`,
    `infra/terraform/policies.tf: add "absent" to the names in sessions, ${session}`,
    "infra/terraform/functions.tf: add absent to every_function",
    'infra/terraform/variables.tf: add "absent" to the default of controllers',
    'infra/terraform/variables.tf: add "absent" to the condition of controllers',
    "infra/terraform/variables.tf: add absent to the error_message of controllers",
    "infra/terraform/statements.tf: add the statements of absent",
    "infra/rbac/absent-controller/absent.yaml: run `npm run manifests`",
    "infra/rbac/flow-schema.yaml: run `npm run manifests`",
    "infra/rbac/service-accounts/service-accounts.yaml: run `npm run manifests` for the ServiceAccount",
    "infra/rbac/service-accounts/service-accounts.yaml: run `npm run manifests` for the ServiceAccount's binding",
    "infra/admission/identities.yaml: run `npm run manifests`",
    "infra/admission/keepalived/identities.yaml: run `npm run manifests`",
    "infra/admission/kubevip/identities.yaml: run `npm run manifests`",
    "infra/rbac/README.md: add a row that begins with | `serverless-ccm-relay` | [absent-controller/relay.yaml](absent-controller/relay.yaml) | `nodes`: list, watch |",
    "infra/rbac/README.md: add a row that begins with | `serverless-ccm-absent` | [absent-controller/absent.yaml](absent-controller/absent.yaml) | `events` in `default`: create |",
    "infra/rbac/README.md: add a row that begins with | `serverless-ccm-sweep` | [absent-controller/sweep.yaml](absent-controller/sweep.yaml) | `nodes`: list |",
    "infra/admission/absent.yaml: add a ValidatingAdmissionPolicy with validations that matches serverless-ccm-absent and its ServiceAccount, and its binding",
    "infra/admission/README.md: add a row that begins with | [absent.yaml](absent.yaml)",
    "infra/admission/events.yaml: add serverless-ccm-absent to the names in ours",
    "infra/admission/events.yaml: add serverless-ccm-absent to source",
    "infra/admission/events.yaml: add serverless-ccm-absent to kinds",
    'docs/reference/configuration.md: add a row for absent-controller to the table "Controllers"',
    "docs/reference/configuration.md: add `signIn.absent` to the row of `signIn.node`",
    "docs/reference/configuration.md: add `absent` to the row of `--function-kubeconfig`",
    "docs/reference/configuration.md: add `absent` to the names for {function} in the row of `roleArn`",
    "docs/reference/aws-permissions.md: add a row that begins with | `absent`",
    "docs/how-to/deploy-to-aws.md: add `absent` to the row of `--param controllers=`",
    'docs/how-to/deploy-to-aws.md: add `absent` to the table of "What the stack contains"',
    "docs/how-to/cross-account-roles.md: add a row that begins with | `absent-controller` | `absent`",
  ]);
});

test("does not accept an admission policy without rules", async () => {
  const need = listDeploymentNeeds({
    name: "tagging",
    functionName: "tagging",
    granted: [],
    followed: [],
  }).find(({ file }) => file === "infra/admission/tagging.yaml");
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
