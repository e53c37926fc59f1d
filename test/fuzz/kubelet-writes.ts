import type { JsonObject, StoredObject } from "#emulators/api-server/object.ts";
import { findResource } from "#emulators/api-server/resources.ts";
import { createObject, deleteObject, patchObject, type WriteContext } from "#emulators/api-server/write.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { buildJoiningNode, type JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import type { InProcessApi } from "#test/fuzz/in-process-api.ts";

/** Writes of other clients to nodes. Each write is atomic and immediate, and never counts as ours. */
export interface OtherWriters {
  /** Whether one of these writes is running now. */
  readonly writing: boolean;
  nodes(): readonly StoredObject[];
  node(name: string): StoredObject | undefined;
  register(options: JoiningNodeOptions): void;
  remove(name: string): void;
  /** Merges into the node or its status; ignores a missing node. */
  merge(name: string, patch: JsonObject, subresource?: "status"): void;
}

const resource = findResource("nodes");

/** Creates writers with an administrator's rights on the store itself. */
export function createOtherWriters(api: InProcessApi, nextUid: () => string): OtherWriters {
  if (resource === undefined) throw new Error("the embedded API server has no nodes");
  const nodes = resource;
  let writing = false;
  const context = (): WriteContext => ({
    store: api.context.store,
    manager: "others",
    user: CONTROL_PLANE_USERS.admin,
    dryRun: false,
    now: api.context.now(),
    uid: nextUid,
  });
  const request = (name: string | undefined, subresource?: string) =>
    ({ verb: "patch", resource: nodes, namespace: undefined, name, subresource }) as const;
  const write = (act: () => unknown): void => {
    writing = true;
    try {
      act();
    } finally {
      writing = false;
    }
  };
  const find = (name: string): StoredObject | undefined => api.context.store.get(nodes, name)?.object;
  return {
    get writing() {
      return writing;
    },
    nodes: () => (api.context.store.list(nodes) ?? []).map(({ object }) => object),
    node: find,
    register: (options) =>
      write(() => createObject(context(), request(undefined), JSON.stringify(buildJoiningNode(options)))),
    remove: (name) => {
      if (find(name) !== undefined) write(() => deleteObject(context(), request(name), ""));
    },
    merge: (name, patch, subresource) => {
      if (find(name) === undefined) return;
      const type = "application/merge-patch+json";
      write(() => patchObject(context(), request(name, subresource), type, JSON.stringify(patch)));
    },
  };
}
