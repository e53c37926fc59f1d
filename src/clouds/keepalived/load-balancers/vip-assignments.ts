import * as z from "zod";
import { canonicalizeIp } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import { parseJson } from "#core/parse-json.ts";

/** The annotation of the ConfigMap with the address of each Service. */
export const STATE_ANNOTATION = "k8s.co/cloud-provider-config";

/**
 * Our own annotation, because the other one has no room for more: the uids of entries without a Service, and
 * when they may be removed.
 */
export const ORPHANS_ANNOTATION = "serverless-ccm.io/orphaned-addresses";

/** Longer than any name in Kubernetes; longer text would get into logs. */
const Text = z.string().max(253);

/** An address of a Service. */
export const Entry = z.object({
  uid: Text,
  ip: Text,
  serviceNamespace: Text,
  serviceName: Text,
  /** Absent if none was requested. */
  forwardMethod: Text.optional(),
});
export type Entry = z.output<typeof Entry>;

/** The part of the ConfigMap that is read and written here. */
export interface VipAssignments {
  /** In order of their creation. */
  readonly entries: readonly Entry[];
  /** keepalived's input: each address with its Service and forwarding method. */
  readonly data: Readonly<Record<string, string>>;
  /** Orphan marks of entries, by uid. */
  readonly marks: Readonly<Record<string, string>>;
}

/** A ConfigMap as it was read, with what its patch needs. */
export interface StoredVipAssignments extends VipAssignments {
  readonly resourceVersion: string;
  readonly hasAnnotations: boolean;
  readonly hasMarks: boolean;
}

const StoredConfigMap = z.object({
  metadata: z.object({
    resourceVersion: z.string().min(1),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  data: z.record(z.string(), z.string()).nullish(),
});

// Go's decoder accepts null as empty.
const State = z.object({ services: z.array(Entry).nullish() }).nullable();

const Marks = z.record(z.string(), z.string());

/**
 * Reads a ConfigMap; returns a message if the owners of addresses are unreadable, and nothing may be written
 * then.
 */
export function readVipAssignments(configMap: unknown): StoredVipAssignments | string {
  const stored = StoredConfigMap.safeParse(configMap).data;
  if (stored === undefined) return "an answer that is not a ConfigMap";
  const { resourceVersion, annotations } = stored.metadata;
  const written = annotations?.[STATE_ANNOTATION];
  const state = written === undefined ? { data: null } : State.safeParse(parseJson(written));
  if (state.data === undefined)
    return `annotation ${STATE_ANNOTATION} is not what says who has which address`;
  const marks = annotations?.[ORPHANS_ANNOTATION];
  return {
    resourceVersion,
    hasAnnotations: annotations !== undefined && annotations !== null,
    hasMarks: marks !== undefined,
    entries: state.data?.services ?? [],
    data: stored.data ?? {},
    // An unreadable value of our own is written again.
    marks: Marks.safeParse(parseJson(marks ?? "{}")).data ?? {},
  };
}

/** Formats the annotation byte for byte as keepalived-cloud-provider does. */
export function formatEntries(entries: readonly Entry[]): string {
  const services = entries.map(({ uid, ip, serviceNamespace, serviceName, forwardMethod }) => ({
    ...{ uid, ip, serviceNamespace, serviceName },
    ...(forwardMethod ? { forwardMethod } : {}),
  }));
  return formatGoJson({ services });
}

/** Formats the data value of an entry. */
export function formatValue({ serviceNamespace, serviceName, forwardMethod }: Entry): string {
  return `${serviceNamespace}/${serviceName}${forwardMethod ? `:${forwardMethod}` : ""}`;
}

/**
 * Builds all data from the entries. If two have one address, the first wins; an address that cannot be a key
 * is skipped.
 */
export function buildData(entries: readonly Entry[]): Record<string, string> {
  const data: Record<string, string> = {};
  for (const entry of entries)
    if (isAnnounceable(entry.ip) && !Object.hasOwn(data, entry.ip)) data[entry.ip] = formatValue(entry);
  return data;
}

/** Whether keepalived can get an address: it must be IPv4, because keys cannot contain a colon. */
export function isAnnounceable(address: string): boolean {
  return parseIp(address)?.family === 4 && !address.includes(":");
}

/** Returns the first entry with an address; undefined for an invalid address. */
export function findHolder({ entries }: Pick<VipAssignments, "entries">, address: string): Entry | undefined {
  const wanted = canonicalizeIp(address);
  return wanted === undefined ? undefined : indexHolders(entries).get(wanted);
}

const HOLDERS = new WeakMap<readonly Entry[], ReadonlyMap<string, Entry>>();

/** All Services of a batch use one index; the list may have thousands of lines. */
function indexHolders(entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  const before = HOLDERS.get(entries);
  if (before !== undefined) return before;
  const holders = new Map<string, Entry>();
  for (const entry of entries) {
    const ip = canonicalizeIp(entry.ip);
    if (ip !== undefined && !holders.has(ip)) holders.set(ip, entry);
  }
  HOLDERS.set(entries, holders);
  return holders;
}

/** Formats JSON as Go's encoder does, which escapes other characters in texts. */
export function formatGoJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === "string" ? each.toWellFormed() : each))
    .replaceAll("<", "\\u003c")
    .replaceAll(">", "\\u003e")
    .replaceAll("&", "\\u0026")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}
