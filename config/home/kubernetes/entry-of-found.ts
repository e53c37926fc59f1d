import { Cluster } from "#config/cluster.ts";
import { type ClustersFault, type FaultyEntry, isFaulty, parseEntryDocument } from "#config/clusters-file.ts";
import { type AllowedSecrets, findRefusedReferences, NO_SECRETS } from "#config/home/entry-references.ts";
import type { EntryDefaults } from "#config/home/kubernetes/entry-defaults.ts";
import type { FoundCluster, SecretKey } from "#config/home/kubernetes/found-cluster.ts";
import { isOwnershipByName } from "#config/ownership.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { isTooMuchYaml, parseYaml } from "#config/yaml-text.ts";
import { ClusterName } from "#core/event.ts";
import { pathOf } from "#core/faults.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { nearest } from "#core/nearest.ts";

export interface EntryOfFoundOptions {
  /** The management cluster, as `--clusters-file` names it. */
  readonly home: string;
  /** What entries say that nothing else says, as the operator wrote it. */
  readonly defaults: EntryDefaults;
  /** Keys of annotations that count, as whoever may write the object decides them; those of `DEFAULT_ANNOTATIONS` without it. */
  readonly annotations?: readonly string[] | undefined;
  /** Whether whole entries in Secrets are read, which may name any API server and way to sign in. */
  readonly readsEntriesInSecrets?: boolean | undefined;
  /** Which secrets such an entry may name; none without it. */
  readonly allowedSecrets?: AllowedSecrets | undefined;
}

/**
 * The keys of an entry that annotations can give, `serverless-ccm.io/` before each; `controllers` with commas between, `policies.dryRun`
 * as `true` or `false`.
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

/** Keys of annotations that count by default: they change nothing of what is the cluster's in the cloud. */
export const DEFAULT_ANNOTATIONS: readonly string[] = ["name", "controllers"];

/** The entry of a cluster that was found: what the operator's defaults say, what annotations say, and the API server. */
export function entryOfFound(found: FoundCluster, options: EntryOfFoundOptions): Cluster | FaultyEntry {
  const { described, annotations } = found;
  if (described.kind === "entry") return entryOfText(found, described.text, options);
  const annotated = annotatedOf(annotations, options.annotations ?? DEFAULT_ANNOTATIONS);
  const own = annotated.values.get("name") ?? defaultName(found);
  const name = ClusterName.safeParse(own).success ? own : undefined;
  const faults = [...annotated.faults];
  if (name === undefined)
    faults.push({ path: "name", message: `annotation ${PREFIX}name is no name of a cluster` });
  if (described.kind === "fault") faults.push({ path: "", message: described.message });
  const written =
    name && described.kind === "server"
      ? entryWritten(name, found, described, annotated.values, options)
      : {};
  const parsed = Cluster.safeParse(written);
  if (parsed.success && annotated.values.has("name") && options.annotations?.includes("name") !== true)
    faults.push(...faultsOfChosenName(parsed.data));
  if (parsed.success && faults.length === 0) return parsed.data;
  const ofEntry = name && described.kind === "server" ? (parsed.error?.issues ?? []) : [];
  const all = [...faults, ...ofEntry.map(({ path, message }) => ({ path: pathOf(path), message }))];
  return { name, faults: all.map((fault) => placed(fault, name, found)) };
}

/** The name of a cluster for which nothing says another one. */
export function defaultName({ namespace, ownName }: Pick<FoundCluster, "namespace" | "ownName">): string {
  return `${namespace}.${ownName}`;
}

/** A name decides what of the cloud is the cluster's where no tag is configured. */
function faultsOfChosenName(cluster: Cluster): readonly ClustersFault[] {
  if (!isOwnershipByName(cluster)) return [];
  const message = `annotation ${PREFIX}name does not count here, as machines and load balancers are told to be the cluster's by its name: give cloud.clusterTag in --cluster-defaults, or name in --cluster-annotations where whoever writes the object is trusted`;
  return [{ path: "name", message }];
}

/** An entry that stands whole in a Secret has the name that it says. */
function entryOfText(
  found: FoundCluster,
  text: string,
  { home, readsEntriesInSecrets = false, allowedSecrets = NO_SECRETS }: EntryOfFoundOptions,
): Cluster | FaultyEntry {
  if (!readsEntriesInSecrets) {
    const name = defaultName(found);
    return { name, faults: [placed({ path: "", message: ENTRIES_ARE_OFF }, name, found)] };
  }
  if (isTooMuchYaml(text)) {
    const name = defaultName(found);
    return { name, faults: [placed({ path: "", message: "is larger than any entry" }, name, found)] };
  }
  const management = { home, namespace: found.namespace };
  const check = (cluster: Cluster) => findRefusedReferences(cluster, { allowedSecrets, management });
  const parsed = parseYaml(text);
  const written = parsed.kind === "value" ? Object(parsed.value)["name"] : undefined;
  const name = ClusterName.safeParse(written).data;
  const entry = parseEntryDocument({ document: found.place, name: name ?? found.ownName, text, check });
  return isFaulty(entry) ? { ...entry, name } : entry;
}

function entryWritten(
  name: string,
  found: FoundCluster,
  described: {
    readonly server: string;
    readonly certificateAuthorityData: string | undefined;
    readonly tlsServerName: string | undefined;
    readonly secret: SecretKey;
  },
  annotated: ReadonlyMap<string, string>,
  { home, defaults }: EntryOfFoundOptions,
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
    signIn: { ...mintedSignIns(home, secret, Object(signIn)), ...Object(signIn) },
  };
}

/** Whatever else an annotation says is refused with the entry. */
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

/** A token of its own for everybody who has no other way to sign in; one for all functions is as good as one for each. */
function mintedSignIns(home: string, secret: SecretKey, given: object): Readonly<Record<string, SignIn>> {
  const roles = "functions" in given ? ["relay"] : ["relay", ...FUNCTION_IDENTITIES];
  const { namespace, name, key } = secret;
  const how: SignIn = { kind: "minted-token", management: home, secret: `${namespace}/${name}`, key };
  return Object.fromEntries(roles.filter((role) => !(role in given)).map((role) => [role, how]));
}

const ENTRIES_ARE_OFF =
  "is a whole entry in a Secret, which is not read: whoever may write the Secret would choose API server, sign-ins and cloud. Put the kubeconfig there under `kubeconfig`, or start with --entries-in-secrets where nobody else than the operator writes Secrets";

interface Annotated {
  readonly values: ReadonlyMap<string, string>;
  readonly faults: readonly ClustersFault[];
}

function annotatedOf(annotations: Readonly<Record<string, string>>, counting: readonly string[]): Annotated {
  const values = new Map<string, string>();
  const faults: ClustersFault[] = [];
  const known: readonly string[] = ANNOTATED;
  for (const [annotation, value] of Object.entries(annotations)) {
    if (!annotation.startsWith(PREFIX)) continue;
    const key = annotation.slice(PREFIX.length);
    if (counting.includes(key) && known.includes(key)) values.set(key, value);
    else if (known.includes(key)) {
      const message = `annotation ${PREFIX}${key} does not count: whoever may write the object would decide it. Give ${key} in --cluster-defaults, or name it in --cluster-annotations (such as ${[...counting, key].join(",")})`;
      faults.push({ path: key, message });
    } else {
      const meant = nearest(key, known);
      const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${PREFIX}${meant}?`;
      faults.push({ path: key, message: `unknown annotation; ${hint}` });
    }
  }
  return { values, faults };
}

function placed(fault: ClustersFault, name: string | undefined, { place }: FoundCluster): ClustersFault {
  const who = name === undefined ? "a cluster" : `cluster ${name}`;
  return { ...fault, document: place, subject: fault.path === "" ? who : `${who}: ${fault.path}` };
}
