import * as z from "zod";
import { openAnySwitch } from "#cli/deletion/stop-switch.ts";
import type { Check, ListedNode } from "#cli/doctor/check.ts";
import { readTraces } from "#cli/doctor/read-traces.ts";
import { formatCounted, formatList } from "#cli/format-list.ts";
import { stopIn } from "#config/switch/stops.ts";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";
import { RELAY_LEASE, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { readState, STATE } from "#core/node-lifecycle/state.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { parseJson } from "#core/parse-json.ts";
import { formatObjectPath, LEASES } from "#core/resources/resource.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { findSecondCcms, type SecondCcm, WINDOW_MS } from "#core/second-ccm.ts";
import { classifyAnswer } from "#kube/client/answer.ts";

/** From this age on, the sweep does everything. */
const STALE_MS = 2 * 60_000;

const Lease = z.object({ spec: z.object({ renewTime: z.string().nullish() }).prefault({}) });

/** Checks whether a relay renews the Lease which shows that changes reach the functions. */
export const relayLease: Check = {
  name: "relay",
  needs: ["api-server"],
  async run({ ask, now, reached }, signal) {
    // The relay renews its Lease and does not read it; the sweep does.
    const reader = reached.signInOf("sweep") === undefined ? "relay" : "sweep";
    const path = formatObjectPath(LEASES, { namespace: SYSTEM_NAMESPACE, name: RELAY_LEASE });
    const answer = await ask(reader, { method: "GET", path, signal });
    const said = classifyAnswer(answer);
    const what = `Lease ${SYSTEM_NAMESPACE}/${RELAY_LEASE}`;
    if (said.kind === "gone") return reportFailure(`there is no ${what}`, APPLY_LEASE);
    if (said.kind === "rejected" && said.status === 403)
      return reportSkipped(`${what} may be read by the sweep alone: add signIn.sweep to the cluster's entry`);
    if (said.kind !== "applied") return reportFailure(`${what} cannot be read: ${said.message}`, APPLY_LEASE);
    const lease = Lease.safeParse(parseJson(answer.body)).data;
    if (lease === undefined) return reportFailure(`${what} is not a valid Lease`, APPLY_LEASE);
    const renewed = Date.parse(lease.spec.renewTime ?? "");
    if (Number.isNaN(renewed))
      return reportWarning(`no relay has ever renewed ${what}: the sweep does everything`, START);
    const ageMs = now().getTime() - renewed;
    const words = `${what} was renewed ${Math.max(0, Math.round(ageMs / 1_000))} s ago`;
    return ageMs <= STALE_MS ? reportOk(words) : reportFailure(`${words}: the sweep does everything`, LOOK);
  },
};

const APPLY_LEASE = "kubectl apply -f infra/rbac/ -f infra/state/";

const START = "start `serverless-ccm relay` for the cluster; see its /readyz/clusters/NAME";

const LOOK =
  "see whether the relay runs, what its /readyz/clusters/NAME says, and whether its functions can be invoked";

/** Checks whether nodes whose instance is gone can be deleted: the state that this needs, and the brake. */
export const deletionState: Check = {
  name: "deletion",
  needs: ["api-server"],
  async run({ reached: { cluster }, ask }, signal) {
    if (!cluster.controllers.includes(nodeLifecycleWatch.name))
      return reportSkipped(`${nodeLifecycleWatch.name} is not on for this cluster`);
    if (!cluster.nodes.deletion.enabled)
      return reportSkipped("off by this cluster's configuration: no node is deleted");
    const answer = await ask("node-lifecycle", {
      method: "GET",
      path: formatObjectPath(STATE, STATE.at),
      signal,
    });
    const said = classifyAnswer(answer);
    if (said.kind !== "applied" && said.kind !== "gone")
      return reportFailure(`its state cannot be read: ${said.message}`, GRANT_STATE);
    const stored = readState(
      said.kind === "gone" ? { kind: "absent" } : { kind: "object", object: parseJson(answer.body) },
    );
    if (stored.kind === "unusable")
      return reportFailure(`${stored.message}; until then no node is deleted`, APPLY_STATE);
    const { brake, absences } = stored.state;
    if (brake !== undefined)
      return reportFailure(
        `the brake is pulled since ${brake.since}: no node is deleted`,
        `see whether the instances are gone indeed, then: serverless-ccm brake --reset ${cluster.name}`,
      );
    const missed = Object.keys(absences).length;
    return reportOk(
      `the brake is not pulled; ${missed === 0 ? "no node is" : missed === 1 ? "1 node is" : `${missed} nodes are`} missed by the cloud`,
    );
  },
};

const GRANT_STATE = "kubectl apply -f infra/rbac/";

const APPLY_STATE =
  "kubectl apply -f infra/state/config-map.yaml; where its content is broken, delete its key `state` first";

/**
 * Returns a note about the quota of a switch in SSM, which many clusters share with the rest of the account.
 */
function formatQuotaNote(reference: string): string {
  return reference.startsWith("ssm:")
    ? "; read from SSM, whose default quota is 40 requests a second for the account and region: docs/how-to/many-clusters.md"
    : "";
}

/** Checks what operators have stopped of the cluster, and whether that is readable. */
export const stopSwitchCheck: Check = {
  name: "stopped",
  async run({ reached: { cluster }, stopSwitch: reference }, signal) {
    if (reference === undefined) return reportSkipped("no cluster registry is named, and so no switch");
    const stopSwitch = await openAnySwitch(reference, process.env);
    try {
      const stop = stopIn(await stopSwitch.read(signal), cluster.name);
      if (stop === undefined) return reportOk(`nothing is stopped${formatQuotaNote(reference)}`);
      return reportWarning(
        `an operator has stopped ${stop}`,
        `serverless-ccm stop (shows by whom); to resume: serverless-ccm stop --resume --${stop} --all or --cluster ${cluster.name}`,
      );
    } catch (error) {
      return reportFailure(
        `${getErrorMessage(error)}; deletions that are not proven by themselves wait`,
        "docs/how-to/stop-it.md#when-the-switch-cannot-be-read",
      );
    }
  },
};

/** Checks whether another cloud-controller-manager works in the cluster, and on which of our objects. */
export const secondCcm: Check = {
  name: "second controller manager",
  needs: ["api-server"],
  async run(context, signal) {
    const read = await readTraces(await context.reached.api("relay"), signal);
    if (read.kind === "failed") return reportFailure(`nodes cannot be listed: ${read.message}`, GRANT);
    const live = findSecondCcms(read.traces, context.now()).filter(({ isLive }) => isLive);
    const unseen =
      read.unread.length === 0 ? "" : ", by what it wrote on nodes; Events or its Lease may not be read";
    const within = `within ${WINDOW_MS / 60_000} minutes`;
    if (live.length === 0) return reportOk(`none was seen ${within}${unseen}`);
    const { controllers } = context.reached.cluster;
    const words = `${live.map(formatSecondCcm).join("; ")}${unseen}`;
    const both = live.flatMap((ccm) => listRecent(ccm)).filter((name) => controllers.includes(name));
    if (both.length === 0) return reportOk(`${words}: no controller of this cluster's entry is affected`);
    const off = [...new Set(both)].map((name) => `-${name}`).join(",");
    return reportWarning(
      `${words}, as serverless-ccm does`,
      `start it with --controllers=*,${off}, or take them off the cluster's entry here`,
    );
  },
};

const GRANT = "kubectl apply -f infra/rbac/";

function listRecent({ controllers }: SecondCcm): readonly string[] {
  return controllers.filter(({ isRecent }) => isRecent).map(({ name }) => name);
}

function formatSecondCcm(ccm: SecondCcm): string {
  const names = listRecent(ccm);
  const what = names.length === 0 ? "is alive" : `runs ${names.join(", ")}`;
  return `${ccm.manager} ${what}, last seen ${ccm.lastSeen}`;
}

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
