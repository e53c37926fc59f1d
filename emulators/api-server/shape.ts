import { isJsonObject, type JsonObject } from "#emulators/api-server/object.ts";

/**
 * What is wrong with the types of the fields that this server or its clients read, in kube-apiserver's words;
 * undefined where nothing is.
 */
export function shapeFault(object: JsonObject): string | undefined {
  const { metadata, spec, status } = object;
  return (
    stringsFault(metadata, "labels") ??
    stringsFault(metadata, "annotations") ??
    listFault(metadata, "ObjectMeta.metadata", "finalizers", "string") ??
    stringFault(spec, "NodeSpec.spec", "providerID") ??
    listFault(spec, "NodeSpec.spec", "taints", "v1.Taint") ??
    listFault(status, "NodeStatus.status", "addresses", "v1.NodeAddress") ??
    listFault(status, "NodeStatus.status", "conditions", "v1.NodeCondition")
  );
}

function stringsFault(metadata: unknown, field: string): string | undefined {
  const map = member(metadata, field);
  if (map === undefined) return undefined;
  const owner = `ObjectMeta.metadata.${field}`;
  if (!isJsonObject(map)) return cannot(map, owner, "map[string]string");
  const wrong = Object.values(map).find((value) => typeof value !== "string" && value !== null);
  return wrong === undefined ? undefined : cannot(wrong, owner, "string");
}

function stringFault(section: unknown, owner: string, field: string): string | undefined {
  const value = member(section, field);
  if (value === undefined || typeof value === "string") return undefined;
  return cannot(value, `${owner}.${field}`, "string");
}

function listFault(section: unknown, owner: string, field: string, type: string): string | undefined {
  const list = member(section, field);
  if (list === undefined) return undefined;
  if (!Array.isArray(list)) return cannot(list, `${owner}.${field}`, `[]${type}`);
  const fits = (item: unknown): boolean =>
    type === "string" ? typeof item === "string" : isJsonObject(item);
  const wrong: unknown = list.find((item) => !fits(item));
  return wrong === undefined ? undefined : cannot(wrong, `${owner}.${field}`, type);
}

function member(section: unknown, field: string): unknown {
  return isJsonObject(section) ? (section[field] ?? undefined) : undefined;
}

function cannot(value: unknown, field: string, type: string): string {
  const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${kind} into Go struct field ${field} of type ${type}`;
}
