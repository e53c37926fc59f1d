import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { readKubeconfig } from "#cli/kubeconfig.ts";
import type { Environment } from "#clouds/kind.ts";
import { ClustersFileError, placeOf } from "#config/clusters-file.ts";
import { type AllowedSecrets, parseAllowedSecrets } from "#config/home/entry-references.ts";
import type { ClusterHome } from "#config/home/home.ts";
import {
  type EntryDefaults,
  NO_DEFAULTS,
  readEntryDefaults,
} from "#config/home/kubernetes/entry-defaults.ts";
import { ANNOTATED, type EntryOfFoundOptions } from "#config/home/kubernetes/entry-of-found.ts";
import { type KubernetesHomeOptions, kubernetesHome } from "#config/home/kubernetes/kubernetes-home.ts";
import { openHome } from "#config/home/open-home.ts";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";
import { nearest } from "#core/nearest.ts";
import { shown } from "#core/shown-text.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A management cluster as `--clusters-file` names it: `kubernetes:`, a kubeconfig behind it, and `?namespace=NAME`. */
export interface ManagementReference {
  /** The ServiceAccount of this process's pod without it. */
  readonly kubeconfig: string | undefined;
  readonly namespace: string | undefined;
}

/** Reads such a reference; undefined where it is none. */
export function parseManagementReference(reference: string): ManagementReference | undefined {
  const match = /^kubernetes:([^?]*)(?:\?namespace=([a-z0-9]([-a-z0-9]*[a-z0-9])?))?$/.exec(reference);
  if (match === null) return undefined;
  return { kubeconfig: match[1] || undefined, namespace: match[2] };
}

/** The flags of a home that others than the operator write to, as typed. */
export interface HomeSettingFlags {
  /** File of what entries say of clusters that are found in a management cluster. */
  readonly clusterDefaults?: string | undefined;
  /** Keys of the annotations that count there. */
  readonly clusterAnnotations?: string | undefined;
  /** Whether whole entries in Secrets are read there. */
  readonly entriesInSecrets?: boolean | undefined;
  /** Prefixes of the secrets that entries may name. */
  readonly allowedSecrets?: string | undefined;
}

/** Opens the home that `--clusters-file` names, a management cluster among them. */
export async function openAnyHome(
  reference: string,
  flags: HomeSettingFlags,
  faults: ConfigurationFault[],
  environment: Environment = process.env,
): Promise<ClusterHome> {
  const entries = await readHomeSettings(flags, faults, environment);
  return openHome(reference, entries.allowedSecrets, (further) => {
    const options = managementOptions(further, entries);
    return options && kubernetesHome(options);
  });
}

/** What flags say of entries that others than the operator write. */
type HomeSettings = Omit<EntryOfFoundOptions, "home"> & { readonly allowedSecrets: AllowedSecrets };

/** Reads it; every fault goes to `faults`. */
export async function readHomeSettings(
  flags: HomeSettingFlags,
  faults: ConfigurationFault[],
  environment: Environment,
): Promise<HomeSettings> {
  const { clusterDefaults: file, entriesInSecrets: readsEntriesInSecrets } = flags;
  return {
    defaults: file === undefined ? NO_DEFAULTS : await readDefaults(file, faults),
    annotations: readAnnotations(flags.clusterAnnotations, faults),
    readsEntriesInSecrets,
    allowedSecrets: readAllowedSecrets(flags.allowedSecrets, environment, faults),
  };
}

/** Reads which secrets the entries of a home may name: the flag, or ALLOWED_SECRETS of the environment. */
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

function readAnnotations(
  flag: string | undefined,
  faults: ConfigurationFault[],
): readonly string[] | undefined {
  const keys = flag?.split(/[\s,]+/).filter((each) => each !== "");
  const known: readonly string[] = ANNOTATED;
  for (const key of keys ?? []) {
    if (known.includes(key)) continue;
    const meant = nearest(key, known);
    const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
    faults.push({ name: "--cluster-annotations", message: `"${shown(key, 64)}" is no key; ${hint}` });
  }
  return keys;
}

async function readDefaults(file: string, faults: ConfigurationFault[]): Promise<EntryDefaults> {
  try {
    return await readEntryDefaults(file);
  } catch (error) {
    if (!(error instanceof ClustersFileError)) throw error;
    faults.push(...error.faults.map((fault) => ({ name: placeOf(file, fault), message: fault.message })));
    return NO_DEFAULTS;
  }
}

/** What the clusters of a management cluster are read with; undefined where the reference names none. */
export function managementOptions(
  reference: string,
  entries: HomeSettings,
): KubernetesHomeOptions | undefined {
  const parsed = parseManagementReference(reference);
  if (parsed === undefined) return undefined;
  const { namespace } = parsed;
  return { reference, namespace, ...entries, connect: () => connectManagement(reference) };
}

/** The namespace of this process's pod, where the reference means the cluster around it; undefined where that cannot be told. */
export async function namespaceOfPod(
  { kubeconfig }: ManagementReference,
  environment: Environment,
): Promise<string | undefined> {
  if (kubeconfig !== undefined || !environment["KUBERNETES_SERVICE_HOST"]) return undefined;
  const text = await readOfPod("namespace").catch(() => undefined);
  return text?.trim() || undefined;
}

/** Where a pod finds what it signs in with. */
const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Connects to a management cluster; rejects where it cannot be signed in to. */
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
    // Kubelets renew it; a read costs nothing beside the request.
    authorization: async () => `Bearer ${(await readOfPod("token")).trim()}`,
  });
}

const MAX_BYTES = 1024 * 1024;

async function readOfPod(name: string): Promise<string> {
  const file = `${SERVICE_ACCOUNT}/${name}`;
  try {
    return await readSmallFile(file, MAX_BYTES);
  } catch (error) {
    throw new Error(`${file} ${fileTrouble(error)}; give the pod a ServiceAccount and mount its token`);
  }
}
