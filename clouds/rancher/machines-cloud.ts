import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { checked } from "#clouds/http/checked.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { answerOf } from "#clouds/http/outcome.ts";
import type { ManagementServer } from "#clouds/rancher/kind.ts";
import { createMachines } from "#clouds/rancher/list-machines.ts";
import {
  indexOf,
  MACHINE_ACCOUNT,
  type MachineIndex,
  machineOf,
  networkOf,
} from "#clouds/rancher/machine-of.ts";
import { nodeAnswer } from "#clouds/rancher/node-answer.ts";
import type { Distribution } from "#clouds/rancher/node-keys.ts";
import type { InstanceAnswer, PositiveControl } from "#core/instance.ts";
import { messageOf } from "#core/message-of.ts";
import type { Node } from "#core/node/node.ts";
import { seenInstance } from "#core/node-lifecycle/identity.ts";

/** What nodes of K3s and RKE2 are told by, where Rancher is asked. */
export interface MachinesCloudParts {
  readonly api: Api;
  readonly budget: Budget;
  readonly distribution: Distribution;
  readonly server: Pick<ManagementServer, "cluster" | "namespace">;
  /** For how long a list is believed of what it shows; never of what it does not. */
  readonly maxListAgeMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  close(): void;
}

/** Answers by the nodes themselves, and by one list of the cluster's Machines for a batch which of them are gone. */
export function createMachinesCloud(parts: MachinesCloudParts): Cloud {
  const { api, budget, server, maxListAgeMs, now } = parts;
  const machines = createMachines(api, server);
  let recent: { readonly at: number; readonly index: MachineIndex } | undefined;

  const known = (nodes: readonly Node[]): MachineIndex | undefined => {
    if (recent === undefined || now() - recent.at >= maxListAgeMs) return undefined;
    const { index } = recent;
    return nodes.every((node) => machineOf(node, index, server).kind === "machine") ? index : undefined;
  };

  const answersTo = async (nodes: readonly Node[], turn: Turn, isControlWanted: boolean) => {
    let index = known(nodes);
    if (index === undefined) {
      const at = now();
      const listed = await machines.list(turn);
      if (listed.kind === "fault") return nodes.map((node) => answerOf(listed.fault, subjectOf(node)));
      index = indexOf(listed.value);
      recent = { at, index };
    }
    const seen = index;
    return nodes.map((node) => answerFor(node, seen, parts, isControlWanted));
  };

  return {
    provider: "rancher",
    async instances(nodes, { signal, share, control = false, onRequest }: CloudCall) {
      const meter = createMeter(onRequest);
      if (nodes.length === 0 || signal.aborted)
        return { answers: nodes.map(() => ABORTED), usage: meter.usage() };
      const leave = budget.enter(share);
      try {
        return { answers: await answersTo(nodes, { signal, meter }, control), usage: meter.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        const message = `Rancher: ${messageOf(error)}`;
        return { answers: nodes.map(() => unavailable(message)), usage: meter.usage() };
      } finally {
        leave();
      }
    },
    checkConfiguration: async (signal) => checked(await machines.check({ signal, meter: createMeter() })),
    async close() {
      parts.close();
    },
  };
}

function answerFor(
  node: Node,
  index: MachineIndex,
  { distribution, server }: MachinesCloudParts,
  isControlWanted: boolean,
): InstanceAnswer {
  const match = machineOf(node, index, server);
  const subject = subjectOf(node);
  switch (match.kind) {
    case "fault":
      return answerOf(match.fault, subject);
    case "none":
      return nodeAnswer(node, distribution);
    case "machine":
      return withMachine(nodeAnswer(node, distribution), networkOf(server, match.machine.metadata.uid));
    case "gone": {
      const control = isControlWanted ? findControl(node, index, distribution, server) : undefined;
      const message = `${subject}: cluster ${server.cluster} has no Machine ${match.uid} any more`;
      const successor = match.successor?.metadata.name;
      return {
        kind: "not-found",
        message,
        ...(control === undefined ? {} : { control }),
        ...(successor === undefined ? {} : { takenOverBy: successor }),
      };
    }
  }
}

function withMachine(answer: InstanceAnswer, network: string): InstanceAnswer {
  if (answer.kind !== "found") return answer;
  return { kind: "found", instance: { ...answer.instance, account: MACHINE_ACCOUNT, network } };
}

/** A Machine of the cluster that is there to stay; in a cluster that is taken down as a whole there is none. */
function findControl(
  node: Node,
  { all }: MachineIndex,
  distribution: Distribution,
  server: MachinesCloudParts["server"],
): PositiveControl | undefined {
  const id = all.find(({ metadata }) => !metadata.deletionTimestamp)?.metadata.name;
  if (id === undefined) return undefined;
  // A node that was seen before Rancher was asked says of its place nothing but the distribution.
  const isSeenWithout = seenInstance(node)?.account === distribution;
  return { id, account: isSeenWithout ? distribution : MACHINE_ACCOUNT, network: networkOf(server, "-") };
}

function subjectOf({ metadata }: Node): string {
  return `node ${metadata.name}`;
}

function unavailable(message: string): InstanceAnswer {
  return { kind: "error", code: "Unavailable", message };
}

const ABORTED: InstanceAnswer = {
  kind: "error",
  code: "Aborted",
  message: "aborted before Rancher was asked",
};
