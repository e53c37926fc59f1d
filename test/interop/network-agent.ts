import { setTimeout as sleep } from "node:timers/promises";
import type { NodeHistory, NodeRecord } from "#emulators/harness/node-history.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The label that an agent of a cluster's network sets, in addition to removing its taint. */
export const AGENT_LABEL = { key: "cni.example.com/pool", value: "default" } as const;

const LOOK_EVERY_MS = 20;

/** A running agent; `stop` resolves when it has ended. */
export interface NetworkAgent {
  stop(): Promise<void>;
}

/**
 * Removes a startup taint from every node as network agents do: it reads the list and writes it whole, at the
 * version that it read. Half of the nodes lose it at once, the others when they have addresses, which is
 * between our two writes.
 */
export function startNetworkAgent(history: NodeHistory, admin: Transport, taintKey: string): NetworkAgent {
  let stopped = false;
  const isDue = ({ name, deleted, latest }: NodeRecord): boolean => {
    if (deleted || !latest.spec.taints?.some(({ key }) => key === taintKey)) return false;
    const isHasty = Number(/-(\d+)\./.exec(name)?.[1]) % 2 === 0;
    return isHasty || (latest.status.addresses ?? []).some(({ type }) => type === "InternalDNS");
  };
  const release = async ({ name, latest }: NodeRecord): Promise<void> => {
    const taints = latest.spec.taints?.filter(({ key }) => key !== taintKey) ?? [];
    const { resourceVersion } = latest.metadata;
    await admin
      .send({
        method: "PATCH",
        path: `/api/v1/nodes/${name}?fieldManager=network-agent`,
        contentType: "application/merge-patch+json",
        body: {
          metadata: { resourceVersion, labels: { [AGENT_LABEL.key]: AGENT_LABEL.value } },
          spec: { taints },
        },
      })
      // After a conflict or a missing server it tries again.
      .catch(() => undefined);
  };
  const work = async (): Promise<void> => {
    while (!stopped) {
      await Promise.all([...history.records.values()].filter(isDue).map(release));
      await sleep(LOOK_EVERY_MS);
    }
  };
  const working = work();
  return {
    stop: async () => {
      stopped = true;
      await working;
    },
  };
}
