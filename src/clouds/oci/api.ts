import * as z from "zod";
import { type Api, type ApiRequest, createApi } from "#clouds/http/api.ts";
import { type Budget, createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { OciCloudConfig } from "#clouds/oci/config.ts";
import type { KeySource } from "#clouds/oci/private-key.ts";
import { isNotFound, readErrorAt } from "#clouds/oci/read-error.ts";
import { findRegion, getRealm, getRealmDomain } from "#clouds/oci/regions.ts";
import { signRequests } from "#clouds/oci/sign.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";

/** One host of Oracle's API. Paths begin with the version, such as `/20160918/instances`. */
export interface OciApi extends Api {
  /** Reads all pages of a list; an incomplete list is a fault. */
  list(
    request: Omit<ApiRequest, "method" | "body">,
    callContext: CallContext,
  ): Promise<Outcome<readonly unknown[]>>;
}

/** The hosts that a cluster's cloud calls. Reads and writes each have one budget for all hosts. */
export interface OciApis extends Readonly<Record<OciService, OciApi>> {
  /** Opens a call's share of both budgets and returns a function that closes it. */
  enter(share: number): () => void;
  close(): void;
}

/** Dependencies that tests replace. */
export interface OciApiDependencies {
  readonly clusterName?: string | undefined;
  readonly sleep: Sleep;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly random: () => number;
}

export function createOciApis(
  config: OciCloudConfig,
  key: KeySource,
  dependencies: OciApiDependencies,
): OciApis {
  const { sleep, now, wallClock, random } = dependencies;
  const { auth } = config;
  const { read, write } = buildQuotas(config);
  const budgets = { read: createBudget(read, 0, now), write: createBudget(write, 0, now) };
  const keyId = `${auth.tenancy}/${auth.user}/${auth.fingerprint.toLowerCase()}`;
  const userAgent = `serverless-ccm (${(dependencies.clusterName ?? auth.region).replace(/[^\w.-]/g, "-")})`;
  const readError = readErrorAt(wallClock);
  const hosts = buildBaseUrls(config);
  const clients = new Map([...new Set(Object.values(hosts))].map((url) => [url, createHttpClient(url)]));

  function createHostApi(url: string): OciApi {
    const client = clients.get(url) ?? createHttpClient(url);
    const sign = signRequests({ keyId, key, host: new URL(url).host, wallClock });
    const createWithBudget = (budget: Budget): Api =>
      createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
    const reads = createWithBudget(budgets.read);
    const writes = createWithBudget(budgets.write);
    return {
      get: reads.get,
      send: (request, callContext) =>
        ((request.method ?? "GET") === "GET" ? reads : writes).send(request, callContext),
      list: (request, callContext) => listAll(reads, request, callContext),
    };
  }

  return {
    iaas: createHostApi(hosts.iaas),
    identity: createHostApi(hosts.identity),
    loadBalancer: createHostApi(hosts.loadBalancer),
    networkLoadBalancer: createHostApi(hosts.networkLoadBalancer),
    enter(share) {
      const leaves = Object.values(budgets).map((budget) => budget.enter(share));
      return () => {
        for (const leave of leaves) leave();
      };
    },
    close() {
      for (const client of clients.values()) client.close();
    },
  };
}

/** Oracle does not publish its quotas; this is half of what the stock controller uses. */
const DEFAULT_QUOTA: Quota = { burst: 5, refillPerSecond: 10 };

const NO_LIMIT: Quota = { burst: 1_000, refillPerSecond: 1_000 };

function buildQuotas({ rateLimiter = {} }: OciCloudConfig): { readonly read: Quota; readonly write: Quota } {
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

/** The largest page; the server may return fewer entries. */
const PAGE_SIZE = 500;

/** Maximum pages read. */
const MAX_PAGES = 60;

/** A page in the format of most services, or of newer ones. */
const Page = z.union([
  z.array(z.unknown()),
  z.object({ items: z.array(z.unknown()) }).transform(({ items }) => items),
]);

/**
 * Reads all pages of a list. A short or empty page need not be the last: only the header shows that. An
 * incomplete list is a fault, because absence from it would prove nothing. Oracle also answers "not found"
 * for missing permissions.
 */
async function listAll(
  api: Api,
  request: Omit<ApiRequest, "method" | "body">,
  callContext: CallContext,
): Promise<Outcome<readonly unknown[]>> {
  const { template, path } = request;
  const items: unknown[] = [];
  const readPages = new Set<string>();
  for (let page: string | undefined, count = 0; count < MAX_PAGES; count += 1) {
    const paging = new URLSearchParams({ limit: String(PAGE_SIZE), ...(page === undefined ? {} : { page }) });
    const answer = await api.send(
      { ...request, path: `${path}${path.includes("?") ? "&" : "?"}${paging}` },
      callContext,
    );
    if (answer.kind === "fault") {
      const { message } = answer.fault;
      if (!isNotFound(answer.fault)) return answer;
      const remedy = "check that the listed resource exists, and that a policy lets the user read it";
      return { kind: "fault", fault: { ...answer.fault, code: "Denied", message: `${message}; ${remedy}` } };
    }
    const parsed = Page.safeParse(answer.value.body);
    if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a list`);
    items.push(...parsed.data);
    page = answer.value.headers["opc-next-page"];
    if (page === undefined || page === "") return ok(items);
    if (readPages.has(page))
      return fault("Unavailable", `${template}: the same page is named twice as the next one`);
    readPages.add(page);
  }
  return fault("Unavailable", `${template}: there are more than ${MAX_PAGES} pages`);
}

/** The parts of Oracle's API in use; compute and network share one. */
export type OciService = "iaas" | "identity" | "loadBalancer" | "networkLoadBalancer";

/** Builds the base URL of each: the configured one, else by region and realm. */
export function buildBaseUrls({
  auth,
  endpoints = {},
}: OciCloudConfig): Readonly<Record<OciService, string>> {
  const region = findRegion(auth.region) ?? auth.region;
  const domain = getRealmDomain(getRealm(auth.tenancy)) ?? "oraclecloud.com";
  const iaas = endpoints.iaas ?? `https://iaas.${region}.${domain}`;
  return {
    iaas,
    identity: endpoints.identity ?? `https://identity.${region}.oci.${domain}`,
    loadBalancer: endpoints.loadBalancer ?? iaas,
    networkLoadBalancer:
      endpoints.networkLoadBalancer ?? `https://network-load-balancer-api.${region}.oci.${domain}`,
  };
}
