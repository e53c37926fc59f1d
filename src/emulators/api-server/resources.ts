import { getApiGroup } from "#core/resources/resource.ts";
import {
  checkCertificateRequest,
  checkCertificateRequestUpdate,
} from "#emulators/api-server/certificate-requests.ts";
import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import { checkService, prepareService } from "#emulators/api-server/services.ts";
import type { StatusCause, Subject } from "#emulators/api-server/status.ts";
import { checkNode, checkNodeUpdate } from "#emulators/api-server/validate-node.ts";

/** A kind of object that the server stores, with its special rules. */
export interface Resource {
  /** `v1`, or group and version. */
  readonly apiVersion: string;
  readonly name: string;
  readonly singularName: string;
  readonly shortNames: readonly string[];
  readonly kind: string;
  readonly namespaced: boolean;
  readonly subresources: readonly string[];
  readonly verbs: readonly string[];
  /** Field selectors in addition to metadata.name and metadata.namespace, each with the compared value. */
  readonly fields: Readonly<Record<string, (object: StoredObject) => string>>;
  /** Whether an update creates a missing object. */
  readonly createsOnUpdate?: true;
  /** Whether a deletion answers the deleted object in place of a Status. */
  readonly answersDeleted?: true;
  /** The fields of an object in a bookmark, if the defaults of `prepare` are no part of it. */
  readonly empty?: JsonObject;
  /** Fills in the server's defaults, and at creation those of admission. */
  readonly prepare: (object: StoredObject, creating: boolean) => StoredObject;
  readonly causes: (object: StoredObject) => readonly StatusCause[];
  readonly updateCauses: (object: StoredObject, previous: StoredObject) => readonly StatusCause[];
}

const VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"] as const;

const NODES: Resource = {
  apiVersion: "v1",
  name: "nodes",
  singularName: "node",
  shortNames: ["no"],
  kind: "Node",
  namespaced: false,
  subresources: ["status"],
  verbs: VERBS,
  fields: { "spec.unschedulable": (node) => String(node.spec?.["unschedulable"] ?? false) },
  prepare: prepareNode,
  causes: checkNode,
  updateCauses: checkNodeUpdate,
};

const EVENTS: Resource = {
  apiVersion: "v1",
  name: "events",
  singularName: "event",
  shortNames: ["ev"],
  kind: "Event",
  namespaced: true,
  createsOnUpdate: true,
  subresources: [],
  verbs: VERBS,
  fields: {
    ...createInvolvedObjectFields(
      "kind",
      "namespace",
      "name",
      "uid",
      "apiVersion",
      "resourceVersion",
      "fieldPath",
    ),
    reason: (event) => toText(event["reason"]),
    type: (event) => toText(event["type"]),
    source: (event) => toText(isJsonObject(event["source"]) ? event["source"]["component"] : undefined),
  },
  prepare: prepareEvent,
  causes: checkEvent,
  updateCauses: () => [],
};

const CONFIG_MAPS: Resource = {
  apiVersion: "v1",
  name: "configmaps",
  singularName: "configmap",
  shortNames: ["cm"],
  kind: "ConfigMap",
  namespaced: true,
  subresources: [],
  verbs: VERBS,
  fields: {},
  prepare: (configMap) => configMap,
  causes: () => [],
  updateCauses: () => [],
};

const LEASES: Resource = {
  apiVersion: "coordination.k8s.io/v1",
  name: "leases",
  singularName: "lease",
  shortNames: [],
  kind: "Lease",
  namespaced: true,
  createsOnUpdate: true,
  subresources: [],
  verbs: VERBS,
  fields: {},
  prepare: (lease) => ({ ...lease, spec: lease.spec ?? {} }),
  causes: checkLease,
  updateCauses: () => [],
};

/** The namespaces default and kube-system, which exist from the start. */
export const NAMESPACES: Resource = {
  apiVersion: "v1",
  name: "namespaces",
  singularName: "namespace",
  shortNames: ["ns"],
  kind: "Namespace",
  namespaced: false,
  subresources: [],
  verbs: ["get", "list", "watch"],
  fields: {},
  prepare: (namespace) => namespace,
  causes: () => [],
  updateCauses: () => [],
};

/** Always empty: kubectl describes a node with its pods. */
const PODS: Resource = {
  apiVersion: "v1",
  name: "pods",
  singularName: "pod",
  shortNames: ["po"],
  kind: "Pod",
  namespaced: true,
  subresources: [],
  verbs: ["get", "list", "watch"],
  fields: { "spec.nodeName": () => "", "status.phase": () => "" },
  prepare: (pod) => pod,
  causes: () => [],
  updateCauses: () => [],
};

export const CERTIFICATE_SIGNING_REQUESTS: Resource = {
  apiVersion: "certificates.k8s.io/v1",
  name: "certificatesigningrequests",
  singularName: "certificatesigningrequest",
  shortNames: ["csr"],
  kind: "CertificateSigningRequest",
  namespaced: false,
  subresources: ["approval", "status"],
  verbs: VERBS,
  fields: { "spec.signerName": (csr) => toText(csr.spec?.["signerName"]) },
  prepare: (csr) => ({
    ...csr,
    spec: { request: null, signerName: "", ...csr.spec },
    status: csr.status ?? {},
  }),
  causes: checkCertificateRequest,
  updateCauses: checkCertificateRequestUpdate,
};

/** As Karpenter's CustomResourceDefinition defines it, without its validation. */
export const NODE_CLAIMS: Resource = {
  apiVersion: "karpenter.sh/v1",
  name: "nodeclaims",
  singularName: "nodeclaim",
  shortNames: [],
  kind: "NodeClaim",
  namespaced: false,
  subresources: ["status"],
  verbs: VERBS,
  fields: {},
  prepare: (claim) => claim,
  causes: () => [],
  updateCauses: () => [],
};

/** Services have no generation, as on the real server. */
export const SERVICES: Resource = {
  apiVersion: "v1",
  name: "services",
  singularName: "service",
  shortNames: ["svc"],
  kind: "Service",
  namespaced: true,
  answersDeleted: true,
  createsOnUpdate: true,
  empty: { spec: {}, status: { loadBalancer: {} } },
  subresources: ["status"],
  verbs: VERBS,
  fields: {
    "spec.clusterIP": (service) => toText(service.spec?.["clusterIP"]),
    "spec.type": (service) => toText(service.spec?.["type"]),
  },
  prepare: prepareService,
  causes: checkService,
  updateCauses: () => [],
};

/** Every served resource. */
export const RESOURCES: readonly Resource[] = [
  CERTIFICATE_SIGNING_REQUESTS,
  CONFIG_MAPS,
  EVENTS,
  LEASES,
  NAMESPACES,
  NODE_CLAIMS,
  NODES,
  PODS,
  SERVICES,
];

/** Returns the resource by its plural name, such as `nodes`; names are unique across groups here. */
export function findResource(name: string): Resource | undefined {
  return RESOURCES.find((resource) => resource.name === name);
}

/** Returns the resource as the subject of a message. */
export function getSubject(resource: Resource): Subject {
  return { group: getApiGroup(resource), name: resource.name };
}

/** Returns the resource's kind as the subject of a message. */
export function getKindSubject(resource: Resource): Subject {
  return { group: getApiGroup(resource), name: resource.kind };
}

// The real server's admission (TaintNodesByCondition) taints every new node, and its types have these zero
// values.
function prepareNode(node: StoredObject, creating: boolean): StoredObject {
  const taints = Array.isArray(node.spec?.["taints"]) ? node.spec["taints"] : [];
  const tainted = taints.some((taint) => isJsonObject(taint) && taint["key"] === NOT_READY.key);
  return {
    metadata: node.metadata,
    spec: creating && !tainted ? { ...node.spec, taints: [...taints, NOT_READY] } : { ...node.spec },
    status: {
      ...node.status,
      ...completeStatus(node.status),
      daemonEndpoints: node.status?.["daemonEndpoints"] ?? { kubeletEndpoint: { Port: 0 } },
      nodeInfo: { ...EMPTY_NODE_INFO, ...(node.status?.["nodeInfo"] as object | undefined) },
    },
  };
}

// Allocatable is the capacity if a kubelet names none; the times of a condition are never absent.
function completeStatus(status: StoredObject["status"]): JsonObject {
  const { capacity, allocatable = capacity, conditions } = status ?? {};
  return {
    ...(allocatable === undefined ? {} : { allocatable }),
    ...(Array.isArray(conditions) ? { conditions: conditions.map(completeCondition) } : {}),
  };
}

function completeCondition(condition: unknown): unknown {
  if (!isJsonObject(condition)) return condition;
  return { ...condition, ...completeTimes(condition) };
}

function completeTimes({ lastHeartbeatTime = null, lastTransitionTime = null }: JsonObject): JsonObject {
  return { lastHeartbeatTime, lastTransitionTime };
}

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

const EMPTY_NODE_INFO = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};

function prepareEvent(event: StoredObject): StoredObject {
  return {
    ...event,
    involvedObject: event["involvedObject"] ?? {},
    source: event["source"] ?? {},
    firstTimestamp: event["firstTimestamp"] ?? null,
    lastTimestamp: event["lastTimestamp"] ?? null,
    eventTime: event["eventTime"] ?? null,
    reportingComponent: event["reportingComponent"] ?? "",
    reportingInstance: event["reportingInstance"] ?? "",
  };
}

function checkLease({ spec }: StoredObject): readonly StatusCause[] {
  const { leaseDurationSeconds = 1, leaseTransitions = 0 } = spec ?? {};
  const wrong: StatusCause[] = [];
  const add = (field: string, value: unknown, rule: string): void => {
    wrong.push({ reason: "FieldValueInvalid", message: `Invalid value: ${value}: ${rule}`, field });
  };
  if (Number(leaseDurationSeconds) <= 0)
    add("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0");
  if (Number(leaseTransitions) < 0)
    add("spec.leaseTransitions", leaseTransitions, "must be greater than or equal to 0");
  return wrong;
}

// An event about an object without a namespace, such as a node, belongs in `default`.
function checkEvent(event: StoredObject): readonly StatusCause[] {
  const involved = isJsonObject(event["involvedObject"]) ? toText(event["involvedObject"]["namespace"]) : "";
  const namespace = event.metadata.namespace ?? "";
  if (involved === namespace || (involved === "" && namespace === "default")) return [];
  return [
    {
      reason: "FieldValueInvalid",
      message: `Invalid value: "${involved}": does not match event.namespace`,
      field: "involvedObject.namespace",
    },
  ];
}

function createInvolvedObjectFields(...names: readonly string[]): Resource["fields"] {
  return Object.fromEntries(
    names.map((name) => [
      `involvedObject.${name}`,
      (event: StoredObject) =>
        toText(isJsonObject(event["involvedObject"]) ? event["involvedObject"][name] : undefined),
    ]),
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
