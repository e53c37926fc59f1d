import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { selectSignInKey, signIn } from "#config/sign-in.ts";
import { setNewest } from "#core/bounded-map.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";
import type { Transport } from "#kube/client/transport.ts";

/** How much a process caches for its clusters, and when it closes what no longer fits. */
export interface CacheLimits {
  /** Limit of clusters. */
  readonly most: number;
  /**
   * Milliseconds until an evicted value is closed: longer than an invocation, if several run at a time and one may
   * still use it. Default: at once.
   */
  readonly discardAfterMs?: number;
}

/** The connections cached by a warm function. */
export interface ConnectionCacheOptions extends CacheLimits {
  /** The role that signs in. */
  readonly role: SignInRole;
  /**
   * Whether answers are only those to writes and single reads, bounded by the cluster's limit for these;
   * lists have their own limits.
   */
  readonly answersAlone: boolean;
  /** The addresses that API servers may have. Default: any. */
  readonly judgeAddress?: JudgeAddress | undefined;
}

/**
 * Returns a cached connection to a cluster's API server, one for each sign-in; rejects if the sign-in fails.
 */
export function createConnectionCache(
  options: ConnectionCacheOptions,
): (cluster: Cluster) => Promise<Transport> {
  const kept = createBoundedCache<Transport>(options, (transport) => transport.close());
  return (cluster) => {
    const bounds = options.answersAlone ? selectBounds(cluster) : {};
    return kept.get(formatConnectionKey(cluster, options.role, bounds), async () =>
      connect({
        server: cluster.server,
        judgeAddress: options.judgeAddress,
        ...(await signIn(cluster, options.role)),
        ...bounds,
      }),
    );
  };
}

type Bounds = Pick<ConnectOptions, "maxBodyBytes" | "maxWriteBodyBytes">;

function selectBounds({ limits: { answerBytes } }: Cluster): Bounds {
  return { maxBodyBytes: answerBytes, maxWriteBodyBytes: answerBytes };
}

function formatConnectionKey(cluster: Cluster, role: SignInRole, bounds: Bounds): string {
  const { name, server, tlsServerName, certificateAuthorityFile, certificateAuthorityData } = cluster;
  const key = selectSignInKey(cluster, role);
  const signInMethod = key === undefined ? undefined : cluster.signIn[key];
  const authority = [certificateAuthorityFile, certificateAuthorityData];
  return JSON.stringify([name, server, tlsServerName, ...authority, bounds, signInMethod]);
}

/** A cache of the last used values by key; `discard` receives each evicted value. */
interface BoundedCache<Value> {
  /** Returns the value of the key, created on first use. A failed creation is not cached. */
  get(key: string, make: () => Promise<Value>): Promise<Value>;
}

/** Creates a cache for what a warm function keeps, such as connections and clouds. */
export function createBoundedCache<Value>(
  { most, discardAfterMs = 0 }: CacheLimits,
  discard: (value: Value) => Promise<void>,
): BoundedCache<Value> {
  const values = new Map<string, Promise<Value>>();
  return {
    get(key, make) {
      const value = values.get(key) ?? make();
      const evicted = setNewest(values, key, value, most);
      value.catch(() => {
        if (values.get(key) === value) values.delete(key);
      });
      // A value that cannot be closed is already closed.
      for (const each of evicted) {
        const end = (): void => void each.then(discard).catch(() => undefined);
        if (discardAfterMs === 0) end();
        else setTimeout(end, discardAfterMs).unref();
      }
      return value;
    },
  };
}
