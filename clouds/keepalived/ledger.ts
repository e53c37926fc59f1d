import * as z from "zod";
import { goJson } from "#clouds/keepalived/go-json.ts";
import { canonicalIp } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";

/** The annotation of the ConfigMap that says which Service has which address. */
export const STATE_ANNOTATION = "k8s.co/cloud-provider-config";

/** Ours beside it, as the other one has no room for more: entries whose Service has gone, by uid, and when they may be dropped. */
export const ORPHANS_ANNOTATION = "serverless-ccm.io/orphaned-addresses";

/** Longer than any name that Kubernetes gives; what is longer would get into logs. */
const Text = z.string().max(253);

/** An address that a Service has. */
export const Entry = z.object({
  uid: Text,
  ip: Text,
  serviceNamespace: Text,
  serviceName: Text,
  /** Left out where none was asked for. */
  forwardMethod: Text.optional(),
});
export type Entry = z.output<typeof Entry>;

/** What the ConfigMap says, as far as it is read and written here. */
export interface Ledger {
  /** In the order in which they came. */
  readonly entries: readonly Entry[];
  /** What keepalived reads: by address, whose it is and how packets are passed on. */
  readonly data: Readonly<Record<string, string>>;
  /** Marks of entries whose Service has gone, by uid. */
  readonly marks: Readonly<Record<string, string>>;
}

/** A ConfigMap as it was read, with what a patch of it has to know. */
export interface StoredLedger extends Ledger {
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

// Go's decoder takes null for what is empty.
const State = z.object({ services: z.array(Entry).nullish() }).nullable();
const Marks = z.record(z.string(), z.string());

/** Reads a ConfigMap; a text where it cannot be told who has which address, and then nothing may be written. */
export function readLedger(configMap: unknown): StoredLedger | string {
  const stored = StoredConfigMap.safeParse(configMap).data;
  if (stored === undefined) return "an answer that is no ConfigMap";
  const { resourceVersion, annotations } = stored.metadata;
  const written = annotations?.[STATE_ANNOTATION];
  const state = written === undefined ? { data: null } : State.safeParse(parsedJson(written));
  if (state.data === undefined)
    return `annotation ${STATE_ANNOTATION} is not what says who has which address`;
  const marks = annotations?.[ORPHANS_ANNOTATION];
  return {
    resourceVersion,
    hasAnnotations: annotations !== undefined && annotations !== null,
    hasMarks: marks !== undefined,
    entries: state.data?.services ?? [],
    data: stored.data ?? {},
    // What is ours alone and cannot be read is written anew.
    marks: Marks.safeParse(parsedJson(marks ?? "{}")).data ?? {},
  };
}

/** The text of the annotation, byte for byte as keepalived-cloud-provider writes it. */
export function writtenEntries(entries: readonly Entry[]): string {
  const services = entries.map(({ uid, ip, serviceNamespace, serviceName, forwardMethod }) => ({
    ...{ uid, ip, serviceNamespace, serviceName },
    ...(forwardMethod ? { forwardMethod } : {}),
  }));
  return goJson({ services });
}

/** What the data of the ConfigMap says of an entry. */
export function writtenValue({ serviceNamespace, serviceName, forwardMethod }: Entry): string {
  return `${serviceNamespace}/${serviceName}${forwardMethod ? `:${forwardMethod}` : ""}`;
}

/** All of the data, by what the entries say: of two with one address the first one has it, and what cannot be a key is none. */
export function dataOf(entries: readonly Entry[]): Record<string, string> {
  const data: Record<string, string> = {};
  for (const entry of entries)
    if (isTold(entry.ip) && !Object.hasOwn(data, entry.ip)) data[entry.ip] = writtenValue(entry);
  return data;
}

/** Whether keepalived can be told of an address: it is of IPv4, and is so written, as keys have no colon. */
export function isTold(address: string): boolean {
  return parseIp(address)?.family === 4 && !address.includes(":");
}

/** Who has an address: the first one that says so; nobody has what is none. */
export function holderOf({ entries }: Pick<Ledger, "entries">, address: string): Entry | undefined {
  const wanted = canonicalIp(address);
  return wanted === undefined ? undefined : holdersOf(entries).get(wanted);
}

const known = new WeakMap<readonly Entry[], ReadonlyMap<string, Entry>>();

/** All Services of a batch look into one list, which may have thousands of lines. */
function holdersOf(entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  const before = known.get(entries);
  if (before !== undefined) return before;
  const holders = new Map<string, Entry>();
  for (const entry of entries) {
    const ip = canonicalIp(entry.ip);
    if (ip !== undefined && !holders.has(ip)) holders.set(ip, entry);
  }
  known.set(entries, holders);
  return holders;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
