import { connectFunction, connectRelay } from "#cli/clusters/connect-identity.ts";
import { createFollowedClusters, type FollowedClusters } from "#cli/relay/follow-clusters.ts";
import type { InProcessFunctionsOptions } from "#cli/run/in-process-functions.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Invoker } from "#platforms/invoker.ts";

/** Connects to a cluster as an identity. */
export type ConnectAs = (cluster: Cluster, role: SignInRole) => Promise<Transport>;

export interface FallbackPartsOptions
  extends Pick<InProcessFunctionsOptions, "log" | "readStop" | "tracer" | "fleetBrake"> {
  readonly connect: ConnectAs;
}

/** What a relay needs to do the work of deployed functions itself. */
export interface FallbackParts {
  readonly followed: FollowedClusters;
  /** The functions in this process, loaded with the first event. */
  readonly inProcess: Invoker;
}

/**
 * Connects with a function's own sign-in if this process can read it, and otherwise with the relay's, whose
 * rights the API server checks.
 */
export function connectAsFunction(addresses: AddressRules): ConnectAs {
  return (cluster, role) =>
    connectFunction(cluster, role, addresses).catch(() => connectRelay(cluster, addresses));
}

/** Creates the fallback, which loads the functions' modules only when they are needed. */
export function createFallbackParts({
  connect,
  log,
  readStop,
  tracer,
  fleetBrake,
}: FallbackPartsOptions): FallbackParts {
  const loading = new Map<"functions", ReturnType<typeof load>>();
  const followed = createFollowedClusters({
    added: (cluster) => void sayLimits(cluster),
    removed: async (name) => (await loading.get("functions")?.catch(() => undefined))?.forget(name),
  });

  async function load() {
    const { createInProcessFunctions } = await import("#cli/run/in-process-functions.ts");
    const { keepForFunctions } = await import("#cli/run/function-resources.ts");
    const kept = keepForFunctions(connect);
    const functions = createInProcessFunctions({
      ...{ clusters: followed.find, api: kept.api, cloud: kept.cloud, log, readStop, tracer, fleetBrake },
    });
    return { ...functions, forget: kept.forget, close: kept.close };
  }

  async function sayLimits(cluster: Cluster): Promise<void> {
    const { findFallbackLimits: fallbackLimits } = await import("#cli/relay/fallback-limits.ts");
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

/** The only supported fallback while the function platform fails. */
const IN_PROCESS = "in-process";

/** Reads `--fallback`: whether the relay handles events itself while the platform fails. */
export function readFallback(flag: string | undefined, faults: ConfigurationFault[]): boolean {
  if (flag === undefined || flag === IN_PROCESS) return flag !== undefined;
  const message = `"${sanitizeText(flag)}" is not a place to handle events; give ${IN_PROCESS}, or leave it out`;
  faults.push({ name: "--fallback", message });
  return false;
}
