import { parse, parseAllDocuments } from "yaml";
import * as z from "zod";
import { NAMED_WATCHES } from "#core/controllers.ts";
import {
  buildRights,
  type ControllerDescriptor,
  type ControllerRights,
  type Right,
} from "#core/descriptor.ts";
import { formatUser, type Identity } from "#core/identities.ts";
import { WRITABLE_BY_RELAY } from "#core/relay-lease.ts";
import { CONTROLLER_NAMES } from "#functions/parts/controllers.ts";
import { formatRights } from "#test/infra/format-rights.ts";
import { toPascalCase } from "#test/infra/function-roles.ts";

/** The parts of a controller's value that its deployment repeats. */
interface Deployed
  extends Pick<ControllerDescriptor, "name" | "functionName" | "enablement">,
    ControllerRights {}

/** A place outside a controller's folder that its deployment needs. */
interface Need {
  readonly file: string;
  /** What to do if it is not met. */
  readonly add: string;
  /** Returns whether the file's text has it; the text of a missing file is empty. */
  isMet(text: string): boolean;
}

/** Returns every place that a controller needs, apart from its folder and what the compiler reports. */
export function listDeploymentNeeds(controller: Deployed): readonly Need[] {
  return [
    ...listCodeNeeds(controller),
    ...listServerlessNeeds(controller),
    ...listTerraformNeeds(controller),
    ...listManifestNeeds(controller),
    ...listAdmissionNeeds(controller),
    ...listPageNeeds(controller),
  ];
}

function listCodeNeeds({ name, functionName }: Deployed): readonly Need[] {
  const isWatched = NAMED_WATCHES.some((watch) => watch.name === name);
  return [
    { file: "src/core/controllers.ts", add: `add the watch of ${name}`, isMet: () => isWatched },
    {
      file: "functions/parts/controllers.ts",
      add: `add ${name}`,
      isMet: () => CONTROLLER_NAMES.includes(name),
    },
    { file: `functions/${functionName}.ts`, add: "add the function", isMet: (text) => text.trim() !== "" },
    needRow("functions/README.md", `| [\`${functionName}.ts\`](${functionName}.ts)`),
    {
      file: "README.md",
      add: `add \`${functionName}\` to a row of "What it replaces"`,
      isMet: (text) => getSection(text, "What it replaces").includes(`\`${functionName}\``),
    },
  ];
}

const Configuration = z.object({
  functions: z.record(z.string(), z.looseObject({ environment: z.looseObject({}).optional() })),
  resources: z.array(
    z.looseObject({ Resources: z.record(z.string(), z.unknown()).optional() }).or(z.string()),
  ),
});

/** By text: parsing takes a tenth of a second. */
const configurations = new Map<string, z.output<typeof Configuration>>();

function readConfiguration(text: string): z.output<typeof Configuration> {
  const configuration = configurations.get(text) ?? Configuration.parse(parse(text, { merge: true }));
  configurations.set(text, configuration);
  return configuration;
}

function listServerlessNeeds({ name, functionName }: Deployed): readonly Need[] {
  const id = toPascalCase(functionName);
  const needRole = (role: string, why = ""): Need => ({
    file: "serverless.yml",
    add: `add the role ${role}${why}`,
    isMet: (text) =>
      readConfiguration(text).resources.some(
        (each) => typeof each !== "string" && each.Resources?.[role] !== undefined,
      ),
  });
  return [
    {
      file: "serverless.yml",
      add: `add the function ${functionName}`,
      isMet: (text) => readConfiguration(text).functions[functionName] !== undefined,
    },
    needRole(`${id}FunctionRole`),
    ...(WRITABLE_BY_RELAY.includes(name)
      ? []
      : [
          {
            file: "serverless.yml",
            add: `add SESSION_ROLE_ARN to the environment of the function ${functionName}${SESSION}`,
            isMet: (text: string) =>
              readConfiguration(text).functions[functionName]?.environment?.["SESSION_ROLE_ARN"] !==
              undefined,
          },
          needRole(`${id}SessionRole`, SESSION),
          needMatch(
            "infra/terraform/policies.tf",
            `add "${functionName}" to the names in sessions${SESSION}`,
            `local\\.session_roles && contains\\(\\[.*"${functionName}"`,
          ),
        ]),
  ];
}

const SESSION =
  ", which a controller that changes a cloud needs; if it changes only the cluster, add it to WRITTEN in src/core/relay-lease.ts";

function listTerraformNeeds({ functionName }: Deployed): readonly Need[] {
  const variables = "infra/terraform/variables.tf";
  return [
    needMatch(
      "infra/terraform/functions.tf",
      `add ${functionName} to every_function`,
      `^ {4}"?${functionName}"? += \\{$`,
    ),
    needMatch(
      variables,
      `add "${functionName}" to the default of controllers`,
      `^variable "controllers" \\{\\n(?: .*\\n)* +default += \\[.*"${functionName}"`,
    ),
    needMatch(
      variables,
      `add "${functionName}" to the condition of controllers`,
      `setsubtract\\(var\\.controllers, \\[\\n.*"${functionName}"`,
    ),
    needMatch(
      variables,
      `add ${functionName} to the error_message of controllers`,
      `error_message = "controllers are .*\\b${functionName}[,.]`,
    ),
    needMatch(
      "infra/terraform/statements.tf",
      `add the statements of ${functionName}`,
      `^ {4}"?${functionName}"? += `,
    ),
  ];
}

/** What `npm run manifests` writes; test/build/manifests.test.ts compares the whole text. */
function listManifestNeeds({ name, functionName, enablement, granted, followed }: Deployed): readonly Need[] {
  const user = formatUser(functionName as Identity);
  const folder = enablement?.onByDefault === true ? "" : `${name}/`;
  const grants: readonly [Identity, readonly Right[]][] = [
    ["relay", followed.flatMap((target) => buildRights(target, "list", "watch"))],
    [functionName as Identity, granted.filter(({ cloud }) => cloud === undefined)],
    ["sweep", followed.flatMap((target) => buildRights(target, "list"))],
  ];
  const rows = grants.filter(([, rights]) => rights.length > 0);
  const accounts = "infra/rbac/service-accounts/service-accounts.yaml";
  const run = "run `npm run manifests`";
  return [
    {
      file: `infra/rbac/${folder}${functionName}.yaml`,
      add: run,
      isMet: (text) => text.includes(`name: ${user}\n`),
    },
    needMatch("infra/rbac/flow-schema.yaml", run, `name: ${user}$`),
    needMatch(
      accounts,
      `${run} for the ServiceAccount`,
      `^kind: ServiceAccount\\nmetadata:\\n {2}name: ${user}$`,
    ),
    needMatch(
      accounts,
      `${run} for the ServiceAccount's binding`,
      `^  - kind: ServiceAccount\\n {4}name: ${user}$`,
    ),
    ...["", "keepalived/", "kubevip/"].map((folder) =>
      needMatch(`infra/admission/${folder}identities.yaml`, run, `^ +'${user}': \\[`),
    ),
    ...rows.map(([identity, rights]) => {
      const file = `${folder}${identity}.yaml`;
      const start = `| \`${formatUser(identity)}\` | [${file}](${file}) | ${formatRights(rights)} |`;
      return needRow("infra/rbac/README.md", start);
    }),
  ];
}

const Policy = z.looseObject({
  kind: z.literal("ValidatingAdmissionPolicy"),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ validations: z.array(z.unknown()).min(1) }),
});
const Binding = z.looseObject({
  kind: z.literal("ValidatingAdmissionPolicyBinding"),
  spec: z.looseObject({ policyName: z.string() }),
});

function listAdmissionNeeds({ functionName, granted }: Deployed): readonly Need[] {
  const user = formatUser(functionName as Identity);
  const recordsEvents = granted.some(({ verb, resource }) => verb === "create" && resource === "events");
  const events = "infra/admission/events.yaml";
  return [
    {
      file: `infra/admission/${functionName}.yaml`,
      add: `add a ValidatingAdmissionPolicy with validations that matches ${user} and its ServiceAccount, and its binding`,
      isMet: (text) => {
        const documents = parseAllDocuments(text).map((document) => document.toJS());
        const bound = documents.flatMap(
          (document) => Binding.safeParse(document).data?.spec.policyName ?? [],
        );
        return documents
          .flatMap((document) => Policy.safeParse(document).data ?? [])
          .some(
            (policy) =>
              bound.includes(policy.metadata.name) &&
              hasNames(JSON.stringify(policy.spec["matchConditions"]), user),
          );
      },
    },
    needRow("infra/admission/README.md", `| [${functionName}.yaml](${functionName}.yaml)`),
    ...(recordsEvents
      ? [
          {
            file: events,
            add: `add ${user} to the names in ours`,
            isMet: (text: string) => hasNames(text, user),
          },
          needMatch(events, `add ${user} to source`, `^ +'${user}': '`),
          needMatch(events, `add ${user} to kinds`, `^ +'${user}': \\['`),
        ]
      : []),
  ];
}

function listPageNeeds({ name, functionName }: Deployed): readonly Need[] {
  const quoted = `\`${functionName}\``;
  const reference = "docs/reference/configuration.md";
  const guide = "docs/how-to/deploy-to-aws.md";
  const needCell = (file: string, add: string, row: RegExp, cell = quoted): Need => ({
    ...{ file, add },
    isMet: (text) => text.match(row)?.some((line) => line.includes(cell)) === true,
  });
  return [
    {
      file: reference,
      add: `add a row for ${name} to the table "Controllers"`,
      isMet: (text) => getSection(text, "Controllers").includes(`\n| \`${name}\` |`),
    },
    needCell(
      reference,
      `add \`signIn.${functionName}\` to the row of \`signIn.node\``,
      /^\| `signIn\.node`.*$/m,
      `\`signIn.${functionName}\``,
    ),
    needCell(
      reference,
      `add ${quoted} to the row of \`--function-kubeconfig\``,
      /^\| `--function-kubeconfig`.*$/m,
    ),
    needCell(
      reference,
      `add ${quoted} to the names for {function} in the row of \`roleArn\``,
      /^\| `roleArn`.*$/m,
    ),
    {
      file: "docs/reference/aws-permissions.md",
      add: `add a row that begins with | ${quoted}`,
      isMet: (text) => text.split("\n").some((line) => line.split("|")[1]?.includes(quoted)),
    },
    needCell(guide, `add ${quoted} to the row of \`--param controllers=\``, /^\| `--param controllers=`.*$/m),
    {
      file: guide,
      add: `add ${quoted} to the table of "What the stack contains"`,
      isMet: (text) => getSection(text, "What the stack contains").includes(quoted),
    },
    needRow("docs/how-to/cross-account-roles.md", `| \`${name}\` | ${quoted}`),
  ];
}

function needMatch(file: string, add: string, pattern: string): Need {
  return { file, add, isMet: (text) => new RegExp(pattern, "m").test(text) };
}

function needRow(file: string, start: string): Need {
  return {
    file,
    add: `add a row that begins with ${start}`,
    isMet: (text) => text.split("\n").some((line) => line.startsWith(start)),
  };
}

function hasNames(text: string, user: string): boolean {
  return text.includes(`'${user}', 'system:serviceaccount:kube-system:${user}'`);
}

/** Returns the section of a page below a title. */
function getSection(page: string, title: string): string {
  return page.split(`\n## ${title}\n`)[1]?.split("\n## ", 1)[0] ?? "";
}
