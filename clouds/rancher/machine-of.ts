import type { Fault } from "#clouds/http/outcome.ts";
import type { ManagementServer } from "#clouds/rancher/kind.ts";
import type { Machine } from "#clouds/rancher/machine.ts";
import { MACHINE_LABEL } from "#clouds/rancher/node-keys.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";

/** The account in what says whose instance a node is, of nodes that were seen with a Machine. */
export const MACHINE_ACCOUNT = "rancher";

/** What a cluster's Machines say of a node. */
export type MachineMatch =
  | { readonly kind: "machine"; readonly machine: Machine }
  /** It is none of Rancher's: somebody has registered it by hand. */
  | { readonly kind: "none" }
  /** It had one, which is not there any more; `successor` is the one that has its name by now. */
  | { readonly kind: "gone"; readonly uid: string; readonly successor: Machine | undefined }
  | { readonly kind: "fault"; readonly fault: Fault };

/** The Machines of a cluster, by what nodes are told by. */
export interface MachineIndex {
  readonly all: readonly Machine[];
  readonly byUid: ReadonlyMap<string, Machine>;
  readonly byNodeName: ReadonlyMap<string, readonly Machine[]>;
}

export function indexOf(all: readonly Machine[]): MachineIndex {
  return {
    all,
    byUid: new Map(all.map((machine) => [machine.metadata.uid, machine])),
    byNodeName: Map.groupBy(
      all.filter((machine) => machine.status?.nodeRef?.name !== undefined),
      (machine) => machine.status?.nodeRef?.name ?? "",
    ),
  };
}

/** The network in what says whose instance a node is: where the Machine stands, and which it is. */
export function networkOf({ namespace, cluster }: Scope, uid: string): string {
  return `${namespace}/${cluster}/${uid}`;
}

type Scope = Pick<ManagementServer, "namespace" | "cluster">;

/**
 * Looks for the Machine of a node: the one that names this very node, else the one that the node's label names, or the one that it was
 * seen with before, else the one that names a node of its name. Only what a node was once known by can be gone.
 */
export function machineOf(node: Node, { byUid, byNodeName }: MachineIndex, scope: Scope): MachineMatch {
  const { name, uid } = node.metadata;
  const named = byNodeName.get(name) ?? [];
  const own = named.find((machine) => machine.status?.nodeRef?.uid === uid);
  if (own !== undefined) return { kind: "machine", machine: own };
  const uids = [labelOf(node), earlierOf(node, scope)].filter((each) => each !== undefined);
  const claimed = uids.map((each) => byUid.get(each)).find((each) => each !== undefined);
  if (claimed !== undefined) return unlessOfAnother(node, claimed);
  const [first, second] = named;
  const [gone] = uids;
  if (second === undefined) {
    if (gone !== undefined) return { kind: "gone", uid: gone, successor: first };
    return first === undefined ? { kind: "none" } : { kind: "machine", machine: first };
  }
  const names = named.map(({ metadata }) => metadata.name).toSorted();
  const message = `Machines ${names.slice(0, 5).join(" and ")} both say that it is theirs`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}

/** Whoever owns the cluster writes the label: what a Machine says of its node counts for more. */
function unlessOfAnother({ metadata: { name } }: Node, machine: Machine): MachineMatch {
  const other = machine.status?.nodeRef?.name;
  if (other === undefined || other === name) return { kind: "machine", machine };
  const message = `its label names Machine ${machine.metadata.name}, which says that it is node ${other}`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}

function labelOf({ metadata: { labels = {} } }: Node): string | undefined {
  return (Object.hasOwn(labels, MACHINE_LABEL) ? labels[MACHINE_LABEL] : undefined) || undefined;
}

/** The uid of the Machine that a node was seen with, where it was seen in the place that is configured now. */
function earlierOf({ metadata }: Node, scope: Scope): string | undefined {
  const prefix = `${MACHINE_ACCOUNT}/${networkOf(scope, "")}`;
  const seen = metadata.annotations?.[INSTANCE_ANNOTATION] ?? "";
  return (seen.startsWith(prefix) ? seen.slice(prefix.length).split("/")[0] : undefined) || undefined;
}
