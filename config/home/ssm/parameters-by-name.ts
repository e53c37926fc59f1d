import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, ClustersFileError, isFaulty } from "#config/clusters-file.ts";
import type { AllowedSecrets } from "#config/home/entry-references.ts";
import type { ClustersOfHome } from "#config/home/home.ts";
import { entriesOfParameters, entryOfParameter } from "#config/home/ssm/entries-of-parameters.ts";
import { MAX_NAMES_AT_ONCE, type Parameter, type ParameterStore } from "#config/home/ssm/parameter-store.ts";
import { parametersError } from "#config/home/ssm/parameters-error.ts";
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

/** What was read is good for so long, a quarter more or less, so that functions that started together do not go on asking together. */
const KEPT_MS = 30_000;
/** All clusters take a request for ten of them, of a quota that the account shares: 1,000 and more are listed every other minute. */
const KEPT_OF_CLUSTER_MS = 120;
const LONGEST_KEPT_MS = 120_000;
/** Whoever wants to have it read anew gets what was read so short a time ago: events that name a wrong hash cost no more than this. */
const FRESH_MS = 1_000;
const MAX_KEPT = 1_000;
const MAX_MISSING = 100;

interface Kept<Value> {
  readonly value: Value;
  readonly readAt: number;
  readonly until: number;
}

/** The clusters of parameters as a warm function reads them: the one of an event by its name, all of them for a sweep. */
export function parametersByName(options: ParametersByNameOptions): ClustersOfHome {
  const { home, path, allowedSecrets, now } = options;
  const one = remembered(
    options,
    () => KEPT_MS,
    async (name) => {
      const parameter = await (await options.store()).get(`${path}${name}`);
      return parameter === undefined ? undefined : entryOfParameter(path, parameter, allowedSecrets);
    },
  );
  const keptMsOfAll = ({ clusters, faulty }: ClustersFile): number =>
    Math.min(LONGEST_KEPT_MS, Math.max(KEPT_MS, (clusters.length + faulty.length) * KEPT_OF_CLUSTER_MS));
  const whole = remembered(options, keptMsOfAll, options.readAll);

  const byName = async (name: string, { fresh = false } = {}): Promise<Cluster | undefined> => {
    // What is no name is a path to somewhere else.
    if (!ClusterName.safeParse(name).success) return undefined;
    const entry = await one(name, fresh).catch((error: unknown) => {
      throw parametersError(home, "ssm:GetParameter", error);
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
            throw parametersError(home, "ssm:GetParameters", error);
          })),
        );
      }
      return entriesOfParameters(path, found, allowedSecrets).clusters;
    },
    // A thousand functions that start at once would ask for a thousand lists.
    ahead: async () => [],
  });

  /** Keeps what was read; where it cannot be read anew, what is known still counts: what is done by it carries its hash. */
  function remembered<Value>(
    { random }: Pick<ParametersByNameOptions, "random">,
    keptMs: (value: Value) => number,
    read: (key: string) => Promise<Value>,
  ): (key: string, fresh: boolean) => Promise<Value> {
    const kept = new Map<string, Kept<Value>>();
    // Names that nobody has written down are kept apart, or whoever asks for many would push out what there is.
    const missing = new Map<string, Kept<Value>>();
    const reading = new Map<string, Promise<Value>>();
    return async (key, fresh) => {
      const known = kept.get(key) ?? missing.get(key);
      const asked = now();
      // Before `readAt`: the machine's clock was set back, and how old the value is cannot be told.
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
