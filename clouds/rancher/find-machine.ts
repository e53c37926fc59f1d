import type { Fault } from "#clouds/http/outcome.ts";
import type { ManagementServer } from "#clouds/rancher/config.ts";
import type { Machine } from "#clouds/rancher/machine.ts";
import { MACHINE_LABEL } from "#clouds/rancher/node-keys.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";

/** The account in the instance annotation of nodes that were seen with a Machine. */
export const MACHINE_ACCOUNT = "rancher";

/** What a cluster's Machines say about a node. */
export type MachineMatch =
  | { readonly kind: "machine"; readonly machine: Machine }
  /** It is not Rancher's: someone registered it by hand. */
  | { readonly kind: "none" }
  /** Its Machine no longer exists; `successor` is the one that has its name now. */
  | { readonly kind: "gone"; readonly uid: string; readonly successor: Machine | undefined }
  | { readonly kind: "fault"; readonly fault: Fault };

/** The Machines of a cluster, by the fields that identify nodes. */
export interface MachineIndex {
  readonly all: readonly Machine[];
  readonly byUid: ReadonlyMap<string, Machine>;
  readonly byNodeName: ReadonlyMap<string, readonly Machine[]>;
}

export function indexMachines(all: readonly Machine[]): MachineIndex {
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
export function formatNetwork({ namespace, cluster }: Scope, uid: string): string {
  return `${namespace}/${cluster}/${uid}`;
}

type Scope = Pick<ManagementServer, "namespace" | "cluster">;

/**
 * Finds the Machine of a node: the one that names this very node, else the one in the node's label, or the
 * one that it was seen with, else the one that names a node of its name. Only a Machine that was known before
 * can be gone.
 */
export function findMachine(node: Node, { byUid, byNodeName }: MachineIndex, scope: Scope): MachineMatch {
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
