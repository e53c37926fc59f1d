import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { NodeSettings } from "#core/node/settings.ts";
import type { InstanceLocation } from "#core/node-lifecycle/location.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import { buildInstance } from "#test/core/node/builders.ts";

export const START = new Date("2026-03-01T12:00:00.000Z");
export const ACCOUNT = "123456789012";

/** The time a number of seconds after the start. */
export function getTime(seconds: number): Date {
  return new Date(START.getTime() + seconds * 1_000);
}

/** Overrides of a cluster's default settings. */
export function buildSettings(nodes: Readonly<Record<string, unknown>> = {}): Settings {
  return { ...DEFAULT_SETTINGS, nodes: NodeSettings.parse(nodes) };
}

/** Overrides of a node that was observed with an instance, and whose kubelet has been silent for a minute. */
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
export function buildLifecycleNode(number: number, difference: LifecycleNode = {}): Node {
  const { since = getTime(-60).toISOString(), taints, deletionTimestamp } = difference;
  const ready = "ready" in difference ? difference.ready : "Unknown";
  const providerID = "providerID" in difference ? difference.providerID : `aws:///eu-central-1a/i-${number}`;
  return {
    metadata: {
      name: `node-${number}`,
      uid: `uid-${number}`,
      resourceVersion: difference.resourceVersion ?? "1",
      creationTimestamp: getTime(-3_600).toISOString(),
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

/** The answer that shows the instance of the `number`-th node. */
export function buildFoundAnswer(
  number: number,
  state: Extract<InstanceAnswer, { kind: "found" }>["instance"]["state"] = "running",
): InstanceAnswer {
  const id = `i-${number}`;
  return {
    kind: "found",
    instance: buildInstance({
      id,
      state,
      account: ACCOUNT,
      network: "vpc-1",
      providerID: `aws:///eu-central-1a/${id}`,
    }),
  };
}

/**
 * The answer "not found". Its visibility probe is another instance of the cluster, by default in the nodes'
 * place.
 */
export function buildNotFoundAnswer(
  id?: string,
  place: InstanceLocation = { account: ACCOUNT, network: "vpc-1" },
): InstanceAnswer {
  const message = "no such instance";
  return { kind: "not-found", message, ...(id === undefined ? {} : { control: { id, ...place } }) };
}

export const FAILED: InstanceAnswer = { kind: "error", code: "Unavailable", message: "EC2 answered 503" };
