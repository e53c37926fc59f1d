import type { JsonObject, StoredObject } from "#emulators/api-server/object.ts";
import { resourceNamed } from "#emulators/api-server/resources.ts";
import { createObject, deleteObject, patchObject, type WriteContext } from "#emulators/api-server/write.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { type JoiningNodeOptions, joiningNode } from "#emulators/harness/joining-node.ts";
import type { InProcessApi } from "#test/fuzz/in-process-api.ts";

/** What the world outside does to nodes: each write is carried out at once and whole, and known not to be ours. */
export interface OtherWriters {
  /** Whether one of these is at work right now. */
  readonly writing: boolean;
  nodes(): readonly StoredObject[];
  node(name: string): StoredObject | undefined;
  register(options: JoiningNodeOptions): void;
  remove(name: string): void;
  /** Merges into the node, or into its status; passes over one that is not there. */
  merge(name: string, patch: JsonObject, subresource?: "status"): void;
}

const resource = resourceNamed("nodes");

/** Writers with an administrator's rights, on the store itself. */
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
      write(() => createObject(context(), request(undefined), JSON.stringify(joiningNode(options)))),
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
