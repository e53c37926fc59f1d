import { isDeepStrictEqual } from "node:util";
import {
  isJsonObject,
  type JsonObject,
  type ManagedFieldsEntry,
  type StoredObject,
} from "#emulators/api-server/object.ts";

/** The writer of an object: the field manager, the written part, and the time (RFC 3339). */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string | undefined;
  readonly time: string;
}

/**
 * Returns the object's managedFields after a write: each changed field belongs only to its writer. This is
 * coarser than the real server, where several can own a field. Labels, annotations and finalizers are tracked
 * one by one; of spec and status (or of an object without them) the direct members.
 */
export function updateManagedFields(
  after: StoredObject,
  before: StoredObject | undefined,
  writer: Writer,
): ManagedFieldsEntry[] {
  const owned = collectFields(after);
  const previous = before === undefined ? new Map<string, unknown>() : collectFields(before);
  const changed = new Set<string>();
  for (const path of [...owned.keys(), ...previous.keys()]) {
    if (!isDeepStrictEqual(owned.get(path), previous.get(path))) changed.add(path);
  }
  const others = (before?.metadata.managedFields ?? []).map((entry) => ({ entry, paths: listPaths(entry) }));
  const own = others.find(({ entry }) => isWriters(entry, writer));
  const kept = others
    .filter((other) => other !== own)
    .map(({ entry, paths }) =>
      replacePaths(entry, paths, new Set([...paths].filter((path) => !changed.has(path)))),
    );
  const mine = new Set([...(own?.paths ?? []), ...changed].filter((path) => owned.has(path)));
  return [...kept, buildEntry(writer, mine)].filter((entry) => Object.keys(entry.fieldsV1).length > 0);
}

const SEPARATOR = "\u0000";

function collectFields(object: StoredObject): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const { labels, annotations, finalizers } = object.metadata;
  for (const [section, members] of Object.entries({ labels, annotations })) {
    for (const [key, value] of Object.entries(members ?? {}))
      fields.set(joinPath("metadata", section, key), value);
  }
  if (finalizers !== undefined) fields.set(joinPath("metadata", "finalizers"), finalizers);
  for (const [section, value] of Object.entries(object)) {
    if (section === "metadata") continue;
    if (!isJsonObject(value)) fields.set(joinPath(section), value);
    else for (const [member, inner] of Object.entries(value)) fields.set(joinPath(section, member), inner);
  }
  return fields;
}

function joinPath(...parts: readonly string[]): string {
  return parts.map((part) => `f:${part}`).join(SEPARATOR);
}

function listPaths(entry: ManagedFieldsEntry): Set<string> {
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

function replacePaths(
  entry: ManagedFieldsEntry,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): ManagedFieldsEntry {
  return before.size === after.size ? entry : { ...entry, fieldsV1: nestPaths(after) };
}

function buildEntry(writer: Writer, paths: ReadonlySet<string>): ManagedFieldsEntry {
  return {
    manager: writer.manager,
    operation: "Update",
    apiVersion: writer.apiVersion,
    time: writer.time,
    fieldsType: "FieldsV1",
    fieldsV1: nestPaths(paths),
    ...(writer.subresource === undefined ? {} : { subresource: writer.subresource }),
  };
}

function nestPaths(paths: ReadonlySet<string>): JsonObject {
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
