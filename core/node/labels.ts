import {
  INSTANCE_TYPE_LABELS,
  LABEL_PAIRS,
  type LabelPair,
  REGION_LABELS,
  ZONE_LABELS,
} from "#core/contracts.ts";
import type { Because } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import { type Edit, type MapEntry, pointer, setEntries, test } from "#core/json-patch.ts";
import { faultOfLabelKey, faultOfLabelValue } from "#core/label-syntax.ts";
import type { Node } from "#core/node/node.ts";

/** Labels to be written, and those of the cloud that were left out with the reason. */
export interface LabelEdit {
  readonly edit: Edit;
  readonly warnings: readonly Because[];
}

/**
 * The labels of initialization: type, zone and region in both generations, over whatever stands there, then the
 * cloud's additional ones where their key is free. A label that Kubernetes would refuse is left out and never blocks.
 */
export function labelsFromInstance(node: Node, instance: Instance): LabelEdit {
  const parts = [
    pairFromCloud(node, INSTANCE_TYPE_LABELS, instance.type),
    pairFromCloud(node, ZONE_LABELS, instance.zone),
    pairFromCloud(node, REGION_LABELS, instance.region),
    ...Object.entries(instance.labels).map(([key, value]) => additional(node, key, value)),
  ];
  return {
    edit: setLabels(
      node,
      parts.flatMap(({ entries }) => entries),
    ),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
}

/** Brings the stable labels of an initialized node in line with their beta ones, which are the source of truth. */
export function reconcileLabels(node: Node): Edit {
  return setLabels(
    node,
    LABEL_PAIRS.flatMap((pair) => stableFromBeta(node, pair)),
  );
}

/** Whether a beta label says something else than its stable one. */
export function hasLabelsToReconcile(node: Node): boolean {
  return reconcileLabels(node).operations.length > 0;
}

/** Whether a label is what the cloud may not set beyond the pairs: these domains are Kubernetes' own. */
export function isReservedLabel(key: string): boolean {
  return /(^|\.)(kubernetes|k8s)\.io\//.test(key);
}

interface Labels {
  readonly entries: readonly MapEntry[];
  readonly warnings: readonly Because[];
}

const NONE: Labels = { entries: [], warnings: [] };

function pairFromCloud(node: Node, pair: LabelPair, value: string): Labels {
  // Without a word of the cloud's the pair is left as the first look at an initialized node would leave it.
  const kept = { ...NONE, entries: stableFromBeta(node, pair) };
  if (value === "") return kept;
  const fault = faultOfLabelValue(value);
  if (fault !== undefined) return { ...kept, ...leftOut("InvalidLabel", pair.stable, value, fault) };
  const keys = [pair.beta, pair.stable].filter((key) => labelOf(node, key) !== value);
  return { ...NONE, entries: keys.map((key) => ({ key, value, tests: [] })) };
}

function additional(node: Node, key: string, value: string): Labels {
  if (isReservedLabel(key))
    return { ...NONE, ...leftOut("ReservedLabel", key, value, "its domain is Kubernetes' own") };
  const fault = faultOfLabelKey(key) ?? faultOfLabelValue(value);
  if (fault !== undefined) return { ...NONE, ...leftOut("InvalidLabel", key, value, fault) };
  const present = labelOf(node, key);
  if (present === undefined)
    return { ...NONE, entries: [{ key, value, tests: [test(labelPath(key), null)] }] };
  if (present === value) return NONE;
  return { ...NONE, ...leftOut("LabelTaken", key, value, `the node has it already, as "${present}"`) };
}

function stableFromBeta(node: Node, { beta, stable }: LabelPair): MapEntry[] {
  const value = labelOf(node, beta);
  if (value === undefined || value === labelOf(node, stable)) return [];
  return [{ key: stable, value, tests: [test(labelPath(beta), value)] }];
}

function setLabels(node: Node, entries: readonly MapEntry[]): Edit {
  return setEntries(pointer("metadata", "labels"), node.metadata.labels !== undefined, entries);
}

function labelOf(node: Node, key: string): string | undefined {
  const { labels = {} } = node.metadata;
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function labelPath(key: string): string {
  return pointer("metadata", "labels", key);
}

function leftOut(code: string, key: string, value: string, why: string): { warnings: Because[] } {
  return { warnings: [{ code, message: `the cloud's label ${key}="${value}" is left out: ${why}` }] };
}
