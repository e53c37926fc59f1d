import { Node } from "#core/node/node.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The number of concurrent registrations; a burst is as dense as the API server accepts. */
const REGISTRATIONS_AT_ONCE = 24;

/** A machine of the demo: the node name of its kubelet, and its instance. */
export interface Machine {
  readonly name: string;
  readonly providerID: string;
}

/**
 * Registers the machines as kubelets do, in order. `onRegistered` is called after each with the count so far.
 */
export async function registerNodes(
  admin: Transport,
  machines: readonly Machine[],
  onRegistered: (count: number) => Promise<void> | void = () => {},
): Promise<void> {
  let next = 0;
  let registered = 0;
  const register = async (): Promise<void> => {
    for (let machine = machines[next++]; machine !== undefined; machine = machines[next++]) {
      await registerNode(admin, machine);
      registered += 1;
      await onRegistered(registered);
    }
  };
  await Promise.all(Array.from({ length: REGISTRATIONS_AT_ONCE }, register));
}

/** Registers one machine and returns the node as the API server stores it. */
export async function registerNode(admin: Transport, machine: Machine): Promise<Node> {
  const answer = await admin.send({ method: "POST", path: "/api/v1/nodes", body: buildJoiningNode(machine) });
  if (answer.status !== 201) {
    throw new Error(
      `registering ${machine.name} was answered ${answer.status}: ${answer.body.slice(0, 300)}`,
    );
  }
  return Node.parse(JSON.parse(answer.body));
}

/**
 * The allowed number of nodes for a burst: enough for the failures of the third act, and few enough to watch.
 */
export const MIN_NODES = 130;

export const MAX_NODES = 2_000;
