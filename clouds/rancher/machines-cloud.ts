import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import type { Api } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import { toConfigurationCheck } from "#clouds/http/configuration-check.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { toErrorAnswer } from "#clouds/http/outcome.ts";
import type { ManagementServer } from "#clouds/rancher/config.ts";
import {
  findMachine,
  formatNetwork,
  indexMachines,
  MACHINE_ACCOUNT,
  type MachineIndex,
} from "#clouds/rancher/find-machine.ts";
import { createMachines } from "#clouds/rancher/list-machines.ts";
import { buildNodeAnswer } from "#clouds/rancher/node-answer.ts";
import type { Distribution } from "#clouds/rancher/node-keys.ts";
import { getErrorMessage } from "#core/error-message.ts";
import type { InstanceAnswer, VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { parseObservedInstance } from "#core/node-lifecycle/identity.ts";

/** Inputs of a cloud of K3s and RKE2 nodes that asks Rancher. */
export interface MachinesCloudParts {
  readonly api: Api;
  readonly budget: Budget;
  readonly distribution: Distribution;
  readonly server: Pick<ManagementServer, "cluster" | "namespace">;
  /** Time for which a list proves that a machine exists; it never proves absence. */
  readonly maxListAgeMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  close(): void;
}

/**
 * Creates a cloud that answers from the nodes themselves, and finds the missing ones with one list of the
 * cluster's Machines per batch.
 */
export function createMachinesCloud(parts: MachinesCloudParts): Cloud {
  const { api, budget, server, maxListAgeMs, now } = parts;
  const machines = createMachines(api, server);
  let recent: { readonly at: number; readonly index: MachineIndex } | undefined;

  const findRecentIndex = (nodes: readonly Node[]): MachineIndex | undefined => {
    if (recent === undefined || now() - recent.at >= maxListAgeMs) return undefined;
    const { index } = recent;
    return nodes.every((node) => findMachine(node, index, server).kind === "machine") ? index : undefined;
  };

  const buildAnswers = async (nodes: readonly Node[], callContext: CallContext, needsProbe: boolean) => {
    let index = findRecentIndex(nodes);
    if (index === undefined) {
      const at = now();
      const listed = await machines.list(callContext);
      if (listed.kind === "fault")
        return nodes.map((node) => toErrorAnswer(listed.fault, formatSubject(node)));
      index = indexMachines(listed.value);
      recent = { at, index };
    }
    const currentIndex = index;
    return nodes.map((node) => buildAnswer(node, currentIndex, parts, needsProbe));
  };

  return {
    provider: "rancher",
    async instances(nodes, { signal, share, control = false, onRequest }: CloudCall) {
      const meter = createMeter(onRequest);
      if (nodes.length === 0 || signal.aborted)
        return { answers: nodes.map(() => ABORTED), usage: meter.usage() };
      const leave = budget.enter(share);
      try {
        return { answers: await buildAnswers(nodes, { signal, meter }, control), usage: meter.usage() };
      } catch (error) {
        // No known error reaches this line, but by contract a batch never rejects.
        const message = `Rancher: ${getErrorMessage(error)}`;
        return { answers: nodes.map(() => buildUnavailable(message)), usage: meter.usage() };
      } finally {
        leave();
      }
    },
    checkConfiguration: async (signal) =>
      toConfigurationCheck(await machines.check({ signal, meter: createMeter() })),
    async close() {
      parts.close();
    },
  };
}

function buildAnswer(
  node: Node,
  index: MachineIndex,
  { distribution, server }: MachinesCloudParts,
  needsProbe: boolean,
): InstanceAnswer {
  const match = findMachine(node, index, server);
  const subject = formatSubject(node);
  switch (match.kind) {
    case "fault":
      return toErrorAnswer(match.fault, subject);
    case "none":
      return buildNodeAnswer(node, distribution);
    case "machine":
      return addMachine(
        buildNodeAnswer(node, distribution),
        formatNetwork(server, match.machine.metadata.uid),
      );
    case "gone": {
      const control = needsProbe ? findVisibilityProbe(node, index, distribution, server) : undefined;
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

function addMachine(answer: InstanceAnswer, network: string): InstanceAnswer {
  if (answer.kind !== "found") return answer;
  return { kind: "found", instance: { ...answer.instance, account: MACHINE_ACCOUNT, network } };
}

/** Finds a Machine of the cluster that is not being deleted; a cluster in deletion has none. */
function findVisibilityProbe(
  node: Node,
  { all }: MachineIndex,
  distribution: Distribution,
  server: MachinesCloudParts["server"],
): VisibilityProbe | undefined {
  const id = all.find(({ metadata }) => !metadata.deletionTimestamp)?.metadata.name;
  if (id === undefined) return undefined;
  // A node that was seen before `existence: rancher` was set names only the distribution.
  const wasObservedWithoutRancher = parseObservedInstance(node)?.account === distribution;
  return {
    id,
    account: wasObservedWithoutRancher ? distribution : MACHINE_ACCOUNT,
    network: formatNetwork(server, "-"),
  };
}

function formatSubject({ metadata }: Node): string {
  return `node ${metadata.name}`;
}

function buildUnavailable(message: string): InstanceAnswer {
  return { kind: "error", code: "Unavailable", message };
}

const ABORTED: InstanceAnswer = {
  kind: "error",
  code: "Aborted",
  message: "aborted before a request to Rancher",
};
