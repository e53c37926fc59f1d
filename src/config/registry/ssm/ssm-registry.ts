import { type ClustersFile, ClustersFileError } from "#config/clusters-file.ts";
import { createOwnershipGuard } from "#config/ownership.ts";
import { type AllowedSecrets, NO_SECRETS } from "#config/registry/entry-references.ts";
import type { ClusterRegistry, FollowRegistryOptions } from "#config/registry/registry.ts";
import { buildEntries, createParameterReader } from "#config/registry/ssm/parameter-reader.ts";
import {
  createNoParametersError,
  listParameters,
  type ParameterStore,
  toParametersError,
} from "#config/registry/ssm/parameter-store.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";

/** The dependencies of the registry. */
export interface SsmRegistryOptions {
  /** Without it, only secrets below the registry's own path. */
  readonly allowedSecrets?: AllowedSecrets;
  /** Created on first use. */
  readonly store?: () => Promise<ParameterStore>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/**
 * Parses the path of an SSM registry, `ssm:/serverless-ccm/clusters/`, with `/` at its end. Undefined for
 * other references.
 */
export function parseSsmPath(reference: string): string | undefined {
  const path = /^ssm:((?:\/[\w.-]+)+)\/?$/.exec(reference)?.[1];
  return path === undefined || /^\/(aws|ssm)/i.test(path) ? undefined : `${path}/`;
}

/**
 * Creates a registry from the SSM parameters directly under a path. Each parameter is one entry with the
 * cluster's name.
 */
export function createSsmRegistry(path: string, options: SsmRegistryOptions = {}): ClusterRegistry {
  const registry = `ssm:${path}`;
  const { allowedSecrets = NO_SECRETS, now = Date.now, random = Math.random } = options;
  let opened: Promise<ParameterStore> | undefined;
  const store = (): Promise<ParameterStore> => {
    opened ??= (options.store ?? openStore)();
    return opened;
  };

  const { hold } = createOwnershipGuard();
  async function read(signal?: AbortSignal): Promise<ClustersFile> {
    const parameters = await store()
      .then((opened) => listParameters(opened, path, signal))
      .catch((error: unknown) => {
        throw toParametersError(registry, "ssm:GetParametersByPath", error);
      });
    if (parameters.length === 0) throw createNoParametersError(registry);
    return buildEntries(path, parameters, allowedSecrets);
  }

  return {
    kind: "ssm",
    name: registry,
    read: async (signal) => hold(await read(signal)),
    follow: (following) =>
      followParameters({ ...following, read, onContent: (content) => following.onContent(hold(content)) }),
    byName() {
      const guard = createOwnershipGuard();
      const readAll = async () => guard.hold(await read());
      return createParameterReader({ home: registry, path, allowedSecrets, store, readAll, now, random });
    },
  };
}

async function openStore(): Promise<ParameterStore> {
  const { createParameterStore } = await import("#platforms/aws/parameter-store.ts");
  return createParameterStore();
}

interface FollowParametersOptions extends FollowRegistryOptions {
  readonly read: (signal: AbortSignal) => Promise<ClustersFile>;
}

/** All callers in an account share SSM's quota. */
const INTERVAL_MS = 30_000;

/**
 * A page holds ten clusters and adds to the interval, so a thousand clusters are listed every 80 s instead of
 * every 30 s.
 */
const INTERVAL_OF_PAGE_MS = 800;

const PAGE = 10;

/** Milliseconds until a missing cluster is looked up once more before it counts as missing. */
const CONFIRM_MS = 5_000;

/** Longest interval between reads while they fail. */
const LONGEST_INTERVAL_MS = 5 * 60_000;

/**
 * Follows parameters until the signal fires. A new or changed parameter counts at once. A missing one counts
 * only if two complete lists in a row lack it. A failed read changes nothing and lengthens the interval.
 */
async function followParameters(options: FollowParametersOptions): Promise<void> {
  const { signal, clock = systemClock, random = Math.random, intervalMs = INTERVAL_MS } = options;
  const missing = keepMissing();
  let said = "";
  let failures = 0;
  let pages = 1;
  let wake = new AbortController();
  const end = (): void => wake.abort();
  const unsubscribe = options.onReread?.(() => {
    said = "";
    wake.abort();
  });
  signal.addEventListener("abort", end);
  while (!signal.aborted) {
    wake = new AbortController();
    const soonerMs = await look();
    const usualMs = Math.max(intervalMs, pages * INTERVAL_OF_PAGE_MS);
    const waitMs = soonerMs ?? usualMs * 2 ** Math.min(failures, 10);
    // After the signal has fired, nothing would end a pause.
    if (signal.aborted) break;
    await pause(clock, Math.min(LONGEST_INTERVAL_MS, waitMs) * (0.75 + random() / 2), wake.signal);
  }
  signal.removeEventListener("abort", end);
  unsubscribe?.();

  /** Returns the milliseconds to the next read if it is sooner than usual. */
  async function look(): Promise<number | undefined> {
    try {
      const read = await options.read(signal);
      if (signal.aborted) return undefined;
      failures = 0;
      pages = Math.ceil((read.clusters.length + read.faulty.length) / PAGE);
      const { content, isDoubted } = missing.take(read);
      const text = JSON.stringify(content);
      if (text !== said) options.onContent(content);
      said = text;
      return isDoubted ? Math.min(CONFIRM_MS, intervalMs) : undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof ClustersFileError)) throw error;
      failures += 1;
      if (said !== error.message) options.onError(error);
      said = error.message;
      return undefined;
    }
  }
}

/** The last content, which keeps a missing entry until two reads in a row lack it. */
interface MissingEntryCache {
  take(read: ClustersFile): { readonly content: ClustersFile; readonly isDoubted: boolean };
}

/**
 * Keeps entries that are missing for the first time: an eventually consistent store may not list all of them.
 */
function keepMissing(): MissingEntryCache {
  let last: ClustersFile = { clusters: [], faulty: [] };
  let doubted: ReadonlySet<string> = new Set();
  return {
    take(read) {
      const names = new Set([...read.clusters, ...read.faulty].flatMap(({ name }) => name ?? []));
      const isMissing = ({ name }: { readonly name: string | undefined }): boolean =>
        name !== undefined && !names.has(name) && !doubted.has(name);
      const [clusters, faulty] = [last.clusters.filter(isMissing), last.faulty.filter(isMissing)];
      doubted = new Set([...clusters, ...faulty].flatMap(({ name }) => name ?? []));
      last = { clusters: [...read.clusters, ...clusters], faulty: [...read.faulty, ...faulty] };
      return { content: last, isDoubted: doubted.size > 0 };
    },
  };
}
