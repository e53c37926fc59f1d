import {
  INSTANCE_TYPE_LABELS,
  LABEL_PAIRS,
  type LabelPair,
  REGION_LABELS,
  ZONE_LABELS,
} from "#core/contracts.ts";
import type { Because } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/** Labels to write: those of ours override what the node says of itself, those of the cloud never do. */
export interface LabelChanges {
  readonly overriding: Readonly<Record<string, string>>;
  readonly additional: Readonly<Record<string, string>>;
  readonly warnings: readonly Because[];
}

/** Labels under these domains belong to Kubernetes; a cloud may not add to them. */
const KUBERNETES_DOMAIN = /(^|\.)(kubernetes|k8s)\.io\//;
const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** What an instance's type, zone, region and additional labels change about a node's; an empty value changes nothing. */
export function labelChanges(node: Node, instance: Instance): LabelChanges {
  const warnings: Because[] = [];
  const labels = node.metadata.labels ?? {};
  const overriding: Record<string, string> = {};
  for (const [pair, value] of pairsOf(instance)) {
    if (value === "") continue;
    if (!isLabelValue(value)) warnings.push(invalid(pair.stable, value));
    else for (const key of [pair.beta, pair.stable]) if (labels[key] !== value) overriding[key] = value;
  }
  const additional: Record<string, string> = {};
  for (const [key, value] of Object.entries(instance.labels)) {
    if (KUBERNETES_DOMAIN.test(key)) warnings.push(reserved(key));
    else if (!isLabelKey(key) || !isLabelValue(value)) warnings.push(invalid(key, value));
    else if (labels[key] === undefined) additional[key] = value;
    else if (labels[key] !== value) warnings.push(kept(key, labels[key], value));
  }
  return { overriding, additional, warnings };
}

/** The stable labels that the beta ones, which are the source of truth after initialization, call for. */
export function reconciledLabels(node: Node): { readonly pair: LabelPair; readonly value: string }[] {
  const labels = node.metadata.labels ?? {};
  return LABEL_PAIRS.flatMap((pair) => {
    const value = labels[pair.beta];
    return value === undefined || labels[pair.stable] === value ? [] : [{ pair, value }];
  });
}

function pairsOf(instance: Instance): (readonly [LabelPair, string])[] {
  return [
    [INSTANCE_TYPE_LABELS, instance.type],
    [ZONE_LABELS, instance.zone],
    [REGION_LABELS, instance.region],
  ];
}

function isLabelKey(key: string): boolean {
  const parts = key.split("/");
  const [name = "", prefix] = parts.reverse();
  if (parts.length > 2 || !LABEL_NAME.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && LABEL_PREFIX.test(prefix));
}

function isLabelValue(value: string): boolean {
  return value === "" || LABEL_NAME.test(value);
}

function invalid(key: string, value: string): Because {
  return { code: "InvalidLabel", message: `label ${key}=${value} is left out: Kubernetes would refuse it` };
}

function reserved(key: string): Because {
  return { code: "ReservedLabel", message: `label ${key} is left out: its domain is Kubernetes' own` };
}

function kept(key: string, has: string | undefined, value: string): Because {
  return { code: "LabelKept", message: `label ${key} stays ${has}, although the cloud says ${value}` };
}
