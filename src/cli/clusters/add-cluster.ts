import { readFile, writeFile } from "node:fs/promises";
import { stringify } from "yaml";
import { KubeconfigError, OWN_KUBECONFIG } from "#cli/clusters/kubeconfig-trust.ts";
import { loadKubeconfig } from "#cli/clusters/load-kubeconfig.ts";
import { readAllowedSecrets } from "#cli/clusters/management-cluster.ts";
import { createParameterEntry } from "#cli/clusters/parameter-entries.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/provider.ts";
import { findCloudProvider } from "#clouds/providers.ts";
import { readCloudConfig } from "#config/cloud-config.ts";
import type { Cluster } from "#config/cluster.ts";
import { isFaulty, isFile, parseEntryDocument } from "#config/clusters-file.ts";
import { replaceClustersFile, withCluster } from "#config/edit-clusters-file.ts";
import { readClustersText } from "#config/read-clusters-file.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { findRefusedReferences } from "#config/registry/entry-references.ts";
import { parseSsmPath } from "#config/registry/ssm/ssm-registry.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { selectSignInKey } from "#config/sign-in.ts";
import { parseYaml } from "#config/yaml-text.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { findWatch } from "#core/controllers.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { getSystemCode } from "#kube/client/errors.ts";

/** The flags of `clusters add`. */
export interface AddFlags {
  readonly clustersFile?: string | undefined;
  /** The source of the API server and its certificate authority; nothing else is read from it. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly cloudProvider?: string | undefined;
  readonly cloudConfig?: string | undefined;
  readonly controllers?: string | undefined;
  /** `WHO=YAML`, once for each identity that signs in. */
  readonly signIn?: readonly string[] | undefined;
  readonly dryRun: boolean;
  /** Prefixes of the secrets that an entry of a registry in SSM may name. */
  readonly allowedSecrets?: string | undefined;
}

type Write = (line: string) => void;

const MAX_BYTES = 1024 * 1024;

/**
 * Adds the entry of a cluster to its registry: to the file, or as an SSM parameter. Rejects a faulty entry
 * with all its faults, and a name that exists. With `applyDryRun` it prints the entry and writes nothing.
 */
export async function addCluster(
  name: string,
  flags: AddFlags,
  write: Write,
  environment: Environment = process.env,
): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const registry = flags.clustersFile ?? (environment["CLUSTERS_FILE"] || undefined);
  if (registry === undefined && !flags.dryRun)
    faults.push({ name: "--clusters-file", message: "is missing: give it, or set CLUSTERS_FILE" });
  const entry = {
    name,
    ...(await readServer(flags, faults)),
    cloud: toNewEntry(await readCloudConfig(flags, environment, faults)),
    ...(flags.controllers === undefined ? {} : { controllers: splitList(flags.controllers) }),
    ...readSignIns(flags.signIn ?? [], faults),
  };
  const text = stringify(entry, { lineWidth: 0 });
  const allowedSecrets = readAllowedSecrets(flags.allowedSecrets, environment, faults);
  if (faults.length === 0) {
    const ownPath = parseSsmPath(registry ?? "");
    const check = (cluster: Cluster) =>
      ownPath === undefined ? [] : findRefusedReferences(cluster, { allowedSecrets, ownPath });
    const parsed = parseEntryDocument({ document: "the entry", name, text, check });
    if (isFaulty(parsed))
      faults.push(...parsed.faults.map(({ subject = "", message }) => ({ name: subject, message })));
    else faults.push(...findMissingSignIns(parsed));
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  if (flags.dryRun) return write(text.trimEnd());
  await writeTo(registry ?? "", name, entry, text);
  write(`${name} is written to ${registry}`);
}

/**
 * Returns the missing sign-ins. Without them the relay, or the functions of the controllers, cannot work in
 * the cluster.
 */
function findMissingSignIns(cluster: Cluster): readonly ConfigurationFault[] {
  const functions = cluster.controllers.map((name) => findWatch(name)?.functionName);
  const roles: readonly SignInRole[] = [
    "relay",
    ...FUNCTION_IDENTITIES.filter((name) => functions.includes(name)),
  ];
  const missing = roles.filter((role) => selectSignInKey(cluster, role) === undefined);
  if (missing.length === 0) return [];
  const examples = missing.some((role) => role !== "relay") ? ["functions"] : [];
  const flags = [...(missing.includes("relay") ? ["relay"] : []), ...examples].map(
    (who) => `--sign-in '${who}={ kind: eks, clusterName: ${cluster.name} }'`,
  );
  const message = `is missing for ${missing.join(", ")}: the entry could not be used; give ${flags.join(" and ")}, or another kind of docs/reference/configuration.md#signing-in`;
  return [{ name: "--sign-in", message }];
}

function toNewEntry<Cloud extends { readonly provider: string }>(
  cloud: Cloud | undefined,
): Cloud | undefined {
  return cloud && { ...cloud, ...findCloudProvider(cloud.provider)?.newEntry, ...cloud };
}

async function writeTo(registry: string, name: string, entry: object, text: string): Promise<void> {
  if (isFile(registry)) return writeToFile(registry, entry);
  const path = parseSsmPath(registry);
  if (path === undefined) {
    const message =
      'is not written to; make a Secret there with the label serverless-ccm.io/cluster: "true", and the kubeconfig under `kubeconfig`';
    throw new ConfigurationError([{ name: registry, message }]);
  }
  await createParameterEntry(path, name, text);
}

async function writeToFile(file: string, entry: object): Promise<void> {
  const isNew = await readFile(file).then(
    () => false,
    (error: unknown) => getSystemCode(error) === "ENOENT",
  );
  if (isNew)
    return writeFile(file, stringify({ clusters: [entry] }, { lineWidth: 0 }), { flag: "wx", mode: 0o644 });
  try {
    const edited = withCluster(await readClustersText(file), file, entry);
    if (edited.kind !== "edited")
      throw new Error(edited.kind === "refused" ? edited.because : "it is there already");
    await replaceClustersFile(file, edited);
  } catch (error) {
    throw new ConfigurationError([{ name: file, message: getErrorMessage(error) }]);
  }
}

/**
 * Reads the server and its certificate authority from a kubeconfig. Its credentials do not matter, because
 * they are not used.
 */
async function readServer(
  { kubeconfig, context }: AddFlags,
  faults: ConfigurationFault[],
): Promise<Readonly<Record<string, string>>> {
  if (kubeconfig === undefined) {
    faults.push({
      name: "--kubeconfig",
      message: "is required: server and authority are read from it, and no credentials",
    });
    return {};
  }
  try {
    const { config } = await loadKubeconfig(kubeconfig, context, OWN_KUBECONFIG);
    const { server = "", caData, caFile, tlsServerName } = config.getCurrentCluster() ?? {};
    const data = caData ?? (caFile === undefined ? undefined : await readBase64(caFile));
    return {
      server: server.replace(/\/+$/, ""),
      ...(tlsServerName ? { tlsServerName } : {}),
      ...(data === undefined ? {} : { certificateAuthorityData: data }),
    };
  } catch (error) {
    const message = error instanceof KubeconfigError ? error.message : describeFileError(error);
    faults.push({ name: "--kubeconfig", message: `${kubeconfig} ${message}` });
    return {};
  }
}

async function readBase64(file: string): Promise<string> {
  return Buffer.from(await readSmallFile(file, MAX_BYTES)).toString("base64");
}

function readSignIns(written: readonly string[], faults: ConfigurationFault[]): { readonly signIn?: object } {
  const signIn: Record<string, unknown> = {};
  for (const each of written) {
    const [, who, signInMethod] = /^([\w-]+)=(.+)$/s.exec(each) ?? [];
    const parsed = signInMethod === undefined ? undefined : parseYaml(signInMethod);
    if (who === undefined || parsed?.kind !== "value") {
      const message = "is not understood; write it as functions='{ kind: eks, clusterName: blue }'";
      faults.push({ name: "--sign-in", message });
    } else signIn[who] = parsed.value;
  }
  return written.length === 0 ? {} : { signIn };
}

function splitList(text: string): string[] {
  return text.split(/[\s,]+/).filter((each) => each !== "");
}
