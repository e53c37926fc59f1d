import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { Place } from "#core/node-lifecycle/place.ts";
import { DEFAULT_SETTINGS, NodeSettings, type Settings } from "#core/settings.ts";
import { instance } from "#test/core/node/builders.ts";

export const START = new Date("2026-03-01T12:00:00.000Z");
export const ACCOUNT = "123456789012";

/** So many seconds after the start. */
export function at(seconds: number): Date {
  return new Date(START.getTime() + seconds * 1_000);
}

/** What of a cluster's settings differs from the defaults. */
export function settingsWith(nodes: Readonly<Record<string, unknown>> = {}): Settings {
  return { ...DEFAULT_SETTINGS, nodes: NodeSettings.parse(nodes) };
}

/** What of a node differs from one whose instance was seen, and whose kubelet has been silent for a minute. */
export interface LifecycleNode {
  readonly ready?: "True" | "False" | "Unknown" | undefined;
  readonly since?: string;
  readonly taints?: Node["spec"]["taints"];
  readonly annotations?: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly providerID?: string | undefined;
  readonly deletionTimestamp?: string;
  readonly resourceVersion?: string;
}

/** The `number`-th node of a cluster, an hour old; its instance is `i-<number>`. */
export function lifecycleNode(number: number, difference: LifecycleNode = {}): Node {
  const { since = at(-60).toISOString(), taints, deletionTimestamp } = difference;
  const ready = "ready" in difference ? difference.ready : "Unknown";
  const providerID = "providerID" in difference ? difference.providerID : `aws:///eu-central-1a/i-${number}`;
  return {
    metadata: {
      name: `node-${number}`,
      uid: `uid-${number}`,
      resourceVersion: difference.resourceVersion ?? "1",
      creationTimestamp: at(-3_600).toISOString(),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(difference.labels === undefined ? {} : { labels: difference.labels }),
      annotations: difference.annotations ?? { "serverless-ccm.io/instance": `${ACCOUNT}/vpc-1/i-${number}` },
    },
    spec: {
      ...(providerID === undefined ? {} : { providerID }),
      ...(taints === undefined ? {} : { taints }),
    },
    status: {
      conditions: ready === undefined ? [] : [{ type: "Ready", status: ready, lastTransitionTime: since }],
    },
  };
}

/** The cloud shows the instance of the `number`-th node. */
export function foundIn(
  number: number,
  state: Extract<InstanceAnswer, { kind: "found" }>["instance"]["state"] = "running",
): InstanceAnswer {
  const id = `i-${number}`;
  return {
    kind: "found",
    instance: instance({
      id,
      state,
      account: ACCOUNT,
      network: "vpc-1",
      providerID: `aws:///eu-central-1a/${id}`,
    }),
  };
}

/** The cloud has no such instance; with a control it shows another one of the cluster, where its nodes are unless told otherwise. */
export function notFound(id?: string, place: Place = { account: ACCOUNT, network: "vpc-1" }): InstanceAnswer {
  const message = "no such instance";
  return { kind: "not-found", message, ...(id === undefined ? {} : { control: { id, ...place } }) };
}

export const FAILED: InstanceAnswer = { kind: "error", code: "Unavailable", message: "EC2 answered 503" };
