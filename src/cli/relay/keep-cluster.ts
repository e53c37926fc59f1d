import { isDeepStrictEqual } from "node:util";
import { describeSignInFailure } from "#cli/clusters/connect-identity.ts";
import type { Cluster } from "#config/cluster.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";
import type { NotFollowedReason } from "#relay/cluster-state.ts";
import type { Relay } from "#relay/relay.ts";

/** The dependencies of keeping clusters in line with a file. */
export interface KeepClusterOptions {
  readonly relay: Pick<Relay, "add" | "remove" | "setConfigurationFault">;
  /** Connects to the cluster; rejects if its sign-in cannot be used. */
  readonly connect: (cluster: Cluster) => Promise<Transport>;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Nothing is connected or added after it fires. */
  readonly signal: AbortSignal;
  /**
   * The first delay before an unusable sign-in is retried, in milliseconds; doubled each time, up to a
   * minute.
   */
  readonly retryMs?: number;
}

/** Keeps one cluster of the relay in its desired state. */
export interface RelayClusterKeeper {
  /**
   * Sets the cluster's entry; undefined if it has none any more. Resolves when that state is reached or
   * replaced.
   */
  setDesiredState(cluster: Cluster | undefined): Promise<void>;
  /** Reports that the entry is faulty; the previous state stays. */
  setEntryFault(fault: NotFollowedReason): void;
}

/** The time limit of draining; a function's own timeout is 30 s. */
const DRAIN_TIMEOUT_MS = 35_000;

const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Keeps the cluster of a name. After a change of its entry, the old connection is used until the new sign-in
 * works. The cluster is never followed twice: what is in flight finishes in between.
 */
export function keepCluster(
  name: string,
  options: KeepClusterOptions,
  already: Cluster | undefined,
): RelayClusterKeeper {
  const { relay, log } = options;
  let followed = already;
  let wish = new AbortController();
  let turn: Promise<void> = Promise.resolve();
  let entryFault: NotFollowedReason | undefined;
  let signInFault: NotFollowedReason | undefined;

  const publish = (): void => relay.setConfigurationFault(name, entryFault ?? signInFault);

  function setSignInFault(fault: NotFollowedReason | undefined): void {
    const isNews = fault !== undefined && fault.message !== signInFault?.message;
    if (isNews) log({ level: "error", event: "SignInUnusable", cluster: name, ...fault });
    signInFault = fault;
    publish();
  }

  /** Resolves to undefined if the desired state changed meanwhile. */
  async function connected(cluster: Cluster, signal: AbortSignal): Promise<Transport | undefined> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        return await options.connect(cluster);
      } catch (error) {
        if (signal.aborted) break;
        setSignInFault(describeSignInFailure(error));
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
    const message = getErrorMessage(error);
    log({ level: "error", event: "ClusterFailed", cluster: name, message });
  }

  return {
    setDesiredState(cluster) {
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
