import { setTimeout as sleep } from "node:timers/promises";
import type { NodeHistory, NodeRecord } from "#emulators/harness/node-history.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What an agent of a cluster's network leaves on a node, beside taking its taint off. */
export const AGENT_LABEL = { key: "cni.example.com/pool", value: "default" } as const;

const LOOK_EVERY_MS = 20;

/** An agent at work; `stop` resolves when it has ended. */
export interface NetworkAgent {
  stop(): Promise<void>;
}

/**
 * Takes a startup taint off every node as the agents of networks do: reads the list, and writes it whole without the taint, as
 * it was read at. Of half of the nodes as soon as they are seen, of the others as soon as their addresses are there, which is
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
      // A conflict, or a server that is gone for a moment: it looks again.
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
