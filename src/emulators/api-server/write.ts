import { randomBytes, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { authorize, authorizeSigner } from "#emulators/api-server/authorize.ts";
import { applyApproval, buildRequest } from "#emulators/api-server/certificate-requests.ts";
import { applyJsonPatch } from "#emulators/api-server/json-patch.ts";
import { updateManagedFields } from "#emulators/api-server/managed-fields.ts";
import { applyMergePatch, applyStrategicMergePatch } from "#emulators/api-server/merge-patch.ts";
import { normalizeObject } from "#emulators/api-server/normalize.ts";
import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import { getObject, parseRevision } from "#emulators/api-server/read.ts";
import { formatKey, type ResourceRequest } from "#emulators/api-server/request-info.ts";
import {
  CERTIFICATE_SIGNING_REQUESTS,
  getKindSubject,
  getSubject,
  NAMESPACES,
  NODE_CLAIMS,
  type Resource,
  SERVICES,
} from "#emulators/api-server/resources.ts";
import { dropForeignStatus } from "#emulators/api-server/services.ts";
import { checkShape } from "#emulators/api-server/shape.ts";
import {
  createAlreadyExists,
  createBadRequest,
  createConflict,
  createInvalid,
  createInvalidPatchResult,
  createNotFound,
  Refusal,
} from "#emulators/api-server/status.ts";
import { type Store, Version } from "#emulators/api-server/store.ts";
import { checkMetadata, checkMetadataUpdate } from "#emulators/api-server/validate-metadata.ts";
import { type DeleteOptions, readDeleteOptions } from "#emulators/api-server/validate-options.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";

/** The context of a write. */
export interface WriteContext {
  readonly store: Store;
  readonly manager: string;
  readonly user: ControlPlaneUser;
  /** The uid of new objects; default: a random one. */
  readonly uid?: () => string;
  /** Everything except the write itself. */
  readonly dryRun: boolean;
  readonly now: Date;
}

/** Creates the object in the body. */
export function createObject(context: WriteContext, request: ResourceRequest, body: string): Version {
  return createFrom(context, request, parseObject(request, body));
}

function createFrom(context: WriteContext, request: ResourceRequest, document: JsonObject): Version {
  const { resource } = request;
  const object = normalizeObject(document);
  const metadata = buildMetadata(object, request, context);
  const asked = { ...object, metadata };
  const isCsr = resource === CERTIFICATE_SIGNING_REQUESTS;
  const prepared = resource.prepare(isCsr ? buildRequest(context.user, asked) : asked, true);
  const { namespace } = request;
  if (namespace !== undefined && context.store.get(NAMESPACES, namespace) === undefined) {
    throw createNotFound(getSubject(NAMESPACES), namespace);
  }
  const causes = [...checkMetadata(metadata), ...resource.causes(prepared)];
  if (causes.length > 0) throw createInvalid(getKindSubject(resource), metadata.name, causes);
  const key = formatKey(namespace, metadata.name);
  if (context.store.get(resource, key) !== undefined)
    throw createAlreadyExists(getSubject(resource), metadata.name);
  return commit(context, request, key, prepared, undefined);
}

/** The result of an update: `isNew` for the resources that an update may create. */
export interface Update {
  readonly version: Version;
  readonly isNew: boolean;
}

/** Replaces the object with the body. */
export function updateObject(context: WriteContext, request: ResourceRequest, body: string): Update {
  const document = parseObject(request, body);
  checkNamed(document["metadata"], request.name ?? "");
  const { resource } = request;
  const key = formatKey(request.namespace, request.name ?? "");
  if (resource.createsOnUpdate === true && context.store.get(resource, key) === undefined)
    return { version: createByUpdate(context, request, document), isNew: true };
  const current = getObject(context.store, request);
  const { uid } = document["metadata"] as JsonObject;
  const known = current.object.metadata.uid;
  if (uid !== undefined && uid !== "" && uid !== known) throw createUidConflict(request, uid, known);
  return { version: replaceObject(context, request, current, document), isNew: false };
}

// As on the real server, it needs the right to create, and ignores a resourceVersion.
function createByUpdate(context: WriteContext, request: ResourceRequest, document: JsonObject): Version {
  const { resourceVersion: _version, uid, ...metadata } = document["metadata"] as JsonObject;
  authorize(context.user, { ...request, verb: "create" });
  if (uid !== undefined && uid !== "") throw createUidConflict(request, uid, "");
  return createFrom(context, request, { ...document, metadata });
}

function createUidConflict(
  { resource, namespace, name = "" }: ResourceRequest,
  asked: unknown,
  known: string,
): Error {
  const key = formatKey(namespace, name);
  const because = `StorageError: invalid object, Code: 4, Key: /registry/${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${asked}, UID in object meta: ${known}`;
  return createConflict(getSubject(resource), name, because);
}

/** Applies the patch in the body, of the type that the content type names. */
export function patchObject(
  context: WriteContext,
  request: ResourceRequest,
  contentType: string,
  body: string,
): Version {
  const apply = PATCHES[contentType];
  if (apply === undefined) throw new Error(`isPatchType allows ${contentType}`);
  const current = getObject(context.store, request);
  // Parsing makes a copy.
  const document = JSON.parse(current.json) as JsonObject;
  const patched = apply(document, parsePatch(body));
  const fault = checkShape(patched);
  if (fault !== undefined) throw createInvalidPatchResult(patched, fault);
  return replaceObject(context, request, current, patched);
}

/** The result of a deletion: the object as it was, or as it still exists because of its finalizers. */
export interface Deletion {
  readonly kind: "deleted" | "kept";
  readonly version: Version;
}

/** Deletes the object if the body's preconditions hold; with finalizers it only sets a deletionTimestamp. */
export function deleteObject(context: WriteContext, request: ResourceRequest, body: string): Deletion {
  // The options in the body replace those in the query.
  const { preconditions, dryRun } =
    body === ""
      ? { preconditions: {}, dryRun: context.dryRun }
      : readDeleteOptions(parseJson(body, (why) => `couldn't get version/kind; json parse error: ${why}`));
  const current = getObject(context.store, request);
  checkPreconditions(current, preconditions);
  const { metadata } = current.object;
  if ((metadata.finalizers ?? []).length === 0) {
    const version = dryRun ? current : context.store.delete(current);
    return { kind: "deleted", version };
  }
  if (metadata.deletionTimestamp !== undefined) return { kind: "kept", version: current };
  const deletionTimestamp = formatRfc3339(context.now);
  const marked = {
    ...current.object,
    metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 },
  };
  return { kind: "kept", version: commit({ ...context, dryRun }, request, current.key, marked, current) };
}

/** Returns whether a resource can be patched with a content type; custom resources have no strategic merge. */
export function isPatchType(resource: Resource, contentType: string): boolean {
  return (
    Object.hasOwn(PATCHES, contentType) && !(resource === NODE_CLAIMS && contentType.includes("strategic"))
  );
}

const PATCHES: Readonly<Record<string, (document: JsonObject, patch: unknown) => JsonObject>> = {
  "application/json-patch+json": applyJsonPatch,
  "application/merge-patch+json": (document, patch) => applyMergePatch(document, parsePatchObject(patch)),
  "application/strategic-merge-patch+json": (document, patch) =>
    applyStrategicMergePatch(document, parsePatchObject(patch)),
};

function replaceObject(
  context: WriteContext,
  request: ResourceRequest,
  current: Version,
  document: JsonObject,
): Version {
  const { resource, subresource } = request;
  const previous = current.object;
  if (subresource === "approval") {
    authorizeSigner(context.user, previous.metadata.name, previous.spec?.["signerName"]);
  }
  const { name } = previous.metadata;
  checkNamed(document["metadata"], name);
  const object = normalizeObject(document);
  const asked = object.metadata;
  parseRevision(asked.resourceVersion ?? "0", (message) => {
    // Without the field's name, which only queries have.
    return new Refusal(500, undefined, message.slice(message.indexOf("strconv")));
  });
  if (asked.resourceVersion !== undefined && asked.resourceVersion !== previous.metadata.resourceVersion) {
    const because =
      "the object has been modified; please apply your changes to the latest version and try again";
    throw createConflict(getSubject(resource), name, because);
  }
  const metadata = keepFields({ ...asked, uid: asked.uid ?? previous.metadata.uid }, previous.metadata);
  const now = formatRfc3339(context.now);
  const part = keepOtherPart({ ...object, metadata }, previous, subresource, now);
  const clears = resource === SERVICES && subresource === undefined;
  const merged = resource.prepare(clears ? dropForeignStatus(part) : part, false);
  const causes = [
    ...checkMetadataUpdate(metadata, previous.metadata),
    ...checkMetadata(metadata),
    ...resource.causes(merged),
    ...resource.updateCauses(merged, previous),
  ];
  if (causes.length > 0) throw createInvalid(getKindSubject(resource), name, causes);
  if (isDeepStrictEqual(merged, previous)) return current;
  return commit(context, request, current.key, merged, current);
}

function checkNamed(metadata: unknown, name: string): void {
  const named = isJsonObject(metadata) ? metadata["name"] : undefined;
  if (typeof named !== "string" || named === "") {
    throw createBadRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (named !== name) {
    throw createBadRequest(`the name of the object (${named}) does not match the name on the URL (${name})`);
  }
}

// A write to the object keeps its status; a write to the status keeps everything else except metadata.
function keepOtherPart(
  object: StoredObject,
  previous: StoredObject,
  subresource: string | undefined,
  now: string,
): StoredObject {
  if (subresource === "approval") return applyApproval(object, previous, now);
  if (subresource === "status") {
    const { status: _before, ...rest } = previous;
    const { metadata, status } = object;
    return { ...rest, metadata, ...(status === undefined ? {} : { status }) };
  }
  const { status: _status, ...rest } = object;
  return previous.status === undefined ? object : { ...rest, status: previous.status };
}

// The server silently ignores what clients send in these fields.
function keepFields(
  metadata: StoredObject["metadata"],
  previous: StoredObject["metadata"],
): StoredObject["metadata"] {
  const {
    deletionTimestamp: _timestamp,
    deletionGracePeriodSeconds: _seconds,
    managedFields: _fields,
    selfLink: _link,
    ...rest
  } = metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds, managedFields, creationTimestamp } = previous;
  return {
    ...rest,
    resourceVersion: previous.resourceVersion,
    creationTimestamp,
    ...(previous.namespace === undefined ? {} : { namespace: previous.namespace }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    ...(managedFields === undefined ? {} : { managedFields }),
  };
}

function commit(
  context: WriteContext,
  request: ResourceRequest,
  key: string,
  object: StoredObject,
  current: Version | undefined,
): Version {
  const writer = {
    manager: context.manager,
    apiVersion: request.resource.apiVersion,
    subresource: request.subresource,
    time: formatRfc3339(context.now),
  };
  const managedFields = updateManagedFields(object, current?.object, writer);
  const written = { ...object, metadata: { ...object.metadata, managedFields } };
  const unchanged = new Version(request.resource, key, current?.revision ?? 0, written);
  if (context.dryRun && current === undefined) {
    const { resourceVersion: _version, ...metadata } = written.metadata;
    return new Version(request.resource, key, 0, { ...written, metadata } as StoredObject);
  }
  if (context.dryRun) return unchanged;
  const { deletionTimestamp, finalizers = [] } = written.metadata;
  if (current !== undefined && deletionTimestamp !== undefined && finalizers.length === 0) {
    // The last finalizer is gone. The answer still has the previous version.
    context.store.delete(unchanged);
    return unchanged;
  }
  return context.store.put(request.resource, key, written);
}

function buildMetadata(
  object: StoredObject,
  request: ResourceRequest,
  { now, uid = randomUUID }: WriteContext,
): StoredObject["metadata"] {
  const { metadata } = object;
  if (metadata.resourceVersion !== undefined) {
    throw new Refusal(500, undefined, "resourceVersion should not be set on objects to be created");
  }
  const { deletionTimestamp: _timestamp, managedFields: _fields, selfLink: _link, ...rest } = metadata;
  const generated =
    metadata.generateName === undefined ? "" : `${metadata.generateName}${createRandomSuffix()}`;
  return {
    ...rest,
    name: metadata.name ?? generated,
    ...(request.namespace === undefined ? {} : { namespace: request.namespace }),
    uid: uid(),
    resourceVersion: "",
    creationTimestamp: formatRfc3339(now),
  };
}

function createRandomSuffix(): string {
  return randomBytes(3).toString("hex").slice(0, 5);
}

function parseObject({ resource, namespace }: ResourceRequest, body: string): JsonObject {
  const object = parseJson(
    body,
    (why) =>
      `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; json parse error: ${why} (${body.slice(0, 64)})`,
  );
  if (!isJsonObject(object)) throw createBadRequest(`the object provided is not a ${resource.kind}`);
  const kind = object["kind"] ?? resource.kind;
  if (kind !== resource.kind) {
    throw createBadRequest(
      `${kind} in version "v1" cannot be handled as a ${resource.kind}: converting (v1.${kind}) to (core.${resource.kind}): unknown conversion`,
    );
  }
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const named = metadata["namespace"] ?? "";
  if (resource.namespaced && named !== "" && named !== namespace) {
    throw createBadRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  const fault = checkShape(object);
  if (fault !== undefined) {
    throw createBadRequest(
      `${resource.kind} in version "v1" cannot be handled as a ${resource.kind}: ${fault}`,
    );
  }
  return { ...object, metadata };
}

function parsePatch(body: string): unknown {
  return parseJson(body, (why) => `error decoding patch: ${why}`);
}

function parseJson(body: string, message: (why: string) => string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw createBadRequest(message(getErrorMessage(error)));
  }
}

function parsePatchObject(patch: unknown): JsonObject {
  if (isJsonObject(patch)) return patch;
  throw createBadRequest(
    "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
  );
}

function checkPreconditions(
  current: Version,
  { uid, resourceVersion }: DeleteOptions["preconditions"],
): void {
  const { metadata } = current.object;
  const refuse = (because: string): Error =>
    createConflict(getKindSubject(current.resource), metadata.name, because);
  if (uid !== undefined && uid !== metadata.uid) {
    throw refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

function formatRfc3339(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
