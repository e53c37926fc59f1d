import { type ComparedResource, formatCollection } from "#test/emulators/comparison/objects.ts";
import type { RawAnswer, RawRequest } from "#test/emulators/comparison/raw-request.ts";
import type { ResourceName, Step } from "#test/emulators/comparison/steps.ts";

type JsonObject = Readonly<Record<string, unknown>>;
type Metadata = JsonObject & { readonly uid?: string; readonly resourceVersion?: string };

/** What one server has answered so far, from which its next requests take versions and uids. */
export class KnownState {
  readonly #objects = new Map<string, JsonObject>();
  #stale = "1";
  #listVersion = "";
  readonly #continue = new Map<string, string>();

  /** Notes an answer to a request for one object or a list. */
  note(path: string, { status, body }: RawAnswer): void {
    if (status >= 300) return;
    const answer = parseObject(body);
    const metadata = (answer?.["metadata"] ?? {}) as Metadata & { readonly continue?: string };
    if (answer !== undefined && Array.isArray(answer["items"])) {
      // A list at any version may be older than the store on one server alone.
      if (!path.includes("resourceVersion=")) this.#listVersion = metadata.resourceVersion ?? "";
      if (metadata.continue !== undefined) this.#continue.set(`${path.split("?")[0]}`, metadata.continue);
    } else if (answer?.["kind"] !== "Status" && typeof metadata["name"] === "string") {
      const key = `${path.split("?")[0]}`;
      const before = this.#objects.get(key)?.["metadata"] as Metadata | undefined;
      this.#stale = before?.resourceVersion ?? this.#stale;
      if (answer !== undefined && "kind" in answer && answer["kind"] !== "PartialObjectMetadata")
        this.#objects.set(key, answer);
    }
  }

  /** Returns the last seen object at a path. */
  get(path: string): JsonObject | undefined {
    return this.#objects.get(path);
  }

  metadata(path: string): Metadata {
    return (this.#objects.get(path)?.["metadata"] ?? {}) as Metadata;
  }

  get stale(): string {
    return this.#stale;
  }
  get listVersion(): string {
    return this.#listVersion;
  }
  /** Returns the last continue token of a collection. */
  continue(path: string): string {
    return this.#continue.get(path) ?? "";
  }
}

const ACCEPTS: Readonly<Record<string, string | undefined>> = {
  json: "application/json",
  any: undefined,
  partial: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  "partial-list": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  table: "application/json;as=Table;g=meta.k8s.io;v=v1",
  "yaml-only": "text/csv",
};

const PATCH_TYPES: Readonly<Record<string, string | undefined>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  plain: "application/json",
  none: undefined,
};

/** Selects the objects of the steps where the real server has some of its own. */
export const OURS: Readonly<Partial<Record<ResourceName, Readonly<Record<string, string>>>>> = {
  events: { fieldSelector: "involvedObject.kind=Node" },
  services: { labelSelector: "component!=apiserver" },
};

const JSON_TYPE = "application/json";
const LARGE_BYTES = 3 * 1024 * 1024;

/** Returns the request of a step to a server in a state. */
export function buildRequest(
  step: Step,
  resources: Readonly<Record<ResourceName, ComparedResource>>,
  known: KnownState,
): RawRequest {
  const resource = resources[step.resource];
  const collection = formatCollection(resource, step.resource);
  switch (step.kind) {
    case "create":
      return buildCreate(step, resource, collection);
    case "get":
      return {
        method: "GET",
        path: `${collection}/${step.name}${step.subresource}`,
        accept: ACCEPTS[step.accept],
      };
    case "list":
      return buildList(step, resource, known);
    case "update":
      return buildUpdate(step, resource, collection, known);
    case "patch":
      return buildPatch(step, resource, collection, known);
    case "delete":
      return buildDelete(step, collection, known);
    case "odd":
      return buildOdd(step, resource, collection);
    default:
      return step satisfies never;
  }
}

type StepOf<Kind extends Step["kind"]> = Extract<Step, { readonly kind: Kind }>;

function buildCreate(step: StepOf<"create">, resource: ComparedResource, collection: string): RawRequest {
  const path =
    step.fault === "absent-namespace" ? formatCollection(resource, step.resource, "absent") : collection;
  return {
    method: "POST",
    path: addQuery(path, { dryRun: step.dryRun }),
    accept: ACCEPTS[step.accept],
    contentType: JSON_TYPE,
    body: buildCreated(step, resource),
  };
}

function buildCreated({ fault, name }: StepOf<"create">, resource: ComparedResource): string {
  const { apiVersion, kind, fields } = resource;
  const metadata = { name, labels: { tier: name === "first" ? "a" : "b" }, annotations: { note: "n" } };
  const object = { apiVersion, kind, metadata, ...fields };
  const withMetadata = (more: object): string =>
    JSON.stringify({ ...object, metadata: { ...metadata, ...more } });
  switch (fault) {
    case "none":
    case "absent-namespace":
      return JSON.stringify(object);
    case "bad-name":
      return withMetadata({ name: "a_B" });
    case "no-name":
      return withMetadata({ name: undefined });
    case "generate-name":
      return withMetadata({ name: undefined, generateName: "made-" });
    case "versioned":
      return withMetadata({ resourceVersion: "1" });
    case "other-kind":
      return JSON.stringify({ ...object, kind: "Pod" });
    case "other-namespace":
      return withMetadata({ namespace: "other" });
    case "bad-label":
      return withMetadata({ labels: { "a b": "c" } });
    case "bad-label-value":
      return withMetadata({ labels: { a: "b c" } });
    case "bad-annotation":
      return withMetadata({ annotations: { "a b": "c" } });
    case "no-json":
      return "{";
    case "empty":
      return "";
    case "list":
      return "[]";
    case "null-metadata":
      return JSON.stringify({ ...object, metadata: null });
    case "bare":
      return JSON.stringify({ metadata, ...fields });
    case "own-fields":
      return withMetadata({
        uid: "mine",
        creationTimestamp: "2020-01-02T03:04:05Z",
        deletionTimestamp: "2020-01-02T03:04:05Z",
        generation: 7,
        selfLink: "/mine",
      });
    default:
      return fault satisfies never;
  }
}

function buildList(step: StepOf<"list">, resource: ComparedResource, known: KnownState): RawRequest {
  const versions = { last: known.listVersion, future: "999999999", text: "x" };
  const version = step.version in versions ? versions[step.version as keyof typeof versions] : step.version;
  const path = formatCollection(resource, step.resource, step.everywhere ? undefined : "default");
  const { labelSelector, fieldSelector } = OURS[step.resource] ?? {};
  const join = (...selectors: readonly (string | undefined)[]): string =>
    selectors.filter((selector) => (selector ?? "") !== "").join(",");
  return {
    method: "GET",
    path: addQuery(path, {
      limit: step.limit,
      continue: step.continues === "last" ? known.continue(path) : step.continues === "text" ? "x" : "",
      labelSelector: join(step.labels, labelSelector),
      fieldSelector: join(step.fields, fieldSelector),
      resourceVersion: version,
      resourceVersionMatch: step.match,
    }),
    accept: ACCEPTS[step.accept],
  };
}

function buildUpdate(
  step: StepOf<"update">,
  resource: ComparedResource,
  collection: string,
  known: KnownState,
): RawRequest {
  const path = `${collection}/${step.name}`;
  const { apiVersion, kind, fields, status } = resource;
  const before = known.get(path) ?? { apiVersion, kind, metadata: { name: step.name }, ...fields };
  const { resourceVersion, uid, ...rest } = before["metadata"] as Metadata;
  const versions = { current: resourceVersion, stale: known.stale, text: "x", none: undefined };
  const uids = { same: uid, other: "other", none: undefined };
  const metadata = {
    ...rest,
    labels: { ...(rest["labels"] as object | undefined), updated: "yes" },
    resourceVersion: versions[step.version],
    uid: uids[step.uid],
    ...(step.fault === "other-name" ? { name: "other" } : {}),
    ...(step.fault === "no-name" ? { name: undefined } : {}),
    ...(step.fault === "finalizer" ? { finalizers: ["example.com/keep"] } : {}),
  };
  const object = {
    ...before,
    metadata,
    ...(step.subresource === "/status" && status !== undefined ? { status } : {}),
    ...(step.fault === "other-kind" ? { kind: "Pod" } : {}),
  };
  // An update of the status creates a Service, too, but without addresses.
  const subresource = known.get(path) === undefined ? "" : step.subresource;
  return {
    method: "PUT",
    path: addQuery(`${path}${subresource}`, { dryRun: step.dryRun }),
    accept: ACCEPTS[step.accept],
    contentType: JSON_TYPE,
    body: step.fault === "no-json" ? "{" : JSON.stringify(object),
  };
}

function buildPatch(
  step: StepOf<"patch">,
  resource: ComparedResource,
  collection: string,
  known: KnownState,
): RawRequest {
  const path = `${collection}/${step.name}`;
  const form = step.type === "json" ? "operations" : "object";
  const changes = buildChanges(step, resource, known.metadata(path).resourceVersion ?? "1", known.stale);
  const change = changes[form === "operations" ? 0 : 1];
  const wrong = form === "operations" ? { metadata: {} } : [];
  return {
    method: "PATCH",
    path: addQuery(`${path}${step.subresource}`, { dryRun: step.dryRun }),
    accept: ACCEPTS[step.accept],
    contentType: PATCH_TYPES[step.type],
    body: step.change === "no-json" ? "{" : JSON.stringify(step.change === "wrong-form" ? wrong : change),
  };
}

/** Returns one change as a JSON patch and as an object. */
function buildChanges(
  { change }: StepOf<"patch">,
  { status }: ComparedResource,
  version: string,
  stale: string,
): readonly [readonly unknown[], object] {
  const add = (path: string, value: unknown): unknown => ({ op: "add", path, value });
  switch (change) {
    case "label":
      return [[add("/metadata/labels", { patched: "yes" })], { metadata: { labels: { patched: "yes" } } }];
    case "no-label":
      return [[{ op: "remove", path: "/metadata/labels" }], { metadata: { labels: null } }];
    case "bad-label":
      return [[add("/metadata/labels", { a: 1 })], { metadata: { labels: { a: 1 } } }];
    case "finalizer":
      return [
        [add("/metadata/finalizers", ["example.com/keep"])],
        { metadata: { finalizers: ["example.com/keep"] } },
      ];
    case "no-finalizer":
      return [[{ op: "remove", path: "/metadata/finalizers" }], { metadata: { finalizers: null } }];
    case "status":
      return [[add("/status", status ?? {})], { status: status ?? {} }];
    case "version":
      return [
        [
          { op: "test", path: "/metadata/resourceVersion", value: version },
          add("/metadata/annotations", { a: "b" }),
        ],
        { metadata: { resourceVersion: version, annotations: { a: "b" } } },
      ];
    case "old-version":
      return [
        [{ op: "replace", path: "/metadata/resourceVersion", value: stale }],
        { metadata: { resourceVersion: stale, annotations: { a: "b" } } },
      ];
    case "uid":
      return [[add("/metadata/uid", "other")], { metadata: { uid: "other" } }];
    case "name":
      return [[add("/metadata/name", "other")], { metadata: { name: "other" } }];
    case "nothing":
    case "wrong-form":
    case "no-json":
      return [[], {}];
    case "failed-test":
      return [[{ op: "test", path: "/metadata/name", value: "other" }], { metadata: { name: "other" } }];
    default:
      return change satisfies never;
  }
}

function buildDelete(step: StepOf<"delete">, collection: string, known: KnownState): RawRequest {
  const path = `${collection}/${step.name}`;
  const { uid = "absent", resourceVersion = "1" } = known.metadata(path);
  const preconditions = {
    ...(step.uid === "" ? {} : { uid: step.uid === "same" ? uid : "other" }),
    ...(step.version === ""
      ? {}
      : { resourceVersion: step.version === "current" ? resourceVersion : known.stale }),
  };
  const options = {
    kind: "DeleteOptions",
    apiVersion: "v1",
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(step.body === "propagation" ? { propagationPolicy: "Background" } : {}),
    ...(step.body === "bad-propagation" ? { propagationPolicy: "Sideways" } : {}),
  };
  const body = step.body === "no-json" ? "{" : JSON.stringify(options);
  const isBare = step.body === "options" && step.uid === "" && step.version === "";
  return {
    method: "DELETE",
    path: addQuery(path, { dryRun: step.dryRun }),
    accept: ACCEPTS[step.accept],
    ...(isBare ? {} : { contentType: JSON_TYPE, body }),
  };
}

const AUTHORIZATION = "/apis/authorization.k8s.io/v1";

function buildOdd({ request }: StepOf<"odd">, resource: ComparedResource, collection: string): RawRequest {
  const get = (path: string): RawRequest => ({ method: "GET", path, accept: JSON_TYPE });
  const post = (path: string, body: object): RawRequest => ({
    method: "POST",
    path,
    accept: JSON_TYPE,
    contentType: JSON_TYPE,
    body: JSON.stringify(body),
  });
  const group = resource.apiVersion;
  switch (request) {
    case "wrong-method":
      return { ...post(`${collection}/first`, {}) };
    case "put-collection":
      return { ...post(collection, {}), method: "PUT" };
    case "unknown-resource":
      return get(collection.replace(/[a-z]+$/, "gadgets"));
    case "unknown-group":
      return get("/apis/example.com/v1/gadgets");
    case "unknown-path":
      return get("/gadgets");
    case "unknown-subresource":
      return get(`${collection}/first/gadget`);
    case "too-large":
      return post(collection, { metadata: { name: "large" }, data: { key: "x".repeat(LARGE_BYTES) } });
    case "long-name":
      return get(`${collection}/${"n".repeat(300)}`);
    case "discovery-core":
      return get("/api");
    case "discovery-groups":
      return get("/apis");
    case "discovery-group":
      return get(group.includes("/") ? `/apis/${group.split("/")[0]}` : "/api");
    case "discovery-group-version":
      return get(group.includes("/") ? `/apis/${group}` : `/api/${group}`);
    case "version":
      return get("/version");
    case "self-subject":
      return post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "SelfSubjectReview",
      });
    case "self-access":
      return post(`${AUTHORIZATION}/selfsubjectaccessreviews`, {
        spec: { resourceAttributes: { verb: "get", group: "", resource: "nodes" } },
      });
    case "self-rules":
      return post(`${AUTHORIZATION}/selfsubjectrulesreviews`, { spec: { namespace: "default" } });
    case "self-access-without-spec":
      return post(`${AUTHORIZATION}/selfsubjectaccessreviews`, {});
    default:
      return request satisfies never;
  }
}

function addQuery(path: string, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));
  return query.size === 0 ? path : `${path}?${query}`;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
