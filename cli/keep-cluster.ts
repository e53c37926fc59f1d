import { isDeepStrictEqual } from "node:util";
import { signInFaultOf } from "#cli/connect-relay.ts";
import type { Cluster } from "#config/cluster.ts";
import { messageOf } from "#core/message-of.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";
import type { ConfigurationFault } from "#relay/followed-cluster.ts";
import type { Relay } from "#relay/relay.ts";

/** What keeping clusters in line with a file takes. */
export interface KeepClusterOptions {
  readonly relay: Pick<Relay, "add" | "remove" | "setConfigurationFault">;
  /** Rejects where the cluster's sign-in cannot be used. */
  readonly connect: (cluster: Cluster) => Promise<Transport>;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Nothing is connected or added any more once it fires. */
  readonly signal: AbortSignal;
  /** Milliseconds until a sign-in that cannot be used is tried again, at first; doubled each time, up to a minute. */
  readonly retryMs?: number;
}

/** Keeps one cluster of the relay in line with what is wanted of it. */
export interface KeptCluster {
  /** What the cluster's entry says; undefined where it has none any more. Resolves when that is so, or is overtaken. */
  want(cluster: Cluster | undefined): Promise<void>;
  /** The entry is faulty: what was wanted before goes on. */
  setEntryFault(fault: ConfigurationFault): void;
}

/** How long what is in flight may take to finish; a function's own time-out is 30 s. */
const DRAIN_TIMEOUT_MS = 35_000;

const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Keeps the cluster of a name. A cluster whose entry changed is followed as before until the new sign-in can be used, and
 * is never followed twice: what is in flight finishes in between.
 */
export function keepCluster(
  name: string,
  options: KeepClusterOptions,
  already: Cluster | undefined,
): KeptCluster {
  const { relay, log } = options;
  let followed = already;
  let wish = new AbortController();
  let turn: Promise<void> = Promise.resolve();
  let entryFault: ConfigurationFault | undefined;
  let signInFault: ConfigurationFault | undefined;

  const publish = (): void => relay.setConfigurationFault(name, entryFault ?? signInFault);

  function setSignInFault(fault: ConfigurationFault | undefined): void {
    const isNews = fault !== undefined && fault.message !== signInFault?.message;
    if (isNews) log({ level: "error", event: "SignInUnusable", cluster: name, ...fault });
    signInFault = fault;
    publish();
  }

  /** Resolves to undefined where something else is wanted meanwhile. */
  async function connected(cluster: Cluster, signal: AbortSignal): Promise<Transport | undefined> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        return await options.connect(cluster);
      } catch (error) {
        if (signal.aborted) break;
        setSignInFault(signInFaultOf(error));
        const waitMs = Math.min(
          LONGEST_RETRY_MS,
          (options.retryMs ?? RETRY_MS) * 2 ** Math.min(failures, 20),
        );
        await pause(systemClock, waitMs * (0.75 + Math.random() / 4), signal);
      }
    }
    return undefined;
  }

  async function leave(): Promise<void> {
    await relay.remove(name, AbortSignal.timeout(DRAIN_TIMEOUT_MS));
    followed = undefined;
  }

  async function converge(cluster: Cluster | undefined, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    if (isDeepStrictEqual(cluster, followed)) return setSignInFault(undefined);
    if (cluster === undefined) {
      setSignInFault(undefined);
      await leave();
      log({ level: "info", event: "ClusterRemoved", cluster: name });
      return;
    }
    const transport = await connected(cluster, signal);
    if (transport === undefined) return;
    const event = followed === undefined ? "ClusterAdded" : "ClusterChanged";
    if (followed !== undefined && !signal.aborted) await leave();
    if (signal.aborted) return transport.close();
    setSignInFault(undefined);
    relay.add({ cluster, transport });
    followed = cluster;
    log({ level: "info", event, cluster: name });
  }

  function failed(error: unknown): void {
    const message = messageOf(error);
    log({ level: "error", event: "ClusterFailed", cluster: name, message });
  }

  return {
    want(cluster) {
      wish.abort();
      wish = new AbortController();
      const signal = AbortSignal.any([wish.signal, options.signal]);
      entryFault = undefined;
      publish();
      turn = turn.then(() => converge(cluster, signal)).catch(failed);
      return turn;
    },
    setEntryFault(fault) {
      entryFault = fault;
      publish();
    },
  };
}
