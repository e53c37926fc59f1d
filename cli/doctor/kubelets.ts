import { counted } from "#cli/counted.ts";
import type { Check, ListedNode } from "#cli/doctor/check.ts";
import { someOf } from "#cli/some-of.ts";
import { failed, ok, warning } from "#core/finding.ts";
import { shown } from "#core/shown-text.ts";

/** A node that waits for longer than this waits for somebody. */
const LASTING_MS = 2 * 60_000;

/** Whether the kubelets wait for a cloud, and whether none of them waits in vain. */
export const kubelets: Check = {
  name: "kubelets",
  needs: ["api-server"],
  async run(context) {
    const { nodes, isCut } = await context.nodes();
    const of = isCut ? `the first ${nodes.length} nodes` : counted(nodes.length, "node");
    const now = context.now().getTime();
    const stuck = nodes.filter((node) => node.isUninitialized && ageMs(node, now) > LASTING_MS);
    const strangers = nodes.filter(
      (node) => !node.isUninitialized && node.providerID === undefined && !node.isOurs,
    );
    if (strangers.length > 0)
      return failed(
        `of ${of}, ${strangers.length} ${strangers.length === 1 ? "has" : "have"} neither a provider ID nor the taint of a node that waits for its cloud: ${namesOf(strangers)}`,
        "start their kubelets with --cloud-provider=external, and delete the Node objects once: kubelets register anew",
      );
    if (stuck.length > 0)
      return failed(
        `of ${of}, ${stuck.length} ${stuck.length === 1 ? "waits" : "wait"} for more than ${LASTING_MS / 60_000} minutes to be initialized: ${namesOf(stuck)}`,
        `serverless-ccm explain ${shown(stuck[0]?.name ?? "", 253)}`,
      );
    const waiting = nodes.filter((node) => node.isUninitialized).length;
    if (nodes.length === 0)
      return warning("there is no node yet", "start a kubelet with --cloud-provider=external");
    return ok(waiting === 0 ? `${of}, all initialized` : `${of}, of which ${waiting} joined just now`);
  },
};

function ageMs({ createdAt }: ListedNode, now: number): number {
  const at = Date.parse(createdAt ?? "");
  return Number.isNaN(at) ? 0 : now - at;
}

const MAX_NAMED = 5;

function namesOf(nodes: readonly ListedNode[]): string {
  return someOf(
    nodes.map(({ name }) => shown(name, 128)),
    MAX_NAMED,
  );
}
