import { isJsonObject, type JsonObject } from "#emulators/api-server/object.ts";

/**
 * Returns the wrong types of the fields that this server or its clients read, in kube-apiserver's words;
 * undefined without any.
 */
export function checkShape(object: JsonObject): string | undefined {
  const { metadata, spec, status } = object;
  return (
    checkStrings(metadata, "labels") ??
    checkStrings(metadata, "annotations") ??
    listFault(metadata, "ObjectMeta.metadata", "finalizers", "string") ??
    checkMicroTime(spec, "acquireTime") ??
    checkMicroTime(spec, "renewTime") ??
    checkMicroTime(object, "eventTime") ??
    checkString(spec, "NodeSpec.spec", "providerID") ??
    listFault(spec, "NodeSpec.spec", "taints", "v1.Taint") ??
    listFault(status, "NodeStatus.status", "addresses", "v1.NodeAddress") ??
    listFault(status, "NodeStatus.status", "conditions", "v1.NodeCondition")
  );
}

function checkStrings(metadata: unknown, field: string): string | undefined {
  const map = getMember(metadata, field);
  if (map === undefined) return undefined;
  const owner = `ObjectMeta.metadata.${field}`;
  if (!isJsonObject(map)) return formatUnmarshalError(map, owner, "map[string]string");
  const wrong = Object.values(map).find((value) => typeof value !== "string" && value !== null);
  return wrong === undefined ? undefined : formatUnmarshalError(wrong, owner, "string");
}

function checkString(section: unknown, owner: string, field: string): string | undefined {
  const value = getMember(section, field);
  if (value === undefined || typeof value === "string") return undefined;
  return formatUnmarshalError(value, `${owner}.${field}`, "string");
}

const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;

// The times of Leases and Events have exactly six digits after the second.
function checkMicroTime(section: unknown, field: string): string | undefined {
  const value = getMember(section, field);
  if (typeof value !== "string" || MICRO_TIME.test(value)) return undefined;
  const form = "2006-01-02T15:04:05.000000Z07:00";
  return `parsing time ${JSON.stringify(value)} as ${JSON.stringify(form)}: cannot parse ${JSON.stringify(value.slice(19))} as ".000000"`;
}

function listFault(section: unknown, owner: string, field: string, type: string): string | undefined {
  const list = getMember(section, field);
  if (list === undefined) return undefined;
  if (!Array.isArray(list)) return formatUnmarshalError(list, `${owner}.${field}`, `[]${type}`);
  const fits = (item: unknown): boolean =>
    type === "string" ? typeof item === "string" : isJsonObject(item);
  const wrong: unknown = list.find((item) => !fits(item));
  return wrong === undefined ? undefined : formatUnmarshalError(wrong, `${owner}.${field}`, type);
}

function getMember(section: unknown, field: string): unknown {
  return isJsonObject(section) ? (section[field] ?? undefined) : undefined;
}

function formatUnmarshalError(value: unknown, field: string, type: string): string {
  const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${kind} into Go struct field ${field} of type ${type}`;
}
