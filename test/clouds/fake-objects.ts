import type { ClusterObjects, ObjectFault } from "#clouds/cluster-objects.ts";
import { applyOperations } from "#core/json-patch.ts";
import { formatObjectKey } from "#core/resources/resource.ts";

/** An object as the fake keeps it. */
export interface KeptObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: unknown;
}

/**
 * Objects of a cluster in a Map, with an API server's patches: JSON Patch tests, and a new version each time.
 */
export interface FakeObjects extends ClusterObjects {
  readonly requests: string[];
  put(
    resource: string,
    object: { readonly metadata: object; readonly data?: object | undefined; readonly spec?: unknown },
  ): void;
  get(resource: string, name: string): KeptObject | undefined;
  remove(resource: string, name: string): void;
  /** Results of the next requests in place of the real ones, each once. */
  readonly next: ("conflict" | "lost" | ObjectFault)[];
  /** Called before each request is carried out. */
  onRequest: (what: string) => Promise<void> | void;
  /** Called before each list is returned. */
  onLeave: (what: string) => Promise<void> | void;
}

export function createFakeObjects(): FakeObjects {
  const objects = new Map<string, KeptObject>();
  let version = 100;
  const keyed = (resource: string, name: string): string => `${resource} ${name}`;
  const LOST: ObjectFault = { kind: "error", code: "Unavailable", message: "the answer was lost" };

  async function enter(what: string): Promise<FakeObjects["next"][number] | undefined> {
    fake.requests.push(what);
    await fake.onRequest(what);
    return fake.next.shift();
  }

  const fake: FakeObjects = {
    requests: [],
    next: [],
    onRequest: () => undefined,
    onLeave: () => undefined,
    put(resource, object) {
      version += 1;
      const { namespace, name } = object.metadata as { namespace: string; name: string };
      const metadata = { ...object.metadata, namespace, name, resourceVersion: String(version) };
      objects.set(keyed(resource, formatObjectKey({ namespace, name })), {
        ...object,
        metadata,
      } as KeptObject);
    },
    get: (resource, name) => objects.get(keyed(resource, name)),
    remove: (resource, name) => void objects.delete(keyed(resource, name)),
    async read({ name: resource }, name) {
      const instead = await enter(`GET ${resource}`);
      if (typeof instead === "object") return instead;
      const object = objects.get(keyed(resource, formatObjectKey(name)));
      return object === undefined
        ? { kind: "absent", message: `${resource} "${name.name}" not found` }
        : { kind: "object", object: structuredClone(object) };
    },
    async list({ name: resource }, label, take) {
      const instead = await enter(`LIST ${resource}`);
      if (typeof instead === "object") return instead;
      const [key = "", value] = label.split("=");
      const items = [...objects].filter(
        ([at, { metadata }]) => at.startsWith(`${resource} `) && metadata.labels?.[key] === value,
      );
      const taken = items.flatMap(([, object]) => take(structuredClone(object)) ?? []);
      await fake.onLeave(`LIST ${resource}`);
      return { kind: "objects", items: taken };
    },
    async patch({ name: resource }, name, { tests, operations }) {
      const instead = await enter(`PATCH ${resource}`);
      if (typeof instead === "object") return instead;
      if (instead === "conflict") return { kind: "conflict", message: "another client was faster" };
      const key = keyed(resource, formatObjectKey(name));
      const before = objects.get(key);
      const isRead = tests.every(
        ({ path, value }) =>
          path !== "/metadata/resourceVersion" || value === before?.metadata.resourceVersion,
      );
      if (before === undefined || !isRead) return { kind: "conflict", message: "a test does not hold" };
      fake.put(resource, applyOperations(before, operations));
      if (instead === "lost") return LOST;
      return { kind: "done", object: structuredClone(objects.get(key)) };
    },
  };
  return fake;
}
