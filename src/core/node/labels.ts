import {
  INSTANCE_TYPE_LABELS,
  LABEL_PAIRS,
  type LabelPair,
  REGION_LABELS,
  ZONE_LABELS,
} from "#core/contracts.ts";
import type { Instance } from "#core/instance.ts";
import { type Edit, formatPointer, type MapEntry, setEntries, test } from "#core/json-patch.ts";
import { checkLabelKey, checkLabelValue } from "#core/label-syntax.ts";
import type { Node } from "#core/node/node.ts";
import type { LabelSettings } from "#core/node/settings.ts";
import type { Reason } from "#core/reason.ts";

/** The facts on which label writes depend, in addition to the node and its instance. */
export interface LabelContext {
  readonly now: Date;
  readonly labels: LabelSettings;
}

/** The labels to write, and the cloud's labels that were left out, with reasons. */
export interface LabelEdit {
  readonly edit: Edit;
  readonly warnings: readonly Reason[];
}

/**
 * Returns the labels of initialization: type, zone and region in both generations override existing values.
 * The cloud's additional labels are added if their key is free, or if differing labels are corrected. A label
 * that Kubernetes would reject is left out and never blocks.
 */
export function buildInstanceLabels(node: Node, instance: Instance, settings: LabelSettings): LabelEdit {
  const parts = [
    buildPair(node, INSTANCE_TYPE_LABELS, instance.type),
    buildPair(node, ZONE_LABELS, instance.zone),
    buildPair(node, REGION_LABELS, instance.region),
    ...Object.entries(instance.labels).map(([key, value]) =>
      buildAdditionalLabel(node, key, value, settings),
    ),
  ];
  return buildLabelEdit(node, parts);
}

/**
 * Returns the label changes of an initialized node by the cloud's current facts: missing labels, differing
 * ones, or both, as configured. In a pair, the stable label follows the beta one; only a correction sets both
 * to the cloud's value. A missing beta label is not added if the stable one differs from the cloud, because
 * the stable one would then follow.
 */
export function planLabelCorrections(node: Node, instance: Instance, settings: LabelSettings): LabelEdit {
  const parts = [
    correctPair(node, INSTANCE_TYPE_LABELS, instance.type, settings),
    correctPair(node, ZONE_LABELS, instance.zone, settings),
    correctPair(node, REGION_LABELS, instance.region, settings),
    ...Object.entries(instance.labels).map(([key, value]) =>
      correctAdditionalLabel(node, key, value, settings),
    ),
  ];
  return buildLabelEdit(node, parts);
}

/** Updates the stable labels of an initialized node from their beta labels, which are the source of truth. */
export function reconcileLabels(node: Node): Edit {
  return setLabels(
    node,
    LABEL_PAIRS.flatMap((pair) => copyBetaToStable(node, pair)),
  );
}

/** Returns whether a beta label differs from its stable one. */
export function hasLabelsToReconcile(node: Node): boolean {
  return reconcileLabels(node).operations.length > 0;
}

/**
 * Returns whether a label has one of Kubernetes' own domains, which the cloud may only use for the label
 * pairs.
 */
export function isReservedLabel(key: string): boolean {
  return /(^|\.)(kubernetes|k8s)\.io\//.test(key);
}

interface Labels {
  readonly entries: readonly MapEntry[];
  readonly warnings: readonly Reason[];
}

const NONE: Labels = { entries: [], warnings: [] };

function buildPair(node: Node, pair: LabelPair, value: string): Labels {
  // Without a value from the cloud, the pair is only reconciled, as on an initialized node.
  const reconciled = { ...NONE, entries: copyBetaToStable(node, pair) };
  if (value === "") return reconciled;
  const fault = checkLabelValue(value);
  if (fault !== undefined)
    return { ...reconciled, ...createSkippedLabel("InvalidLabel", pair.stable, value, fault) };
  const keys = [pair.beta, pair.stable].filter((key) => getLabel(node, key) !== value);
  return { ...NONE, entries: keys.map((key) => ({ key, value, tests: [] })) };
}

/**
 * Adds missing labels of the pair and corrects differing ones, guarded by tests of the values that were read.
 */
function correctPair(
  node: Node,
  pair: LabelPair,
  value: string,
  { addMissing, correctDiffering }: LabelSettings,
): Labels {
  const byBeta = { ...NONE, entries: copyBetaToStable(node, pair) };
  if (value === "") return byBeta;
  const fault = checkLabelValue(value);
  if (fault !== undefined)
    return { ...byBeta, ...createSkippedLabel("InvalidLabel", pair.stable, value, fault) };
  const beta = getLabel(node, pair.beta);
  const stable = getLabel(node, pair.stable);
  const isAdded = addMissing && (stable === undefined || stable === value || correctDiffering);
  const desiredBeta = beta === undefined ? (isAdded ? value : undefined) : correctDiffering ? value : beta;
  const desiredStable = desiredBeta ?? (stable !== undefined && correctDiffering ? value : stable);
  if (desiredBeta === beta && desiredStable !== value) return byBeta;
  const tests = [
    test(formatLabelPath(pair.beta), beta ?? null),
    test(formatLabelPath(pair.stable), stable ?? null),
  ];
  const pairLabels = [
    { key: pair.beta, before: beta, value: desiredBeta },
    { key: pair.stable, before: stable, value: desiredStable },
  ];
  return {
    ...NONE,
    entries: pairLabels.flatMap(({ key, before, value }): MapEntry[] =>
      value === undefined || value === before ? [] : [{ key, value, tests }],
    ),
  };
}

function buildAdditionalLabel(
  node: Node,
  key: string,
  value: string,
  { correctDiffering }: LabelSettings,
): Labels {
  const refused = checkLabel(key, value);
  if (refused !== undefined) return refused;
  const present = getLabel(node, key);
  if (present === value) return NONE;
  if (present === undefined || correctDiffering)
    return { ...NONE, entries: [{ key, value, tests: [test(formatLabelPath(key), present ?? null)] }] };
  return {
    ...NONE,
    ...createSkippedLabel("LabelTaken", key, value, `the node has it already, as "${present}"`),
  };
}

function correctAdditionalLabel(
  node: Node,
  key: string,
  value: string,
  { addMissing, correctDiffering }: LabelSettings,
): Labels {
  const refused = checkLabel(key, value);
  if (refused !== undefined) return refused;
  const present = getLabel(node, key);
  const isWritten = present === undefined ? addMissing : present !== value && correctDiffering;
  if (!isWritten) return NONE;
  return { ...NONE, entries: [{ key, value, tests: [test(formatLabelPath(key), present ?? null)] }] };
}

/** The label that is left out because Kubernetes would reject it or reserves it. */
function checkLabel(key: string, value: string): Labels | undefined {
  if (isReservedLabel(key))
    return { ...NONE, ...createSkippedLabel("ReservedLabel", key, value, "its domain is Kubernetes' own") };
  const fault = checkLabelKey(key) ?? checkLabelValue(value);
  return fault === undefined
    ? undefined
    : { ...NONE, ...createSkippedLabel("InvalidLabel", key, value, fault) };
}

function copyBetaToStable(node: Node, { beta, stable }: LabelPair): MapEntry[] {
  const value = getLabel(node, beta);
  if (value === undefined || value === getLabel(node, stable)) return [];
  return [{ key: stable, value, tests: [test(formatLabelPath(beta), value)] }];
}

function buildLabelEdit(node: Node, parts: readonly Labels[]): LabelEdit {
  return {
    edit: setLabels(
      node,
      parts.flatMap(({ entries }) => entries),
    ),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
}

function setLabels(node: Node, entries: readonly MapEntry[]): Edit {
  return setEntries(formatPointer("metadata", "labels"), node.metadata.labels !== undefined, entries);
}

function getLabel(node: Node, key: string): string | undefined {
  const { labels = {} } = node.metadata;
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function formatLabelPath(key: string): string {
  return formatPointer("metadata", "labels", key);
}

function createSkippedLabel(code: string, key: string, value: string, why: string): { warnings: Reason[] } {
  return { warnings: [{ code, message: `the cloud's label ${key}="${value}" is left out: ${why}` }] };
}
