import { isJsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import type { StatusCause } from "#emulators/api-server/status.ts";

/** Returns the errors of a node's taints, in kube-apiserver's words. */
export function checkNode(node: StoredObject): readonly StatusCause[] {
  const taints = Array.isArray(node.spec?.["taints"]) ? node.spec["taints"].filter(isJsonObject) : [];
  const seen = new Set<string>();
  return taints.flatMap((taint, index) => {
    const { key = "", value = "", effect = "" } = taint as { [field: string]: string };
    const field = `metadata.taints[${index}]`;
    if (!EFFECTS.includes(effect)) return [buildUnsupportedEffectCause(`${field}.effect`, effect)];
    const pair = `${key}:${effect}`;
    if (seen.has(pair))
      return [buildDuplicateCause(field, { Key: key, Value: value, Effect: effect, TimeAdded: null })];
    seen.add(pair);
    return [];
  });
}

/** Returns the errors of an update to a node: a provider ID is set once. */
export function checkNodeUpdate(node: StoredObject, previous: StoredObject): readonly StatusCause[] {
  const before = previous.spec?.["providerID"] ?? "";
  if (before === "" || before === node.spec?.["providerID"]) return [];
  return [
    {
      reason: "FieldValueForbidden",
      message: 'Forbidden: node updates may not change providerID except from "" to valid',
      field: "spec.providerID",
    },
  ];
}

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function buildUnsupportedEffectCause(field: string, effect: string): StatusCause {
  const supported = EFFECTS.map((name) => `"${name}"`).join(", ");
  return {
    reason: "FieldValueNotSupported",
    message: `Unsupported value: "${effect}": supported values: ${supported}`,
    field,
  };
}

function buildDuplicateCause(field: string, taint: object): StatusCause {
  const message = `Duplicate value: ${JSON.stringify(taint)}: taints must be unique by key and effect pair`;
  return { reason: "FieldValueDuplicate", message, field };
}
