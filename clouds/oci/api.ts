import { type Api, type ApiRequest, createApi, type Turn } from "#clouds/http/api.ts";
import { type Budget, createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { hostsOf, type OciService } from "#clouds/oci/hosts.ts";
import type { OciCloudConfig } from "#clouds/oci/kind.ts";
import { listAll } from "#clouds/oci/list-all.ts";
import type { KeySource } from "#clouds/oci/private-key.ts";
import { readErrorAt } from "#clouds/oci/read-error.ts";
import { signRequests } from "#clouds/oci/sign.ts";
import type { Sleep } from "#clouds/sleep.ts";

/** One host of Oracle's API. Paths begin with the version, such as `/20160918/instances`. */
export interface OciApi extends Api {
  /** All that a list shows, over all pages; a list that is not whole is a fault. */
  list(request: Omit<ApiRequest, "method" | "body">, turn: Turn): Promise<Outcome<readonly unknown[]>>;
}

/** The hosts that a cluster's cloud talks to. What is read and what is written has a budget each, over all of them. */
export interface OciApis extends Readonly<Record<OciService, OciApi>> {
  /** Opens a call's share of both budgets; returns what closes it. */
  enter(share: number): () => void;
  close(): void;
}

/** What comes from outside. */
export interface OciApiWorld {
  readonly clusterName?: string | undefined;
  readonly sleep: Sleep;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly random: () => number;
}

export function createOciApis(config: OciCloudConfig, key: KeySource, world: OciApiWorld): OciApis {
  const { sleep, now, wallClock, random } = world;
  const { auth } = config;
  const { read, write } = quotasOf(config);
  const budgets = { read: createBudget(read, 0, now), write: createBudget(write, 0, now) };
  const keyId = `${auth.tenancy}/${auth.user}/${auth.fingerprint.toLowerCase()}`;
  const userAgent = `serverless-ccm (${(world.clusterName ?? auth.region).replace(/[^\w.-]/g, "-")})`;
  const readError = readErrorAt(wallClock);
  const hosts = hostsOf(config);
  const clients = new Map([...new Set(Object.values(hosts))].map((url) => [url, createHttpClient(url)]));

  function apiOf(url: string): OciApi {
    const client = clients.get(url) ?? createHttpClient(url);
    const sign = signRequests({ keyId, key, host: new URL(url).host, wallClock });
    const within = (budget: Budget): Api =>
      createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
    const reads = within(budgets.read);
    const writes = within(budgets.write);
    return {
      get: reads.get,
      send: (request, turn) => ((request.method ?? "GET") === "GET" ? reads : writes).send(request, turn),
      list: (request, turn) => listAll(reads, request, turn),
    };
  }

  return {
    iaas: apiOf(hosts.iaas),
    identity: apiOf(hosts.identity),
    loadBalancer: apiOf(hosts.loadBalancer),
    networkLoadBalancer: apiOf(hosts.networkLoadBalancer),
    enter(share) {
      const left = Object.values(budgets).map((budget) => budget.enter(share));
      return () => {
        for (const leave of left) leave();
      };
    },
    close() {
      for (const client of clients.values()) client.close();
    },
  };
}

/** Oracle does not say what it allows; this is half of what the stock controller takes. */
const DEFAULT_QUOTA: Quota = { burst: 5, refillPerSecond: 10 };
const NO_LIMIT: Quota = { burst: 1_000, refillPerSecond: 1_000 };

function quotasOf({ rateLimiter = {} }: OciCloudConfig): { readonly read: Quota; readonly write: Quota } {
  if (rateLimiter.disableRateLimiter) return { read: NO_LIMIT, write: NO_LIMIT };
  const { burst, refillPerSecond } = DEFAULT_QUOTA;
  return {
    read: {
      burst: rateLimiter.rateLimitBucketRead ?? burst,
      refillPerSecond: rateLimiter.rateLimitQPSRead ?? refillPerSecond,
    },
    write: {
      burst: rateLimiter.rateLimitBucketWrite ?? burst,
      refillPerSecond: rateLimiter.rateLimitQPSWrite ?? refillPerSecond,
    },
  };
}
