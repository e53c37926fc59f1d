import { connectFunction } from "#cli/connect-identity.ts";
import { connectRelay } from "#cli/connect-relay.ts";
import { createFollowedClusters, type FollowedClusters } from "#cli/followed-clusters.ts";
import type { InProcessFunctionsOptions } from "#cli/in-process-functions.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in.ts";
import type { Invoker } from "#delivery/invoker.ts";
import type { Transport } from "#kube/client/transport.ts";

/** Connects to a cluster as somebody. */
export type ConnectAs = (cluster: Cluster, role: SignInRole) => Promise<Transport>;

export interface FallbackPartsOptions
  extends Pick<InProcessFunctionsOptions, "log" | "stopOf" | "tracer" | "fleetBrake"> {
  readonly connect: ConnectAs;
}

/** What a relay has to do the work of deployed functions by itself. */
export interface FallbackParts {
  readonly followed: FollowedClusters;
  /** The same functions in this process, which are loaded with the first event. */
  readonly inProcess: Invoker;
}

/** A function's own sign-in where this process can read it, and the relay's else: the API server knows what that may do. */
export function connectAsFunction(addresses: AddressRules): ConnectAs {
  return (cluster, role) =>
    connectFunction(cluster, role, addresses).catch(() => connectRelay(cluster, addresses));
}

/** Loads nothing that functions are made of until they are needed. */
export function createFallbackParts({
  connect,
  log,
  stopOf,
  tracer,
  fleetBrake,
}: FallbackPartsOptions): FallbackParts {
  const loading = new Map<"functions", ReturnType<typeof load>>();
  const followed = createFollowedClusters({
    added: (cluster) => void sayLimits(cluster),
    removed: async (name) => (await loading.get("functions")?.catch(() => undefined))?.forget(name),
  });

  async function load() {
    const { createInProcessFunctions } = await import("#cli/in-process-functions.ts");
    const { keepForFunctions } = await import("#cli/kept-for-functions.ts");
    const kept = keepForFunctions(connect);
    const functions = createInProcessFunctions({
      ...{ clusters: followed.find, api: kept.api, cloud: kept.cloud, log, stopOf, tracer, fleetBrake },
    });
    return { ...functions, forget: kept.forget, close: kept.close };
  }

  async function sayLimits(cluster: Cluster): Promise<void> {
    const { fallbackLimits } = await import("#cli/fallback-limits.ts");
    const message = await fallbackLimits(cluster, connect);
    if (message !== undefined)
      log({ level: "warn", event: "FallbackLimited", cluster: cluster.name, message });
  }

  return {
    followed,
    inProcess: {
      async invoke(event, signal) {
        const functions = loading.get("functions") ?? load();
        loading.set("functions", functions);
        return (await functions).invoke(event, signal);
      },
      close: async () => void (await (await loading.get("functions")?.catch(() => undefined))?.close()),
    },
  };
}
