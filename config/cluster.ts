import { isIP } from "node:net";
import * as z from "zod";
import { CloudConfig, cloudKindOf } from "#clouds/kinds.ts";
import { CertificateAuthorityData } from "#config/certificate-authority-data.ts";
import { checkWrites } from "#config/check-writes.ts";
import { hashOfEntry } from "#config/cluster-hash.ts";
import { type CheckedWriting, checkWriting } from "#config/fault-words.ts";
import { SignIn } from "#config/sign-in/kinds.ts";
import { CONTROLLER_ALIASES } from "#core/contracts.ts";
import type { WatchContext } from "#core/controller.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { ClusterName, ControllerName } from "#core/event.ts";
import type { Identity } from "#core/identities.ts";
import { Policies } from "#core/policies.ts";
import { routeWatch } from "#core/route/watch.ts";
import {
  LoadBalancerSettings,
  NodeSettings,
  RouteSettings,
  type Settings,
  TaggingSettings,
} from "#core/settings.ts";
import { DEFAULT_BOUNDS } from "#kube/follow/bounds.ts";

const filePath = z.string().min(1);

const MEBIBYTE = 1024 * 1024;

/** Bounds of what is done for one cluster at a time, and of what is taken of it. */
export const Limits = z.strictObject({
  /** Invocations in flight, over all controllers. */
  invocations: z.int().min(1).max(100).prefault(4),
  /** Requests in flight to the API server from one function. */
  requestsPerFunction: z.int().min(1).max(128).prefault(32),
  /** The share of the account's API quotas that an event without a budget may spend. */
  floorShare: z.number().gt(0).max(1).prefault(0.05),
  /** Objects of one resource that are followed; those beyond are left out. */
  objects: z.int().min(1).max(1_000_000).prefault(DEFAULT_BOUNDS.objects),
  /** What is kept of them, as JSON. */
  objectBytes: z.int().min(MEBIBYTE).prefault(DEFAULT_BOUNDS.objectBytes),
  /** A page of a list: its bytes once decompressed, and its JSON values. */
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
  /** What the watches may bring for long; a burst of ten seconds' worth and of eight for each object goes through at once. */
  watchEventsPerSecond: z.int().min(10).max(1_000_000).prefault(DEFAULT_BOUNDS.watchEventsPerSecond),
  /** Objects without a usable name, uid or version, and events that are none, before a list or watch is ended. */
  malformedObjects: z.int().min(1).max(1_000_000).prefault(DEFAULT_BOUNDS.malformedObjects),
  /** The answer to a write, and an object that is read alone. */
  answerBytes: z
    .int()
    .min(65_536)
    .max(64 * MEBIBYTE)
    .prefault(2 * MEBIBYTE),
  /** Lines of the log in a second; ten times as many go through at once. */
  logLines: z.int().min(1).max(1_000).prefault(10),
});
export type Limits = z.output<typeof Limits>;

const SIGN_INS = {
  relay: SignIn.optional(),
  functions: SignIn.optional(),
  node: SignIn.optional(),
  "node-lifecycle": SignIn.optional(),
  csr: SignIn.optional(),
  service: SignIn.optional(),
  route: SignIn.optional(),
  tagging: SignIn.optional(),
  sweep: SignIn.optional(),
  "ec2-events": SignIn.optional(),
} satisfies Record<Identity | "functions", z.ZodType>;

function canonicalName(name: ControllerName): ControllerName {
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

/** Whether a name is the one by which the entry's server is asked for. */
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
  /** The name or address that the server's certificate is for, and by which it is asked for; that of `server` without it. */
  tlsServerName: ServerName.optional(),
  /** PEM file with the API server's certificate authority; the system's authorities without it. */
  certificateAuthorityFile: filePath.optional(),
  /** The same written out, in place of a file: PEM in base64, as in kubeconfigs. */
  certificateAuthorityData: CertificateAuthorityData.optional(),
  /**
   * An identity for the relay and one for each function, so that none can do what only another must; `functions` is that of
   * every function without one of its own.
   */
  signIn: z.strictObject(SIGN_INS).prefault({}),
  cloud: CloudConfig,
  /** Who writes to the API server: each function, or the relay in their stead where they have no way to it. */
  writes: z.enum(["function", "relay"]).prefault("function"),
  controllers: z
    .array(ControllerName)
    .min(1)
    .transform((names) => [...new Set(names.map(canonicalName))])
    .prefault(["cloud-node-controller", "cloud-node-lifecycle-controller"]),
  limits: Limits.prefault({}),
  policies: Policies.prefault({}),
  nodes: NodeSettings.prefault({}),
  loadBalancers: LoadBalancerSettings.prefault({}),
  routes: RouteSettings.prefault({}),
  tagging: TaggingSettings.prefault({}),
});
/** An entry as it is written, without the defaults. */
export type ClusterEntry = z.input<typeof ClusterEntry>;

/** Parses by a schema of entries, and adds the hash of what was written. */
export function hashed<Entry extends z.ZodObject>(entry: Entry) {
  return z.unknown().transform((written, context): z.output<Entry> & { readonly hash: string } => {
    const checked = checkWrites(checkAuthority(checkApproval(checkRouting(checkWriting(entry, written)))));
    if (checked.kind === "valid")
      return { ...checked.value, hash: hashOfEntry(written as Record<string, unknown>) };
    for (const { path, message } of checked.faults)
      context.issues.push({ code: "custom", path: [...path], message, input: written });
    return z.NEVER;
  });
}

/**
 * Whoever has routes made says for which networks: no route is made beyond them, and none is deleted. Where none are to be made the
 * controller of routes is none of the cluster's, as with the stock controller.
 */
function checkRouting<Output>(checked: CheckedWriting<Output>): CheckedWriting<Output> {
  if (checked.kind === "faulty") return checked;
  const { controllers = [], routes } = checked.value as Partial<z.output<typeof ClusterEntry>>;
  if (!controllers.includes(routeWatch.name) || routes === undefined) return checked;
  if (!routes.configure) {
    const others = controllers.filter((name) => name !== routeWatch.name);
    if (others.length > 0) return { kind: "valid", value: { ...checked.value, controllers: others } };
    const message = `name another one: routes.configure is false, and ${routeWatch.name} is off then`;
    return { kind: "faulty", faults: [{ path: ["controllers"], message }] };
  }
  if (routes.clusterCIDRs.length > 0) return checked;
  const message = `is missing: ${routeWatch.name} makes routes within the networks of the cluster's pods, such as 10.128.0.0/14`;
  return { kind: "faulty", faults: [{ path: ["routes", "clusterCIDRs"], message }] };
}

/** Of a certificate for whatever address a node says it has, nobody could trust what it serves. */
function checkApproval<Output>(checked: CheckedWriting<Output>): CheckedWriting<Output> {
  if (checked.kind === "faulty") return checked;
  const { controllers = [], cloud } = checked.value as Partial<z.output<typeof ClusterEntry>>;
  if (cloud === undefined || !controllers.includes(csrWatch.name)) return checked;
  if (cloudKindOf(cloud).vouchesForAddresses?.(cloud) ?? true) return checked;
  const message = `leave ${csrWatch.name} out: with the cloud ${cloud.provider} addresses are the nodes' own word, and certificates for them would let any node stand in for any other`;
  return { kind: "faulty", faults: [{ path: ["controllers"], message }] };
}

/** There is one authority, and it stands in one place. */
function checkAuthority<Output>(checked: CheckedWriting<Output>): CheckedWriting<Output> {
  if (checked.kind === "faulty") return checked;
  const { certificateAuthorityFile, certificateAuthorityData } = checked.value as Partial<
    z.output<typeof ClusterEntry>
  >;
  if (certificateAuthorityFile === undefined || certificateAuthorityData === undefined) return checked;
  const message = "stands beside certificateAuthorityFile; give one of the two";
  return { kind: "faulty", faults: [{ path: ["certificateAuthorityData"], message }] };
}

/** One cluster, as relay and functions both read it; `hash` is what the two compare. */
export const Cluster = hashed(ClusterEntry);
export type Cluster = z.output<typeof Cluster>;

function hasNoCredentials(server: string): boolean {
  const { username, password } = new URL(server);
  return username === "" && password === "";
}

/** Equal for clusters that spend from the same API quotas of a cloud. */
export function quotaKeyOf({ name, cloud }: Pick<Cluster, "name" | "cloud">): string {
  return cloudKindOf(cloud).quotaKey(cloud) || `${cloud.provider} ${name}`;
}

/** What of a cluster its settings are made of. */
type Configured = Pick<Cluster, "name" | "cloud" | "nodes" | "loadBalancers" | "routes" | "tagging">;

/** What of a cluster decisions depend on. */
export function settingsOf({ name, cloud, nodes, loadBalancers, routes, tagging }: Configured): Settings {
  const loadBalancerClass = cloudKindOf(cloud).loadBalancerClassOf?.(cloud);
  const ofClass = loadBalancerClass === undefined ? {} : { loadBalancerClass };
  return { cluster: name, cloud, ...ofClass, nodes, loadBalancers, routes, tagging };
}

/** What of a cluster the watch half of a controller depends on. */
export function watchContextOf(cluster: Configured): WatchContext {
  const { labelPrefixes, labelsOf, nodeKeysOf } = cloudKindOf(cluster.cloud);
  return {
    labelPrefixes: [...labelPrefixes, ...(labelsOf?.(cluster.cloud) ?? [])],
    nodeKeys: nodeKeysOf?.(cluster.cloud) ?? [],
    settings: settingsOf(cluster),
  };
}

/**
 * Where clusters come from. Resolves to the named cluster, or to undefined where there is none of that name;
 * rejects where the source cannot be read. `fresh` bypasses any cache.
 */
export type Clusters = (name: string, options?: { readonly fresh?: boolean }) => Promise<Cluster | undefined>;
