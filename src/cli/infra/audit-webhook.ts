import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { ConfigurationError } from "#cli/configuration-error.ts";
import {
  readClusterNames,
  readFunctionUrl,
  readSigningKey,
  type SignedUrlFlags,
} from "#cli/infra/signed-url-flags.ts";
import { readAuthority } from "#cli/infra/trust-flags.ts";
import { selectControllers } from "#cli/settings/controller-flags.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { selectWatches, WATCHES } from "#core/controllers.ts";
import { FUNCTION_IDENTITIES, formatUser } from "#core/identities.ts";
import { getApiGroup, NODES } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { AUDITED, AUDITED_VERBS } from "#functions/parts/audit/event-list.ts";
import { derivePublicKey, signCluster } from "#functions/parts/cluster-signature.ts";

export interface AuditWebhookFlags extends SignedUrlFlags {
  readonly clusterName?: string | undefined;
  /** The controllers of the cluster, as in `--controllers` of `run`. */
  readonly controllers: string;
  /** A file with the authority of the function's URL. */
  readonly certificateAuthority?: string | undefined;
  /** Where the files are written; by default they are printed. */
  readonly folder?: string | undefined;
}

const POLICY_FILE = "audit-policy.yaml";
const KUBECONFIG_FILE = "audit-webhook.kubeconfig";

/**
 * Prints or writes the files with which a cluster's API server reports changed objects to the function `audit`,
 * and prints its flags; or the public key for the function's deployment. Throws `ConfigurationError` with every
 * fault; no fault quotes the private key.
 */
export async function printAuditWebhook(
  flags: AuditWebhookFlags,
  print: (text: string) => void,
): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const key = await readSigningKey(flags.signingKey, faults);
  if (flags.publicKey) {
    if (key === undefined) throw new ConfigurationError(faults);
    return print(`${derivePublicKey(key)}\n`);
  }
  const url = readFunctionUrl(flags.functionUrl, faults);
  const names = flags.clusterName === undefined ? [] : [flags.clusterName];
  const [cluster = ""] = readClusterNames(names, faults, "is missing; give the name of the cluster's entry");
  const selection = selectControllers(flags.controllers);
  if (selection.kind === "faults") faults.push(...selection.faults);
  const authority = await readAuthority("--certificate-authority", flags.certificateAuthority, faults);
  if (faults.length > 0 || key === undefined || selection.kind === "faults")
    throw new ConfigurationError(faults);

  const policy = stringify(buildAuditPolicy(selection.controllers), { lineWidth: 0 });
  const token = signCluster("audit", cluster, key);
  const kubeconfig = stringify(buildKubeconfig(`${url}/audit/${cluster}`, token, authority));
  const { folder } = flags;
  if (folder === undefined) {
    print(`# ${POLICY_FILE}\n${policy}---\n# ${KUBECONFIG_FILE}\n${kubeconfig}---\n`);
    print(
      listFlags("FOLDER")
        .map((flag) => `# ${flag}\n`)
        .join(""),
    );
    return;
  }
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, POLICY_FILE), policy);
    await writeFile(join(folder, KUBECONFIG_FILE), kubeconfig, { mode: 0o600 });
  } catch (error) {
    throw new ConfigurationError([{ name: "--folder", message: getErrorMessage(error) }]);
  }
  print(
    listFlags(folder)
      .map((flag) => `${flag}\n`)
      .join(""),
  );
}

/** Lists the flags of kube-apiserver. By default it would wait 30 s for more events. */
function listFlags(folder: string): readonly string[] {
  return [
    `--audit-policy-file=${join(folder, POLICY_FILE)}`,
    `--audit-webhook-config-file=${join(folder, KUBECONFIG_FILE)}`,
    "--audit-webhook-mode=batch",
    "--audit-webhook-batch-max-wait=1s",
  ];
}

/**
 * Builds the policy: changes of the resources that the controllers work on, without their subresources, such
 * as a kubelet's status. Our own changes are left out, as they need no work. Only if controllers follow nodes,
 * those of the functions that initialize and delete nodes stay.
 */
function buildAuditPolicy(controllers: readonly string[]): Readonly<Record<string, unknown>> {
  const watches = selectWatches(controllers, WATCHES).filter(({ isOptional }) => isOptional !== true);
  const resources = watches.flatMap(({ resource, related }) => [
    resource.name,
    ...related.map((each) => each.resource.name),
  ]);
  const audited = AUDITED.filter(({ name }) => resources.includes(name));
  const groups = [...new Set(audited.map(getApiGroup))];
  const followsNodes = watches.some(
    ({ rechecks, related }) =>
      rechecks?.resync?.whenRelatedChange === true &&
      related.some(({ resource }) => resource.name === NODES.name),
  );
  const reported = followsNodes ? ["node", "node-lifecycle"] : [];
  const users = FUNCTION_IDENTITIES.filter((identity) => !reported.includes(identity)).map(formatUser);
  const accounts = users.map((user) => `system:serviceaccount:${SYSTEM_NAMESPACE}:${user}`);
  return {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived", "ResponseStarted", "Panic"],
    rules: [
      { level: "None", users: [...users, ...accounts] },
      {
        level: "Metadata",
        verbs: [...AUDITED_VERBS],
        resources: groups.map((group) => ({
          group,
          resources: audited.filter((each) => getApiGroup(each) === group).map(({ name }) => name),
        })),
      },
      { level: "None" },
    ],
  };
}

function buildKubeconfig(
  server: string,
  token: string,
  authority: string | undefined,
): Readonly<Record<string, unknown>> {
  const name = "serverless-ccm-audit";
  const trust = authority && { "certificate-authority-data": Buffer.from(authority).toString("base64") };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, ...trust } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
}
