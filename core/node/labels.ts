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
import type { LabelSettings } from "#core/settings.ts";

/** What is decided by, beside a node and its instance, where labels are written. */
export interface LabelContext {
  readonly now: Date;
  readonly labels: LabelSettings;
}

/** Labels to be written, and those of the cloud that were left out with the reason. */
export interface LabelEdit {
  readonly edit: Edit;
  readonly warnings: readonly Because[];
}

/**
 * The labels of initialization: type, zone and region in both generations, over whatever stands there, then the
 * cloud's additional ones where their key is free, or what differs is to be corrected. A label that Kubernetes would refuse is left out and never blocks.
 */
export function labelsFromInstance(node: Node, instance: Instance, settings: LabelSettings): LabelEdit {
  const parts = [
    pairFromCloud(node, INSTANCE_TYPE_LABELS, instance.type),
    pairFromCloud(node, ZONE_LABELS, instance.zone),
    pairFromCloud(node, REGION_LABELS, instance.region),
    ...Object.entries(instance.labels).map(([key, value]) => additional(node, key, value, settings)),
  ];
  return labelEdit(node, parts);
}

/**
 * The labels of an initialized node by what its cloud says now: those that are missing, those that differ, or both, as it is
 * set. Of a pair, the beta label stays what the stable one follows; only a correction sets both to the cloud's word. Where the
 * beta label alone is missing, and the stable one says something else than the cloud, it is not added: the stable one would follow.
 */
export function labelsKept(node: Node, instance: Instance, settings: LabelSettings): LabelEdit {
  const parts = [
    pairKept(node, INSTANCE_TYPE_LABELS, instance.type, settings),
    pairKept(node, ZONE_LABELS, instance.zone, settings),
    pairKept(node, REGION_LABELS, instance.region, settings),
    ...Object.entries(instance.labels).map(([key, value]) => additionalKept(node, key, value, settings)),
  ];
  return labelEdit(node, parts);
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

/** The pair with what is missing, and with what differs set right; what it rests on is tested as it was read. */
function pairKept(
  node: Node,
  pair: LabelPair,
  value: string,
  { addMissing, correctDiffering }: LabelSettings,
): Labels {
  const byBeta = { ...NONE, entries: stableFromBeta(node, pair) };
  if (value === "") return byBeta;
  const fault = faultOfLabelValue(value);
  if (fault !== undefined) return { ...byBeta, ...leftOut("InvalidLabel", pair.stable, value, fault) };
  const beta = labelOf(node, pair.beta);
  const stable = labelOf(node, pair.stable);
  const isAdded = addMissing && (stable === undefined || stable === value || correctDiffering);
  const betaKept = beta === undefined ? (isAdded ? value : undefined) : correctDiffering ? value : beta;
  const stableKept = betaKept ?? (stable !== undefined && correctDiffering ? value : stable);
  if (betaKept === beta && stableKept !== value) return byBeta;
  const tests = [test(labelPath(pair.beta), beta ?? null), test(labelPath(pair.stable), stable ?? null)];
  const kept = [
    { key: pair.beta, before: beta, value: betaKept },
    { key: pair.stable, before: stable, value: stableKept },
  ];
  return {
    ...NONE,
    entries: kept.flatMap(({ key, before, value }): MapEntry[] =>
      value === undefined || value === before ? [] : [{ key, value, tests }],
    ),
  };
}

function additional(node: Node, key: string, value: string, { correctDiffering }: LabelSettings): Labels {
  const refused = refusedLabel(key, value);
  if (refused !== undefined) return refused;
  const present = labelOf(node, key);
  if (present === value) return NONE;
  if (present === undefined || correctDiffering)
    return { ...NONE, entries: [{ key, value, tests: [test(labelPath(key), present ?? null)] }] };
  return { ...NONE, ...leftOut("LabelTaken", key, value, `the node has it already, as "${present}"`) };
}

function additionalKept(
  node: Node,
  key: string,
  value: string,
  { addMissing, correctDiffering }: LabelSettings,
): Labels {
  const refused = refusedLabel(key, value);
  if (refused !== undefined) return refused;
  const present = labelOf(node, key);
  const isWritten = present === undefined ? addMissing : present !== value && correctDiffering;
  if (!isWritten) return NONE;
  return { ...NONE, entries: [{ key, value, tests: [test(labelPath(key), present ?? null)] }] };
}

/** What is left out because Kubernetes would refuse it, or because it is Kubernetes' own. */
function refusedLabel(key: string, value: string): Labels | undefined {
  if (isReservedLabel(key))
    return { ...NONE, ...leftOut("ReservedLabel", key, value, "its domain is Kubernetes' own") };
  const fault = faultOfLabelKey(key) ?? faultOfLabelValue(value);
  return fault === undefined ? undefined : { ...NONE, ...leftOut("InvalidLabel", key, value, fault) };
}

function stableFromBeta(node: Node, { beta, stable }: LabelPair): MapEntry[] {
  const value = labelOf(node, beta);
  if (value === undefined || value === labelOf(node, stable)) return [];
  return [{ key: stable, value, tests: [test(labelPath(beta), value)] }];
}

function labelEdit(node: Node, parts: readonly Labels[]): LabelEdit {
  return {
    edit: setLabels(
      node,
      parts.flatMap(({ entries }) => entries),
    ),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
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
