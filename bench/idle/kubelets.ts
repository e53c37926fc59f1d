import { setTimeout as sleep } from "node:timers/promises";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";

/** One planned node. */
export interface IdleNode {
  readonly name: string;
  readonly providerID: string;
}

/** Concurrent registrations at one API server. */
const REGISTERING_AT_ONCE = 8;

/** Registers nodes of a kubelet's size: with conditions and as many images as a kubelet lists. */
export async function registerNodes(admin: Transport, nodes: readonly IdleNode[]): Promise<void> {
  const left = nodes.values();
  const worker = async (): Promise<void> => {
    for (const node of left) {
      const answer = await admin.send({ method: "POST", path: "/api/v1/nodes", body: buildNode(node) });
      if (answer.status !== 201)
        throw new Error(`registering ${node.name} answered ${answer.status}: ${answer.body}`);
    }
  };
  await Promise.all(Array.from({ length: REGISTERING_AT_ONCE }, worker));
}

/**
 * Reports the status of every node once in `everySeconds`, evenly spread, until the signal fires; as idle
 * kubelets do.
 */
export async function keepNodes(
  admin: Transport,
  nodes: readonly IdleNode[],
  everySeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const waitMs = (everySeconds * 1000) / nodes.length;
  for (let turn = 0; !signal.aborted; turn += 1) {
    // Clusters with the same start time must not report at the same time.
    await sleep(turn === 0 ? Math.random() * waitMs : waitMs, undefined, { signal }).catch(() => undefined);
    const node = nodes[turn % nodes.length];
    if (node === undefined || signal.aborted) return;
    await sendHeartbeat(admin, node, signal);
  }
}

async function sendHeartbeat(admin: Transport, { name }: IdleNode, signal: AbortSignal): Promise<void> {
  const at = getTimestamp();
  const body = { status: { conditions: CONDITIONS.map(({ type }) => ({ type, lastHeartbeatTime: at })) } };
  const path = `/api/v1/nodes/${name}/status`;
  const contentType = "application/strategic-merge-patch+json";
  const answer = await admin.send({ method: "PATCH", path, body, contentType, signal }).catch((error) => {
    if (!signal.aborted) throw error;
  });
  if (answer !== undefined && answer.status !== 200) {
    throw new Error(`the heartbeat of ${name} answered ${answer.status}: ${answer.body}`);
  }
}

const CONDITIONS = [
  {
    type: "MemoryPressure",
    status: "False",
    reason: "KubeletHasSufficientMemory",
    message: "kubelet has sufficient memory available",
  },
  {
    type: "DiskPressure",
    status: "False",
    reason: "KubeletHasNoDiskPressure",
    message: "kubelet has no disk pressure",
  },
  {
    type: "PIDPressure",
    status: "False",
    reason: "KubeletHasSufficientPID",
    message: "kubelet has sufficient PID available",
  },
  { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" },
];

/** The maximum number of images that a kubelet lists by default. */
const IMAGES = 50;

function buildNode({ name, providerID }: IdleNode): unknown {
  const node = buildJoiningNode({ name, providerID });
  const at = getTimestamp();
  return {
    ...node,
    status: {
      ...node.status,
      conditions: CONDITIONS.map((condition) => ({
        ...condition,
        lastHeartbeatTime: at,
        lastTransitionTime: at,
      })),
      images: Array.from({ length: IMAGES }, (_, index) => buildImage(index)),
    },
  };
}

function buildImage(index: number): unknown {
  const repository = `registry.example.com/platform/component-${index}`;
  const digest = index.toString(16).padStart(64, "0");
  return {
    names: [`${repository}@sha256:${digest}`, `${repository}:v1.${index}.0`],
    sizeBytes: 20_000_000 + index,
  };
}

/** Kubernetes's times have whole seconds. */
function getTimestamp(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
