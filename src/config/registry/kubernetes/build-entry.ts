import { Cluster } from "#config/cluster.ts";
import {
  type ClustersFileIssue,
  type FaultyEntry,
  isFaulty,
  parseEntryDocument,
} from "#config/clusters-file.ts";
import { isOwnershipByName } from "#config/ownership.ts";
import { type AllowedSecrets, findRefusedReferences, NO_SECRETS } from "#config/registry/entry-references.ts";
import type { EntryDefaults } from "#config/registry/kubernetes/entry-defaults.ts";
import type { FoundCluster, SecretKey } from "#config/registry/kubernetes/found-cluster.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { isTooMuchYaml, parseYaml } from "#config/yaml-text.ts";
import { formatPath } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { findNearest } from "#core/nearest.ts";

export interface BuildEntryOptions {
  /** The management cluster, as in `--clusters-file`. */
  readonly home: string;
  /** The operator's defaults for entries. */
  readonly defaults: EntryDefaults;
  /** Keys of accepted annotations, which the object's writers control. Default: `DEFAULT_ANNOTATIONS`. */
  readonly annotations?: readonly string[] | undefined;
  /** Whether to read whole entries in Secrets, which may name any API server and sign-in. */
  readonly readsEntriesInSecrets?: boolean | undefined;
  /** The secrets that such an entry may name; without it, no secret. */
  readonly allowedSecrets?: AllowedSecrets | undefined;
}

/**
 * The keys of an entry that annotations can set, with the prefix `serverless-ccm.io/`; `controllers` is
 * comma-separated, `policies.applyDryRun` is `true` or `false`.
 */
export const ANNOTATED = [
  "name",
  "cloud.provider",
  "cloud.region",
  "cloud.vpc",
  "cloud.clusterTag",
  "controllers",
  "policies.dryRun",
] as const;
export const PREFIX = "serverless-ccm.io/";

/** Annotation keys accepted by default; they do not change which cloud resources the cluster owns. */
export const DEFAULT_ANNOTATIONS: readonly string[] = ["name", "controllers"];

/**
 * Builds the entry of a discovered cluster from the operator's defaults, the annotations and the API server.
 */
export function buildEntry(found: FoundCluster, options: BuildEntryOptions): Cluster | FaultyEntry {
  const { described, annotations } = found;
  if (described.kind === "entry") return parseEntryText(found, described.text, options);
  const annotated = parseClusterAnnotations(annotations, options.annotations ?? DEFAULT_ANNOTATIONS);
  const own = annotated.values.get("name") ?? getDefaultName(found);
  const name = ClusterName.safeParse(own).success ? own : undefined;
  const faults = [...annotated.faults];
  if (name === undefined)
    faults.push({ path: "name", message: `annotation ${PREFIX}name is not a name of a cluster` });
  if (described.kind === "fault") faults.push({ path: "", message: described.message });
  const written =
    name && described.kind === "server"
      ? buildEntryFields(name, found, described, annotated.values, options)
      : {};
  const parsed = Cluster.safeParse(written);
  if (parsed.success && annotated.values.has("name") && options.annotations?.includes("name") !== true)
    faults.push(...checkChosenName(parsed.data));
  if (parsed.success && faults.length === 0) return parsed.data;
  const ofEntry = name && described.kind === "server" ? (parsed.error?.issues ?? []) : [];
  const all = [...faults, ...ofEntry.map(({ path, message }) => ({ path: formatPath(path), message }))];
  return { name, faults: all.map((fault) => withPlace(fault, name, found)) };
}

/** Returns the default name of a cluster. */
export function getDefaultName({ namespace, ownName }: Pick<FoundCluster, "namespace" | "ownName">): string {
  return `${namespace}.${ownName}`;
}

/** Without a configured tag, the cluster's name decides which cloud resources it owns. */
function checkChosenName(cluster: Cluster): readonly ClustersFileIssue[] {
  if (!isOwnershipByName(cluster)) return [];
  const message = `annotation ${PREFIX}name does not count here, because the name decides which machines and load balancers are the cluster's: give cloud.clusterTag in --cluster-defaults, or name in --cluster-annotations if its writers may decide it`;
  return [{ path: "name", message }];
}

/** A whole entry in a Secret has the name in its text. */
function parseEntryText(
  found: FoundCluster,
  text: string,
  { home, readsEntriesInSecrets = false, allowedSecrets = NO_SECRETS }: BuildEntryOptions,
): Cluster | FaultyEntry {
  if (!readsEntriesInSecrets) {
    const name = getDefaultName(found);
    return { name, faults: [withPlace({ path: "", message: ENTRIES_ARE_OFF }, name, found)] };
  }
  if (isTooMuchYaml(text)) {
    const name = getDefaultName(found);
    return { name, faults: [withPlace({ path: "", message: "is larger than any entry" }, name, found)] };
  }
  const management = { home, namespace: found.namespace };
  const check = (cluster: Cluster) => findRefusedReferences(cluster, { allowedSecrets, management });
  const parsed = parseYaml(text);
  const written = parsed.kind === "value" ? Object(parsed.value)["name"] : undefined;
  const name = ClusterName.safeParse(written).data;
  const entry = parseEntryDocument({ document: found.place, name: name ?? found.ownName, text, check });
  return isFaulty(entry) ? { ...entry, name } : entry;
}

function buildEntryFields(
  name: string,
  found: FoundCluster,
  described: {
    readonly server: string;
    readonly certificateAuthorityData: string | undefined;
    readonly tlsServerName: string | undefined;
    readonly secret: SecretKey;
  },
  annotated: ReadonlyMap<string, string>,
  { home, defaults }: BuildEntryOptions,
): Readonly<Record<string, unknown>> {
  const {
    cloud = {},
    signIn = {},
    ...others
  } = defaults.forCluster({ name: found.ownName, namespace: found.namespace });
  const annotatedCloud = Object.fromEntries(
    [...annotated].flatMap(([key, value]) =>
      key.startsWith("cloud.") ? [[key.slice("cloud.".length), value]] : [],
    ),
  );
  const dryRun = annotated.get("policies.dryRun");
  const controllers = annotated
    .get("controllers")
    ?.split(/[\s,]+/)
    .filter((each) => each !== "");
  const { server, certificateAuthorityData, tlsServerName, secret } = described;
  return {
    ...others,
    name,
    server,
    ...(certificateAuthorityData === undefined ? {} : { certificateAuthorityData }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    cloud: { ...Object(cloud), ...annotatedCloud },
    ...(controllers === undefined ? {} : { controllers }),
    ...(dryRun === undefined
      ? {}
      : { policies: { ...Object(others["policies"]), dryRun: BOOLEANS[dryRun] ?? dryRun } }),
    signIn: { ...buildMintedSignIns(home, secret, Object(signIn)), ...Object(signIn) },
  };
}

/** Any other value is rejected with the entry. */
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

/** Returns minted tokens for every role without another sign-in; all functions share one. */
function buildMintedSignIns(
  registry: string,
  secret: SecretKey,
  given: object,
): Readonly<Record<string, SignIn>> {
  const roles = "functions" in given ? ["relay"] : ["relay", ...FUNCTION_IDENTITIES];
  const { namespace, name, key } = secret;
  const signInMethod: SignIn = {
    kind: "minted-token",
    management: registry,
    secret: `${namespace}/${name}`,
    key,
  };
  return Object.fromEntries(roles.filter((role) => !(role in given)).map((role) => [role, signInMethod]));
}

const ENTRIES_ARE_OFF =
  "is a whole entry in a Secret, which is not read: a writer of the Secret would choose API server, sign-ins and cloud. Put the kubeconfig there under `kubeconfig`, or start with --entries-in-secrets if only the operator writes Secrets";

interface ParsedAnnotations {
  readonly values: ReadonlyMap<string, string>;
  readonly faults: readonly ClustersFileIssue[];
}

function parseClusterAnnotations(
  annotations: Readonly<Record<string, string>>,
  counting: readonly string[],
): ParsedAnnotations {
  const values = new Map<string, string>();
  const faults: ClustersFileIssue[] = [];
  const known: readonly string[] = ANNOTATED;
  for (const [annotation, value] of Object.entries(annotations)) {
    if (!annotation.startsWith(PREFIX)) continue;
    const key = annotation.slice(PREFIX.length);
    if (counting.includes(key) && known.includes(key)) values.set(key, value);
    else if (known.includes(key)) {
      const message = `annotation ${PREFIX}${key} does not count: a writer of the object would decide it. Give ${key} in --cluster-defaults, or name it in --cluster-annotations (such as ${[...counting, key].join(",")})`;
      faults.push({ path: key, message });
    } else {
      const meant = findNearest(key, known);
      const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${PREFIX}${meant}?`;
      faults.push({ path: key, message: `unknown annotation; ${hint}` });
    }
  }
  return { values, faults };
}

function withPlace(
  fault: ClustersFileIssue,
  name: string | undefined,
  { place }: FoundCluster,
): ClustersFileIssue {
  const who = name === undefined ? "a cluster" : `cluster ${name}`;
  return { ...fault, document: place, subject: fault.path === "" ? who : `${who}: ${fault.path}` };
}
