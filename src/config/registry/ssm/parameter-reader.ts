import type { Cluster } from "#config/cluster.ts";
import {
  buildClustersFile,
  type ClustersFile,
  ClustersFileError,
  type FaultyEntry,
  isFaulty,
  parseEntryDocument,
} from "#config/clusters-file.ts";
import { type AllowedSecrets, findRefusedReferences } from "#config/registry/entry-references.ts";
import type { RegistryClusters } from "#config/registry/registry.ts";
import {
  MAX_NAMES_AT_ONCE,
  type Parameter,
  type ParameterStore,
  toParametersError,
} from "#config/registry/ssm/parameter-store.ts";
import { ClusterName } from "#core/event.ts";

export interface ParametersByNameOptions {
  readonly home: string;
  /** Ends with `/`. */
  readonly path: string;
  readonly allowedSecrets: AllowedSecrets;
  readonly store: () => Promise<ParameterStore>;
  readonly readAll: () => Promise<ClustersFile>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * How long a read may be reused, plus or minus a quarter, so that functions started together do not keep
 * reading together.
 */
const KEPT_MS = 30_000;
/**
 * Listing takes one request for each ten clusters from the account's shared quota: 1,000 clusters are listed
 * every two minutes.
 */
const KEPT_OF_CLUSTER_MS = 120;
const LONGEST_KEPT_MS = 120_000;
/**
 * A `fresh` read reuses what was read this recently, so events with a wrong hash cost no more than one read a
 * second.
 */
const FRESH_MS = 1_000;
const MAX_KEPT = 1_000;
const MAX_MISSING = 100;

interface CachedParameter<Value> {
  readonly value: Value;
  readonly readAt: number;
  readonly until: number;
}

/**
 * Creates the reader of parameters for a warm function: one cluster by name for an event, all clusters for a
 * sweep.
 */
export function createParameterReader(options: ParametersByNameOptions): RegistryClusters {
  const { home, path, allowedSecrets, now } = options;
  const readOne = remembered(
    options,
    () => KEPT_MS,
    async (name) => {
      const parameter = await (await options.store()).get(`${path}${name}`);
      return parameter === undefined ? undefined : parseParameter(path, parameter, allowedSecrets);
    },
  );
  const keptMsOfAll = ({ clusters, faulty }: ClustersFile): number =>
    Math.min(LONGEST_KEPT_MS, Math.max(KEPT_MS, (clusters.length + faulty.length) * KEPT_OF_CLUSTER_MS));
  const whole = remembered(options, keptMsOfAll, options.readAll);

  const byName = async (name: string, { fresh = false } = {}): Promise<Cluster | undefined> => {
    // An invalid name could be a path to another parameter.
    if (!ClusterName.safeParse(name).success) return undefined;
    const entry = await readOne(name, fresh).catch((error: unknown) => {
      throw toParametersError(home, "ssm:GetParameter", error);
    });
    if (entry !== undefined && isFaulty(entry)) throw new ClustersFileError("Invalid", home, entry.faults);
    return entry;
  };
  return Object.assign(byName, {
    all: async () => (await whole("", false)).clusters,
    async named(names: readonly string[]) {
      const store = await options.store();
      const wanted = names.filter((name) => ClusterName.safeParse(name).success).map((name) => path + name);
      const found: Parameter[] = [];
      for (let from = 0; from < wanted.length; from += MAX_NAMES_AT_ONCE) {
        const some = wanted.slice(from, from + MAX_NAMES_AT_ONCE);
        found.push(
          ...(await store.getMany(some).catch((error: unknown) => {
            throw toParametersError(home, "ssm:GetParameters", error);
          })),
        );
      }
      return buildEntries(path, found, allowedSecrets).clusters;
    },
    // A thousand functions that start together would read a thousand lists.
    ahead: async () => [],
  });

  /**
   * Keeps what was read. If a new read fails, the known value still counts, because every action carries its
   * hash.
   */
  function remembered<Value>(
    { random }: Pick<ParametersByNameOptions, "random">,
    keptMs: (value: Value) => number,
    read: (key: string) => Promise<Value>,
  ): (key: string, fresh: boolean) => Promise<Value> {
    const kept = new Map<string, CachedParameter<Value>>();
    // Unknown names are cached separately, so that many of them cannot evict existing clusters.
    const missing = new Map<string, CachedParameter<Value>>();
    const reading = new Map<string, Promise<Value>>();
    return async (key, fresh) => {
      const known = kept.get(key) ?? missing.get(key);
      const asked = now();
      // A time before `readAt` means that the clock was set back: the age of the value is unknown.
      const untilMs = fresh ? (known?.readAt ?? 0) + FRESH_MS : (known?.until ?? 0);
      if (known !== undefined && asked >= known.readAt && asked < untilMs) return known.value;
      const pending = reading.get(key) ?? read(key).finally(() => reading.delete(key));
      reading.set(key, pending);
      try {
        const value = await pending;
        kept.delete(key);
        missing.delete(key);
        const [own, limit] = value === undefined ? [missing, MAX_MISSING] : [kept, MAX_KEPT];
        own.set(key, { value, readAt: asked, until: asked + keptMs(value) * (0.75 + random() / 2) });
        for (const oldest of own.keys()) {
          if (own.size <= limit) break;
          own.delete(oldest);
        }
        return value;
      } catch (error) {
        if (known === undefined) throw error;
        (known.value === undefined ? missing : kept).set(key, {
          ...known,
          readAt: asked,
          until: asked + FRESH_MS,
        });
        return known.value;
      }
    };
  }
}

/**
 * Builds the entries of the parameters under a path that ends with `/`, oldest write first. Each has the name
 * of its parameter.
 */
export function buildEntries(
  path: string,
  parameters: readonly Parameter[],
  allowedSecrets: AllowedSecrets,
): ClustersFile {
  // A list that changes while it is paged may show a parameter twice; the later page is newer.
  const byName = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const byAge = [...byName.values()].sort((a, b) => getModifiedTime(a) - getModifiedTime(b));
  return buildClustersFile(byAge.map((parameter) => parseParameter(path, parameter, allowedSecrets)));
}

/**
 * SSM returns the time of the last write, not of the creation; a parameter without a time counts as the
 * youngest.
 */
function getModifiedTime({ modifiedAt }: Parameter): number {
  return modifiedAt ?? Number.MAX_SAFE_INTEGER;
}

export function parseParameter(
  path: string,
  { name, type, value }: Parameter,
  allowedSecrets: AllowedSecrets,
): Cluster | FaultyEntry {
  const document = `ssm:${name}`;
  const clusterName = name.slice(path.length);
  const check = (cluster: Cluster) => findRefusedReferences(cluster, { allowedSecrets, ownPath: path });
  if (type === "String") return parseEntryDocument({ document, name: clusterName, text: value, check });
  const message = `is a ${type || "parameter without a type"}; an entry holds no secret: write it as a String`;
  return {
    name: clusterName,
    faults: [{ path: "", subject: `cluster ${clusterName}`, document, message }],
  };
}
