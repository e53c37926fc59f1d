import type { Check, ListedNode } from "#cli/doctor/check.ts";
import { formatCounted } from "#cli/format-counted.ts";
import { formatList } from "#cli/format-list.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** A node that waits longer than this needs help. */
const LASTING_MS = 2 * 60_000;

/** Checks whether the kubelets wait for a cloud, and whether none of them waits in vain. */
export const kubelets: Check = {
  name: "kubelets",
  needs: ["api-server"],
  async run(context) {
    const { nodes, isCut } = await context.nodes();
    const of = isCut ? `the first ${nodes.length} nodes` : formatCounted(nodes.length, "node");
    const now = context.now().getTime();
    const stuck = nodes.filter((node) => node.isUninitialized && getAgeMs(node, now) > LASTING_MS);
    const strangers = nodes.filter(
      (node) => !node.isUninitialized && node.providerID === undefined && !node.isOurs,
    );
    if (strangers.length > 0)
      return reportFailure(
        `of ${of}, ${strangers.length} ${strangers.length === 1 ? "has" : "have"} neither a provider ID nor the taint of a node that waits for its cloud: ${formatNames(strangers)}`,
        "start their kubelets with --cloud-provider=external, and delete the Node objects once: kubelets register again",
      );
    if (stuck.length > 0)
      return reportFailure(
        `of ${of}, ${stuck.length} ${stuck.length === 1 ? "waits" : "wait"} for more than ${LASTING_MS / 60_000} minutes to be initialized: ${formatNames(stuck)}`,
        `serverless-ccm explain ${sanitizeText(stuck[0]?.name ?? "", 253)}`,
      );
    const waiting = nodes.filter((node) => node.isUninitialized).length;
    if (nodes.length === 0)
      return reportWarning("there is no node yet", "start a kubelet with --cloud-provider=external");
    return reportOk(waiting === 0 ? `${of}, all initialized` : `${of}, of which ${waiting} joined just now`);
  },
};

function getAgeMs({ createdAt }: ListedNode, now: number): number {
  const at = Date.parse(createdAt ?? "");
  return Number.isNaN(at) ? 0 : now - at;
}

const MAX_NAMED = 5;

function formatNames(nodes: readonly ListedNode[]): string {
  return formatList(
    nodes.map(({ name }) => sanitizeText(name, 128)),
    MAX_NAMED,
  );
}
