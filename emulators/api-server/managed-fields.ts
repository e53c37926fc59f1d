import { isDeepStrictEqual } from "node:util";
import {
  isJsonObject,
  type JsonObject,
  type ManagedFieldsEntry,
  type StoredObject,
} from "#emulators/api-server/object.ts";

/** Who writes: the field manager, which part of the object, and when (RFC 3339). */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string | undefined;
  readonly time: string;
}

/**
 * The object's managedFields after a write: each changed field belongs to its writer and to nobody else. Coarser than
 * the real server, where several can own a field: labels, annotations and finalizers one by one, of spec and status
 * (or of an object without them, of the object) the direct members.
 */
export function managedFieldsAfter(
  after: StoredObject,
  before: StoredObject | undefined,
  writer: Writer,
): ManagedFieldsEntry[] {
  const owned = fieldsOf(after);
  const previous = before === undefined ? new Map<string, unknown>() : fieldsOf(before);
  const changed = new Set<string>();
  for (const path of [...owned.keys(), ...previous.keys()]) {
    if (!isDeepStrictEqual(owned.get(path), previous.get(path))) changed.add(path);
  }
  const others = (before?.metadata.managedFields ?? []).map((entry) => ({ entry, paths: pathsOf(entry) }));
  const own = others.find(({ entry }) => isWriters(entry, writer));
  const kept = others
    .filter((other) => other !== own)
    .map(({ entry, paths }) =>
      withPaths(entry, paths, new Set([...paths].filter((path) => !changed.has(path)))),
    );
  const mine = new Set([...(own?.paths ?? []), ...changed].filter((path) => owned.has(path)));
  return [...kept, entryOf(writer, mine)].filter((entry) => Object.keys(entry.fieldsV1).length > 0);
}

const SEPARATOR = "\u0000";

function fieldsOf(object: StoredObject): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const { labels, annotations, finalizers } = object.metadata;
  for (const [section, members] of Object.entries({ labels, annotations })) {
    for (const [key, value] of Object.entries(members ?? {}))
      fields.set(path("metadata", section, key), value);
  }
  if (finalizers !== undefined) fields.set(path("metadata", "finalizers"), finalizers);
  for (const [section, value] of Object.entries(object)) {
    if (section === "metadata") continue;
    if (!isJsonObject(value)) fields.set(path(section), value);
    else for (const [member, inner] of Object.entries(value)) fields.set(path(section, member), inner);
  }
  return fields;
}

function path(...parts: readonly string[]): string {
  return parts.map((part) => `f:${part}`).join(SEPARATOR);
}

function pathsOf(entry: ManagedFieldsEntry): Set<string> {
  const paths = new Set<string>();
  const walk = (fields: JsonObject, prefix: readonly string[]): void => {
    for (const [part, inner] of Object.entries(fields)) {
      if (part === "." || !isJsonObject(inner)) continue;
      if (Object.keys(inner).length === 0) paths.add([...prefix, part].join(SEPARATOR));
      else walk(inner, [...prefix, part]);
    }
  };
  walk(entry.fieldsV1, []);
  return paths;
}

function withPaths(
  entry: ManagedFieldsEntry,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): ManagedFieldsEntry {
  return before.size === after.size ? entry : { ...entry, fieldsV1: nested(after) };
}

function entryOf(writer: Writer, paths: ReadonlySet<string>): ManagedFieldsEntry {
  return {
    manager: writer.manager,
    operation: "Update",
    apiVersion: writer.apiVersion,
    time: writer.time,
    fieldsType: "FieldsV1",
    fieldsV1: nested(paths),
    ...(writer.subresource === undefined ? {} : { subresource: writer.subresource }),
  };
}

function nested(paths: ReadonlySet<string>): JsonObject {
  const root: JsonObject = {};
  for (const joined of paths) {
    let fields = root;
    for (const part of joined.split(SEPARATOR)) {
      const inner = fields[part];
      const next = isJsonObject(inner) ? inner : {};
      fields[part] = next;
      fields = next;
    }
  }
  return root;
}

function isWriters(entry: ManagedFieldsEntry, writer: Writer): boolean {
  return entry.manager === writer.manager && entry.subresource === writer.subresource;
}
