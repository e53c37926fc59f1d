import { isJsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import type { Resource } from "#emulators/api-server/resources.ts";
import type { Version } from "#emulators/api-server/store.ts";

/**
 * Renders objects as the rows that kubectl prints, with the columns of the real server for nodes and events.
 */
export function renderTable(
  versions: readonly Version[],
  resource: Resource,
  metadata: { readonly resourceVersion?: string | undefined; readonly continue?: string | undefined },
  now: Date,
): string {
  const columns = COLUMNS[resource.name] ?? [NAME, AGE];
  return JSON.stringify({
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: columns.map(({ name, wide }) => ({
      name,
      type: "string",
      format: name === "Name" ? "name" : "",
      description: "",
      priority: wide === true ? 1 : 0,
    })),
    rows: versions.map(({ object }) => ({
      cells: columns.map((column) => column.cell(object, now)),
      object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata },
    })),
  });
}

interface Column {
  readonly name: string;
  /** Only printed with `-o wide`. */
  readonly wide?: boolean;
  readonly cell: (object: StoredObject, now: Date) => string;
}

const NAME: Column = { name: "Name", cell: ({ metadata }) => metadata.name };
const AGE: Column = { name: "Age", cell: ({ metadata }, now) => formatAge(metadata.creationTimestamp, now) };

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  nodes: [
    NAME,
    { name: "Status", cell: formatNodeStatus },
    { name: "Roles", cell: formatNodeRoles },
    AGE,
    { name: "Version", cell: (node) => getNodeInfo(node, "kubeletVersion") },
    { name: "Internal-IP", wide: true, cell: (node) => findNodeAddress(node, "InternalIP") },
    { name: "External-IP", wide: true, cell: (node) => findNodeAddress(node, "ExternalIP") },
    { name: "OS-Image", wide: true, cell: (node) => getNodeInfo(node, "osImage") || "<unknown>" },
    { name: "Kernel-Version", wide: true, cell: (node) => getNodeInfo(node, "kernelVersion") || "<unknown>" },
    {
      name: "Container-Runtime",
      wide: true,
      cell: (node) => getNodeInfo(node, "containerRuntimeVersion") || "<unknown>",
    },
  ],
  events: [
    {
      name: "Last Seen",
      cell: (event, now) => formatAge(toText(event["lastTimestamp"]) || toText(event["eventTime"]), now),
    },
    { name: "Type", cell: (event) => toText(event["type"]) },
    { name: "Reason", cell: (event) => toText(event["reason"]) },
    { name: "Object", cell: formatInvolvedObject },
    { name: "Message", cell: (event) => toText(event["message"]).trim() },
    { ...NAME, wide: true },
  ],
};

function formatNodeStatus(node: StoredObject): string {
  const ready = toItems(node.status?.["conditions"]).find((condition) => condition["type"] === "Ready");
  const status = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return node.spec?.["unschedulable"] === true ? `${status},SchedulingDisabled` : status;
}

const ROLE_PREFIX = "node-role.kubernetes.io/";

function formatNodeRoles({ metadata }: StoredObject): string {
  const keys = Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith(ROLE_PREFIX));
  return keys.map((key) => key.slice(ROLE_PREFIX.length)).join(",") || "<none>";
}

function getNodeInfo(node: StoredObject, field: string): string {
  const info = node.status?.["nodeInfo"];
  return isJsonObject(info) ? toText(info[field]) : "";
}

function findNodeAddress(node: StoredObject, type: string): string {
  const found = toItems(node.status?.["addresses"]).find((address) => address["type"] === type);
  return found === undefined ? "<none>" : toText(found["address"]);
}

function formatInvolvedObject(event: StoredObject): string {
  const object = event["involvedObject"];
  return isJsonObject(object) ? `${toText(object["kind"]).toLowerCase()}/${toText(object["name"])}` : "";
}

function toItems(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const UNITS = [
  { unit: "d", seconds: 86_400 },
  { unit: "h", seconds: 3600 },
  { unit: "m", seconds: 60 },
] as const;

// Kubernetes changes to the next unit at twice its length, so that 90 seconds are not "1m".
function formatAge(timestamp: string, now: Date): string {
  const at = Date.parse(timestamp);
  if (Number.isNaN(at)) return "<unknown>";
  const seconds = Math.max(0, Math.floor((now.getTime() - at) / 1000));
  const fitting = UNITS.find((unit) => seconds >= 2 * unit.seconds);
  return fitting === undefined ? `${seconds}s` : `${Math.floor(seconds / fitting.seconds)}${fitting.unit}`;
}
