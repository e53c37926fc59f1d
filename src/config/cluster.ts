import { createHash } from "node:crypto";
import { isIP } from "node:net";
import * as z from "zod";
import { CloudConfig, getCloudProvider } from "#clouds/providers.ts";
import { CertificateAuthorityData } from "#config/certificate-authority-data.ts";
import { type CheckedInput, checkWriting, type FieldError } from "#config/describe-errors.ts";
import { SignIn } from "#config/sign-in/kinds.ts";
import { CONTROLLER_ALIASES, CONTROLLER_SETTINGS, DESCRIPTORS } from "#core/descriptors.ts";
import { ClusterName, ControllerName } from "#core/event.ts";
import { FUNCTION_IDENTITIES, mapIdentities } from "#core/identities.ts";
import { Policies } from "#core/policies.ts";
import { WRITABLE_BY_RELAY } from "#core/relay-lease.ts";
import { type ControllerSettings, type Settings, selectControllerSettings } from "#core/settings.ts";
import type { WatchContext } from "#core/watch.ts";
import { DEFAULT_BOUNDS } from "#kube/follow/bounds.ts";

const filePath = z.string().min(1);

const MEBIBYTE = 1024 * 1024;

/** Limits for the work on one cluster at a time, and for the data accepted from it. */
export const Limits = z.strictObject({
  /** Invocations in flight, over all controllers. */
  invocations: z.int().min(1).max(100).prefault(4),
  /** Requests in flight to the API server from one function. */
  requestsPerFunction: z.int().min(1).max(128).prefault(32),
  /** The share of the account's API quotas that an event without a budget may spend. */
  floorShare: z.number().gt(0).max(1).prefault(0.05),
  /** Objects of one resource that the relay follows; it leaves out further ones. */
  objects: z.int().min(1).max(1_000_000).prefault(DEFAULT_BOUNDS.objects),
  /** Bytes kept of these objects, as JSON. */
  objectBytes: z.int().min(MEBIBYTE).prefault(DEFAULT_BOUNDS.objectBytes),
  /** One page of a list: its decompressed bytes and its JSON values. */
  pageBytes: z
    .int()
    .min(MEBIBYTE)
    .max(256 * MEBIBYTE)
    .prefault(DEFAULT_BOUNDS.pageBytes),
  pageValues: z.int().min(10_000).max(100_000_000).prefault(DEFAULT_BOUNDS.pageValues),
  /** A whole list. */
  listBytes: z.int().min(MEBIBYTE).prefault(DEFAULT_BOUNDS.listBytes),
  listPages: z.int().min(1).prefault(DEFAULT_BOUNDS.listPages),
  listSeconds: z.int().min(10).max(3_600).prefault(DEFAULT_BOUNDS.listSeconds),
  /** One event of a watch. */
  watchLineBytes: z
    .int()
    .min(65_536)
    .max(256 * MEBIBYTE)
    .prefault(DEFAULT_BOUNDS.watchLineBytes),
  /**
   * Sustained rate of watch events. A burst of ten seconds' worth, and of eight for each object, is allowed.
   */
  watchEventsPerSecond: z.int().min(10).max(1_000_000).prefault(DEFAULT_BOUNDS.watchEventsPerSecond),
  /**
   * Objects without a usable name, uid or version, and malformed events, after which a list or watch is
   * ended.
   */
  malformedObjects: z.int().min(1).max(1_000_000).prefault(DEFAULT_BOUNDS.malformedObjects),
  /** The answer to a write, or a single object. */
  answerBytes: z
    .int()
    .min(65_536)
    .max(64 * MEBIBYTE)
    .prefault(2 * MEBIBYTE),
  /** Log lines a second; a burst may have ten times as many. */
  logLines: z.int().min(1).max(1_000).prefault(10),
});
export type Limits = z.output<typeof Limits>;

const SIGN_INS = {
  relay: SignIn.optional(),
  functions: SignIn.optional(),
  ...mapIdentities(FUNCTION_IDENTITIES, () => SignIn.optional()),
};

function getCanonicalName(name: ControllerName): ControllerName {
  return Object.hasOwn(CONTROLLER_ALIASES, name) ? (CONTROLLER_ALIASES[name] ?? name) : name;
}

const SERVER = "the https:// base URL of the API server, such as https://tenant-a.example.com:6443";

const ServerName = z
  .string()
  .max(253)
  .refine(
    (name) => isIP(name) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name),
    "the name or address that the API server's certificate is for, such as tenant-a.example.com",
  );

/** Whether a name is valid as the TLS server name of the entry's server. */
export function isServerName(
  name: string,
  { server, tlsServerName }: { readonly server: string; readonly tlsServerName?: string | undefined },
): boolean {
  const own = tlsServerName ?? new URL(server).hostname.replace(/^\[(.*)\]$/, "$1");
  return name.toLowerCase() === own.toLowerCase();
}

/** A cluster's entry in a clusters file. */
export const ClusterEntry = z.strictObject({
  name: ClusterName,
  /** Base URL of the API server, https. */
  server: z
    .url({ protocol: /^https$/, error: SERVER, abort: true })
    .refine(hasNoCredentials, "holds a user name or password; how one signs in stands under signIn"),
  /** The name or address in the server's certificate, sent as TLS server name. Default: that of `server`. */
  tlsServerName: ServerName.optional(),
  /** PEM file with the API server's certificate authority. Default: the system's authorities. */
  certificateAuthorityFile: filePath.optional(),
  /** The API server's certificate authority inline instead of a file: PEM in base64, as in kubeconfigs. */
  certificateAuthorityData: CertificateAuthorityData.optional(),
  /**
   * One identity for the relay and one for each function, each with only the rights that it needs.
   * `functions` applies to every function without an identity of its own.
   */
  signIn: z.strictObject(SIGN_INS).prefault({}),
  cloud: CloudConfig,
  /** Who writes to the API server: each function, or the relay for functions that cannot reach the server. */
  writes: z.enum(["function", "relay"]).prefault("function"),
  controllers: z
    .array(ControllerName)
    .min(1)
    .transform((names) => [...new Set(names.map(getCanonicalName))])
    .prefault(["cloud-node-controller", "cloud-node-lifecycle-controller"]),
  limits: Limits.prefault({}),
  policies: Policies.prefault({}),
  ...CONTROLLER_SETTINGS,
});
/** An entry as written, without defaults. */
export type ClusterEntry = z.input<typeof ClusterEntry>;

/** Parses entries by a schema and adds the hash of the text as written. */
export function withHash<Entry extends z.ZodObject>(entry: Entry) {
  return z.unknown().transform((written, context): z.output<Entry> & { readonly hash: string } => {
    const checked = checkWrites(checkAuthority(checkTrust(checkSettings(checkWriting(entry, written)))));
    if (checked.kind === "valid")
      return { ...checked.value, hash: hashOfEntry(written as Record<string, unknown>) };
    for (const { path, message } of checked.faults)
      context.issues.push({ code: "custom", path: [...path], message, input: written });
    return z.NEVER;
  });
}

/** Checks an entry by the settings of each enabled controller, and takes off those that they disable. */
function checkSettings<Output>(checked: CheckedInput<Output>): CheckedInput<Output> {
  if (checked.kind === "faulty") return checked;
  const { controllers = [], ...settings } = checked.value as Partial<z.output<typeof ClusterEntry>>;
  const unusable = DESCRIPTORS.flatMap(({ name, checkSettings: check }) => {
    const found = controllers.includes(name) ? check?.(settings) : undefined;
    return found === undefined ? [] : [{ name, ...found }];
  });
  const faults = unusable.filter((each) => each.kind === "faulty");
  if (faults.length > 0) return { kind: "faulty", faults };
  const disabled = unusable.filter((each) => each.kind === "disabled");
  const [first] = disabled;
  if (first === undefined) return checked;
  const others = controllers.filter((each) => disabled.every(({ name }) => name !== each));
  if (others.length > 0) return { kind: "valid", value: { ...checked.value, controllers: others } };
  const message = `name another one: ${first.reason}, and ${first.name} is off then`;
  return { kind: "faulty", faults: [{ path: ["controllers"], message }] };
}

/** Rejects controllers that need trusted node addresses on a cloud that has none. */
function checkTrust<Output>(checked: CheckedInput<Output>): CheckedInput<Output> {
  if (checked.kind === "faulty") return checked;
  const { controllers = [], cloud } = checked.value as Partial<z.output<typeof ClusterEntry>>;
  if (cloud === undefined || (getCloudProvider(cloud).hasTrustedAddresses?.(cloud) ?? true)) return checked;
  const faults = DESCRIPTORS.flatMap(({ name, harmOfUntrustedAddresses: harm }): FieldError[] => {
    if (harm === undefined || !controllers.includes(name)) return [];
    const message = `leave ${name} out: with the cloud ${cloud.provider} addresses are the nodes' own word, and ${harm}`;
    return [{ path: ["controllers"], message }];
  });
  return faults.length === 0 ? checked : { kind: "faulty", faults };
}

/** Checks that an entry configures the authority in one place only. */
function checkAuthority<Output>(checked: CheckedInput<Output>): CheckedInput<Output> {
  if (checked.kind === "faulty") return checked;
  const { certificateAuthorityFile, certificateAuthorityData } = checked.value as Partial<
    z.output<typeof ClusterEntry>
  >;
  if (certificateAuthorityFile === undefined || certificateAuthorityData === undefined) return checked;
  const message = "stands beside certificateAuthorityFile; give one of the two";
  return { kind: "faulty", faults: [{ path: ["certificateAuthorityData"], message }] };
}

/** A cluster as relay and functions read it; they compare `hash`. */
export const Cluster = withHash(ClusterEntry);
export type Cluster = z.output<typeof Cluster>;

function hasNoCredentials(server: string): boolean {
  const { username, password } = new URL(server);
  return username === "" && password === "";
}

/** Returns a key that is equal for clusters that share the API quotas of a cloud. */
export function getQuotaKey({ name, cloud }: Pick<Cluster, "name" | "cloud">): string {
  return getCloudProvider(cloud).getQuotaKey(cloud) || `${cloud.provider} ${name}`;
}

/** The fields of a cluster from which its settings are made. */
type ConfiguredCluster = Pick<Cluster, "name" | "cloud" | keyof ControllerSettings>;

/** Returns the settings of a cluster on which decisions depend. */
export function selectSettings(cluster: ConfiguredCluster): Settings {
  const { name, cloud } = cluster;
  const loadBalancerClass = getCloudProvider(cloud).getLoadBalancerClass?.(cloud);
  const ofClass = loadBalancerClass === undefined ? {} : { loadBalancerClass };
  return { cluster: name, cloud, ...ofClass, ...selectControllerSettings(cluster) };
}

/** Returns the settings of a cluster on which the watch half of a controller depends. */
export function buildWatchContext(cluster: ConfiguredCluster): WatchContext {
  const { labelPrefixes, listLabels, listNodeKeys } = getCloudProvider(cluster.cloud);
  return {
    labelPrefixes: [...labelPrefixes, ...(listLabels?.(cluster.cloud) ?? [])],
    nodeKeys: listNodeKeys?.(cluster.cloud) ?? [],
    settings: selectSettings(cluster),
  };
}

/**
 * A source of clusters by name. Resolves to undefined if the cluster is not found; rejects if the source
 * cannot be read. `fresh` bypasses any cache.
 */
export type Clusters = (name: string, options?: { readonly fresh?: boolean }) => Promise<Cluster | undefined>;

/**
 * Returns the hash that relay and function compare before anything is written: 16 hexadecimal digits of a
 * SHA-256 over a cluster's entry as written. Defaults are left out, so a version with one more key still
 * works with its predecessor. Sign-in is left out because it differs between relay and functions; authorities
 * are left out because they rotate. The hash of an entry must never change between versions.
 */
export function hashOfEntry(written: Readonly<Record<string, unknown>>): string {
  const { signIn: _, certificateAuthorityFile: __, certificateAuthorityData: ___, ...agreedOn } = written;
  return createHash("sha256").update(formatCanonicalJson(agreedOn)).digest("hex").slice(0, 16);
}

function formatCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${formatCanonicalJson(member)}`).join(",")}}`;
}

/** The fields of an entry that the check reads. */
interface WritesEntry {
  readonly writes?: "function" | "relay";
  readonly controllers?: readonly ControllerName[];
  readonly signIn?: Readonly<Record<string, unknown>>;
}

/**
 * Rejects entries with `writes: relay` that enable a controller whose function must reach the cluster, or
 * that let a function sign in.
 */
function checkWrites<Output>(checked: CheckedInput<Output>): CheckedInput<Output> {
  if (checked.kind === "faulty") return checked;
  const { writes, controllers = [], signIn = {} } = checked.value as WritesEntry;
  if (writes !== "relay") return checked;
  const faults = [
    ...controllers.flatMap(checkController),
    ...Object.keys(signIn).flatMap(createSignInCheck(signIn)),
  ];
  return faults.length === 0 ? checked : { kind: "faulty", faults };
}

function checkController(name: ControllerName, index: number): FieldError[] {
  if (WRITABLE_BY_RELAY.includes(name)) return [];
  const message = `${name} changes the cloud and reads the cluster in between, which takes a function that reaches it: with writes: relay there may be ${WRITABLE_BY_RELAY.join(", ")}; take it out, or give the functions a way to the API server and leave writes out`;
  return [{ path: ["controllers", index], message }];
}

function createSignInCheck(signIn: Readonly<Record<string, unknown>>): (role: string) => FieldError[] {
  return (role) => {
    if (role === "relay" || signIn[role] === undefined) return [];
    const message =
      "with writes: relay no function signs in; take it out, so that none holds a credential of the cluster";
    return [{ path: ["signIn", role], message }];
  };
}
