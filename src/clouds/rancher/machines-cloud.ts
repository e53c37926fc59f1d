import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import type { Api } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { toConfigurationCheck } from "#clouds/http/cloud-options.ts";
import { type CallContext, createMeter } from "#clouds/http/meter.ts";
import { type Fault, toErrorAnswer } from "#clouds/http/outcome.ts";
import { type Distribution, MACHINE_LABEL, type ManagementServer } from "#clouds/rancher/config.ts";
import { createMachines, type Machine } from "#clouds/rancher/list-machines.ts";
import { buildNodeAnswer } from "#clouds/rancher/node-answer.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { InstanceAnswer, VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { parseObservedInstance } from "#core/node-lifecycle/location.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

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

/** The account in the instance annotation of nodes that were seen with a Machine. */
const MACHINE_ACCOUNT = "rancher";

/** What a cluster's Machines say about a node. */
type MachineMatch =
  | { readonly kind: "machine"; readonly machine: Machine }
  /** It is not Rancher's: someone registered it by hand. */
  | { readonly kind: "none" }
  /** Its Machine no longer exists; `successor` is the one that has its name now. */
  | { readonly kind: "gone"; readonly uid: string; readonly successor: Machine | undefined }
  | { readonly kind: "fault"; readonly fault: Fault };

/** The Machines of a cluster, by the fields that identify nodes. */
interface MachineIndex {
  readonly all: readonly Machine[];
  readonly byUid: ReadonlyMap<string, Machine>;
  readonly byNodeName: ReadonlyMap<string, readonly Machine[]>;
}

function indexMachines(all: readonly Machine[]): MachineIndex {
  return {
    all,
    byUid: new Map(all.map((machine) => [machine.metadata.uid, machine])),
    byNodeName: Map.groupBy(
      all.filter((machine) => machine.status?.nodeRef?.name !== undefined),
      (machine) => machine.status?.nodeRef?.name ?? "",
    ),
  };
}

/** Formats the network in the instance annotation: the Machine's place and uid. */
function formatNetwork({ namespace, cluster }: Scope, uid: string): string {
  return `${namespace}/${cluster}/${uid}`;
}

type Scope = Pick<ManagementServer, "namespace" | "cluster">;

/**
 * Finds the Machine of a node. First comes the Machine that names the node's uid. Then come the Machine in the node's
 * label and the one that the node was seen with. The last is the Machine that names a node of its name. Only
 * a Machine that was known before can be gone.
 */
function findMachine(node: Node, { byUid, byNodeName }: MachineIndex, scope: Scope): MachineMatch {
  const { name, uid } = node.metadata;
  const sameName = byNodeName.get(name) ?? [];
  const match = sameName.find((machine) => machine.status?.nodeRef?.uid === uid);
  if (match !== undefined) return { kind: "machine", machine: match };
  const uids = [getMachineLabel(node), getEarlierUid(node, scope)].filter((each) => each !== undefined);
  const claimed = uids.map((each) => byUid.get(each)).find((each) => each !== undefined);
  if (claimed !== undefined) return checkNodeReference(node, claimed);
  const [first, second] = sameName;
  const [goneUid] = uids;
  if (second === undefined) {
    if (goneUid !== undefined) return { kind: "gone", uid: goneUid, successor: first };
    return first === undefined ? { kind: "none" } : { kind: "machine", machine: first };
  }
  const names = sameName.map(({ metadata }) => metadata.name).toSorted();
  const message = `Machines ${names.slice(0, 5).join(" and ")} both name it as their node`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}

/** The cluster's owner can write the label, so a Machine's own node reference has priority. */
function checkNodeReference({ metadata: { name } }: Node, machine: Machine): MachineMatch {
  const other = machine.status?.nodeRef?.name;
  if (other === undefined || other === name) return { kind: "machine", machine };
  const message = `its label names Machine ${machine.metadata.name}, which names node ${other}`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}

function getMachineLabel({ metadata: { labels = {} } }: Node): string | undefined {
  return (Object.hasOwn(labels, MACHINE_LABEL) ? labels[MACHINE_LABEL] : undefined) || undefined;
}

/** Returns the uid of the Machine that a node was seen with, if the place is still the configured one. */
function getEarlierUid({ metadata }: Node, scope: Scope): string | undefined {
  const prefix = `${MACHINE_ACCOUNT}/${formatNetwork(scope, "")}`;
  const observedInstance = metadata.annotations?.[INSTANCE_ANNOTATION] ?? "";
  return (
    (observedInstance.startsWith(prefix) ? observedInstance.slice(prefix.length).split("/")[0] : undefined) ||
    undefined
  );
}
