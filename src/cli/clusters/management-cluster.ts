import { readKubeconfig } from "#cli/clusters/kubeconfig.ts";
import type { Environment } from "#clouds/provider.ts";
import { parseAllowedNetworks } from "#config/address-rules.ts";
import { ClustersFileError, formatFaultPlace } from "#config/clusters-file.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { type AllowedSecrets, parseAllowedSecrets } from "#config/registry/entry-references.ts";
import { ANNOTATED, type BuildEntryOptions } from "#config/registry/kubernetes/build-entry.ts";
import {
  type EntryDefaults,
  NO_DEFAULTS,
  readEntryDefaults,
} from "#config/registry/kubernetes/entry-defaults.ts";
import {
  createKubernetesRegistry,
  type KubernetesRegistryOptions,
} from "#config/registry/kubernetes/kubernetes-registry.ts";
import { openRegistry } from "#config/registry/open-registry.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { findNearest } from "#core/nearest.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A management cluster in `--clusters-file`: `kubernetes:`, then a kubeconfig and `?namespace=NAME`. */
export interface ManagementReference {
  /** Undefined for the ServiceAccount of this process's pod. */
  readonly kubeconfig: string | undefined;
  readonly namespace: string | undefined;
}

/** Parses such a reference; undefined for any other reference. */
export function parseManagementReference(reference: string): ManagementReference | undefined {
  const match = /^kubernetes:([^?]*)(?:\?namespace=([a-z0-9]([-a-z0-9]*[a-z0-9])?))?$/.exec(reference);
  if (match === null) return undefined;
  return { kubeconfig: match[1] || undefined, namespace: match[2] };
}

/** The flags of a registry to which others than the operator write. */
export interface RegistrySettingFlags {
  /** The file of defaults for clusters that are found in a management cluster. */
  readonly clusterDefaults?: string | undefined;
  /** The keys of the annotations that are read. */
  readonly clusterAnnotations?: string | undefined;
  /** Whether Secrets may contain whole entries. */
  readonly entriesInSecrets?: boolean | undefined;
  /** Prefixes of the secrets that entries may name. */
  readonly allowedSecrets?: string | undefined;
}

/** Opens the registry that `--clusters-file` names, including management clusters. */
export async function openAnyRegistry(
  reference: string,
  flags: RegistrySettingFlags,
  faults: ConfigurationFault[],
  environment: Environment = process.env,
): Promise<ClusterRegistry> {
  return openRegistryWith(reference, await readRegistrySettings(flags, faults, environment));
}

/** Opens such a registry with settings that are read already. */
export function openRegistryWith(reference: string, settings: RegistrySettings): ClusterRegistry {
  return openRegistry(reference, settings.allowedSecrets, (further) => {
    const options = parseManagementOptions(further, settings);
    return options && createKubernetesRegistry(options);
  });
}

/** The settings for entries that others than the operator write. */
export type RegistrySettings = Omit<BuildEntryOptions, "home"> & { readonly allowedSecrets: AllowedSecrets };

/** Reads the settings; every fault goes to `faults`. */
export async function readRegistrySettings(
  flags: RegistrySettingFlags,
  faults: ConfigurationFault[],
  environment: Environment,
): Promise<RegistrySettings> {
  const { clusterDefaults: file, entriesInSecrets: readsEntriesInSecrets } = flags;
  return {
    defaults: file === undefined ? NO_DEFAULTS : await readDefaults(file, faults),
    annotations: readAnnotations(flags.clusterAnnotations, faults),
    readsEntriesInSecrets,
    allowedSecrets: readAllowedSecrets(flags.allowedSecrets, environment, faults),
  };
}

/**
 * Reads which secrets the entries of a registry may name: from the flag, or from ALLOWED_SECRETS in the
 * environment.
 */
export function readAllowedSecrets(
  flag: string | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): AllowedSecrets {
  const parsed = parseAllowedSecrets(flag ?? environment["ALLOWED_SECRETS"] ?? "");
  const name = flag === undefined ? "ALLOWED_SECRETS" : "--allowed-secrets";
  faults.push(...parsed.faults.map((message) => ({ name, message })));
  return parsed;
}

/**
 * Reads the networks in which API servers of a registry may be: from the flag, or from ALLOWED_NETWORKS in
 * the environment. Undefined without either; a faulty text allows none.
 */
export function readAllowedNetworks(
  flag: string | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): readonly string[] | undefined {
  const [name, text] =
    flag === undefined
      ? ["ALLOWED_NETWORKS", environment["ALLOWED_NETWORKS"] || undefined]
      : ["--allowed-networks", flag];
  if (text === undefined) return undefined;
  const parsed = parseAllowedNetworks(text);
  if (parsed.kind === "networks") return parsed.networks;
  faults.push(...parsed.faults.map((message) => ({ name, message })));
  return [];
}

function readAnnotations(
  flag: string | undefined,
  faults: ConfigurationFault[],
): readonly string[] | undefined {
  const keys = flag?.split(/[\s,]+/).filter((each) => each !== "");
  const known: readonly string[] = ANNOTATED;
  for (const key of keys ?? []) {
    if (known.includes(key)) continue;
    const meant = findNearest(key, known);
    const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
    faults.push({
      name: "--cluster-annotations",
      message: `"${sanitizeText(key, 64)}" is not a key; ${hint}`,
    });
  }
  return keys;
}

async function readDefaults(file: string, faults: ConfigurationFault[]): Promise<EntryDefaults> {
  try {
    return await readEntryDefaults(file);
  } catch (error) {
    if (!(error instanceof ClustersFileError)) throw error;
    faults.push(
      ...error.faults.map((fault) => ({ name: formatFaultPlace(file, fault), message: fault.message })),
    );
    return NO_DEFAULTS;
  }
}

/** Parses the options for reading clusters from a management cluster; undefined for any other reference. */
export function parseManagementOptions(
  reference: string,
  entries: RegistrySettings,
): KubernetesRegistryOptions | undefined {
  const parsed = parseManagementReference(reference);
  if (parsed === undefined) return undefined;
  const { namespace } = parsed;
  return { reference, namespace, ...entries, connect: () => connectManagement(reference) };
}

/**
 * Returns the namespace of this process's pod if the reference means the surrounding cluster; undefined if
 * unknown.
 */
export async function readPodNamespace(
  { kubeconfig }: ManagementReference,
  environment: Environment,
): Promise<string | undefined> {
  if (kubeconfig !== undefined || !environment["KUBERNETES_SERVICE_HOST"]) return undefined;
  const text = await readOfPod("namespace").catch(() => undefined);
  return text?.trim() || undefined;
}

/** The folder of a pod's credentials. */
const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Connects to a management cluster; rejects if the sign-in fails. */
export async function connectManagement(reference: string): Promise<Transport> {
  const kubeconfig = parseManagementReference(reference)?.kubeconfig;
  if (kubeconfig !== undefined) return connect(await readKubeconfig(kubeconfig));
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (!host)
    throw new Error(
      "there is no management cluster around this process; name a kubeconfig behind kubernetes:, such as kubernetes:/etc/ccm/management.kubeconfig",
    );
  const certificateAuthority = await readOfPod("ca.crt");
  await readOfPod("token");
  const authority = host.includes(":") ? `[${host}]` : host;
  return connect({
    server: `https://${authority}:${port ?? 443}`,
    certificateAuthority,
    // Kubelets renew the token; reading the file costs little compared with the request.
    authorization: async () => `Bearer ${(await readOfPod("token")).trim()}`,
  });
}

const MAX_BYTES = 1024 * 1024;

async function readOfPod(name: string): Promise<string> {
  const file = `${SERVICE_ACCOUNT}/${name}`;
  try {
    return await readSmallFile(file, MAX_BYTES);
  } catch (error) {
    throw new Error(`${file} ${describeFileError(error)}; give the pod a ServiceAccount and mount its token`);
  }
}
