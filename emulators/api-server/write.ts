import { randomBytes, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "#core/message-of.ts";
import { authorizeSigner } from "#emulators/api-server/authorize.ts";
import { requestedBy, withApproval } from "#emulators/api-server/certificate-requests.ts";
import { applyJsonPatch } from "#emulators/api-server/json-patch.ts";
import { managedFieldsAfter } from "#emulators/api-server/managed-fields.ts";
import { applyMergePatch, applyStrategicMergePatch } from "#emulators/api-server/merge-patch.ts";
import { normalized } from "#emulators/api-server/normalize.ts";
import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import { getObject } from "#emulators/api-server/read.ts";
import { keyOf, type ResourceRequest } from "#emulators/api-server/request-info.ts";
import { CERTIFICATE_SIGNING_REQUESTS, NAMESPACES, SERVICES } from "#emulators/api-server/resources.ts";
import { withStatusOfType } from "#emulators/api-server/services.ts";
import { shapeFault } from "#emulators/api-server/shape.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  notFound,
  patchedOutOfShape,
  Refusal,
  unsupportedMediaType,
} from "#emulators/api-server/status.ts";
import { type Store, Version } from "#emulators/api-server/store.ts";
import { metadataCauses, metadataUpdateCauses } from "#emulators/api-server/validate-metadata.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";

/** What a write needs beside what it is about. */
export interface WriteContext {
  readonly store: Store;
  readonly manager: string;
  readonly user: ControlPlaneUser;
  /** Of new objects; a random one without it. */
  readonly uid?: () => string;
  /** Everything but the write itself. */
  readonly dryRun: boolean;
  readonly now: Date;
}

/** Creates the object in the body. */
export function createObject(context: WriteContext, request: ResourceRequest, body: string): Version {
  const { resource } = request;
  const object = normalized(parseObject(request, body));
  const metadata = metadataOfNew(object, request, context);
  const asked = { ...object, metadata };
  const isCsr = resource === CERTIFICATE_SIGNING_REQUESTS;
  const prepared = resource.prepare(isCsr ? requestedBy(context.user, asked) : asked, true);
  const causes = [...metadataCauses(metadata), ...resource.causes(prepared)];
  if (causes.length > 0) throw invalid(resource.kind, metadata.name, causes);
  const key = keyOf(request.namespace, metadata.name);
  if (context.store.get(resource, key) !== undefined) throw alreadyExists(resource.name, metadata.name);
  const { namespace } = request;
  if (namespace !== undefined && context.store.get(NAMESPACES, namespace) === undefined) {
    throw notFound("namespaces", namespace);
  }
  return commit(context, request, key, prepared, undefined);
}

/** Replaces the object by the body. */
export function updateObject(context: WriteContext, request: ResourceRequest, body: string): Version {
  const current = getObject(context.store, request);
  const document = parseObject(request, body);
  const { uid } = document["metadata"] as JsonObject;
  const known = current.object.metadata.uid;
  if (uid !== undefined && uid !== "" && uid !== known) {
    const because = `StorageError: invalid object, Code: 4, Key: /registry/${current.key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${known}`;
    throw conflict(request.resource.name, current.object.metadata.name, because);
  }
  return replaceObject(context, request, current, document);
}

/** Applies the patch in the body, of the type that the content type names. */
export function patchObject(
  context: WriteContext,
  request: ResourceRequest,
  contentType: string,
  body: string,
): Version {
  const apply = PATCHES[contentType];
  if (apply === undefined) throw unsupportedMediaType();
  const current = getObject(context.store, request);
  // Parsing makes a copy of its own.
  const document = JSON.parse(current.json) as JsonObject;
  const patched = apply(document, parsePatch(body));
  const fault = shapeFault(patched);
  if (fault !== undefined) throw patchedOutOfShape(patched, fault);
  return replaceObject(context, request, current, patched);
}

/** What is left after a deletion: nothing but the uid, or the object, still there for its finalizers. */
export type Deletion =
  | { readonly kind: "deleted"; readonly uid: string }
  | { readonly kind: "kept"; readonly version: Version };

/** Deletes the object if the body's preconditions hold; with finalizers it only gets a deletionTimestamp. */
export function deleteObject(context: WriteContext, request: ResourceRequest, body: string): Deletion {
  const current = getObject(context.store, request);
  checkPreconditions(current, body);
  const { metadata } = current.object;
  if ((metadata.finalizers ?? []).length === 0) {
    if (!context.dryRun) context.store.delete(current);
    return { kind: "deleted", uid: metadata.uid };
  }
  if (metadata.deletionTimestamp !== undefined) return { kind: "kept", version: current };
  const deletionTimestamp = rfc3339(context.now);
  const marked = {
    ...current.object,
    metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 },
  };
  return { kind: "kept", version: commit(context, request, current.key, marked, current) };
}

const PATCHES: Readonly<Record<string, (document: JsonObject, patch: unknown) => JsonObject>> = {
  "application/json-patch+json": applyJsonPatch,
  "application/merge-patch+json": (document, patch) => applyMergePatch(document, patchObjectOf(patch)),
  "application/strategic-merge-patch+json": (document, patch) =>
    applyStrategicMergePatch(document, patchObjectOf(patch)),
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
  const named = isJsonObject(document["metadata"]) ? document["metadata"]["name"] : undefined;
  if (typeof named !== "string" || named === "") {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  const object = normalized(document);
  const asked = object.metadata;
  if (asked.name !== name) {
    throw badRequest(`the name of the object (${asked.name}) does not match the name on the URL (${name})`);
  }
  if (asked.resourceVersion !== undefined && asked.resourceVersion !== previous.metadata.resourceVersion) {
    const because =
      "the object has been modified; please apply your changes to the latest version and try again";
    throw conflict(resource.name, name, because);
  }
  const metadata = withKept({ ...asked, uid: asked.uid ?? previous.metadata.uid }, previous.metadata);
  const now = rfc3339(context.now);
  const part = withOtherPart({ ...object, metadata }, previous, subresource, now);
  const clears = resource === SERVICES && subresource === undefined;
  const merged = resource.prepare(clears ? withStatusOfType(part) : part, false);
  const causes = [
    ...metadataUpdateCauses(metadata, previous.metadata),
    ...metadataCauses(metadata),
    ...resource.causes(merged),
    ...resource.updateCauses(merged, previous),
  ];
  if (causes.length > 0) throw invalid(resource.kind, name, causes);
  if (isDeepStrictEqual(merged, previous)) return current;
  return commit(context, request, current.key, merged, current);
}

// A write to the object keeps its status, one to its status keeps all the rest but metadata.
function withOtherPart(
  object: StoredObject,
  previous: StoredObject,
  subresource: string | undefined,
  now: string,
): StoredObject {
  if (subresource === "approval") return withApproval(object, previous, now);
  if (subresource === "status") {
    const { status: _before, ...rest } = previous;
    const { metadata, status } = object;
    return { ...rest, metadata, ...(status === undefined ? {} : { status }) };
  }
  const { status: _status, ...rest } = object;
  return previous.status === undefined ? object : { ...rest, status: previous.status };
}

// What clients send of these is passed over without a word.
function withKept(
  metadata: StoredObject["metadata"],
  previous: StoredObject["metadata"],
): StoredObject["metadata"] {
  const {
    deletionTimestamp: _timestamp,
    deletionGracePeriodSeconds: _seconds,
    managedFields: _fields,
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
    time: rfc3339(context.now),
  };
  const managedFields = managedFieldsAfter(object, current?.object, writer);
  const written = { ...object, metadata: { ...object.metadata, managedFields } };
  const unchanged = new Version(request.resource, key, current?.revision ?? 0, written);
  if (context.dryRun) return unchanged;
  const { deletionTimestamp, finalizers = [] } = written.metadata;
  if (current !== undefined && deletionTimestamp !== undefined && finalizers.length === 0) {
    // The last finalizer is gone. The answer still has the version before.
    context.store.delete(unchanged);
    return unchanged;
  }
  return context.store.put(request.resource, key, written);
}

function metadataOfNew(
  object: StoredObject,
  request: ResourceRequest,
  { now, uid = randomUUID }: WriteContext,
): StoredObject["metadata"] {
  const { metadata } = object;
  if (metadata.resourceVersion !== undefined) {
    throw new Refusal(500, undefined, "resourceVersion should not be set on objects to be created");
  }
  const { deletionTimestamp: _timestamp, managedFields: _fields, ...rest } = metadata;
  const generated = metadata.generateName === undefined ? "" : `${metadata.generateName}${randomSuffix()}`;
  return {
    ...rest,
    name: metadata.name ?? generated,
    ...(request.namespace === undefined ? {} : { namespace: request.namespace }),
    uid: uid(),
    resourceVersion: "",
    creationTimestamp: rfc3339(now),
  };
}

function randomSuffix(): string {
  return randomBytes(3).toString("hex").slice(0, 5);
}

function parseObject({ resource, namespace }: ResourceRequest, body: string): JsonObject {
  const object = parseJson(
    body,
    (why) =>
      `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; json parse error: ${why} (${body.slice(0, 64)})`,
  );
  if (!isJsonObject(object)) throw badRequest(`the object provided is not a ${resource.kind}`);
  const kind = object["kind"] ?? resource.kind;
  if (kind !== resource.kind) {
    throw badRequest(
      `${kind} in version "v1" cannot be handled as a ${resource.kind}: converting (v1.${kind}) to (core.${resource.kind}): unknown conversion`,
    );
  }
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const named = metadata["namespace"] ?? "";
  if (named !== "" && named !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const fault = shapeFault(object);
  if (fault !== undefined) {
    throw badRequest(`${resource.kind} in version "v1" cannot be handled as a ${resource.kind}: ${fault}`);
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
    throw badRequest(message(messageOf(error)));
  }
}

function patchObjectOf(patch: unknown): JsonObject {
  if (isJsonObject(patch)) return patch;
  throw badRequest(
    "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
  );
}

function checkPreconditions(current: Version, body: string): void {
  if (body === "") return;
  const options = parseJson(body, (why) => `error decoding DeleteOptions: ${why}`);
  const preconditions = isJsonObject(options) ? options["preconditions"] : undefined;
  if (!isJsonObject(preconditions)) return;
  const { uid, resourceVersion } = preconditions;
  const { metadata } = current.object;
  const refuse = (because: string): Error => conflict(current.resource.kind, metadata.name, because);
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

function rfc3339(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
