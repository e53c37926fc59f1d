import type { ClusterObjects, ObjectFault } from "#clouds/cluster-objects.ts";
import { patched } from "#core/json-patch.ts";
import { keyOfName } from "#core/resources/resource.ts";

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

/** Objects of a cluster in a Map, which patch as an API server does: by tests, and each with a new version. */
export interface FakeObjects extends ClusterObjects {
  readonly requests: string[];
  put(
    resource: string,
    object: { readonly metadata: object; readonly data?: object | undefined; readonly spec?: unknown },
  ): void;
  get(resource: string, name: string): KeptObject | undefined;
  remove(resource: string, name: string): void;
  /** What the next requests come to instead, each once. */
  readonly next: ("conflict" | "lost" | ObjectFault)[];
  /** Before each request is carried out. */
  onRequest: (what: string) => Promise<void> | void;
  /** Before each list that was made is answered. */
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
      objects.set(keyed(resource, keyOfName({ namespace, name })), { ...object, metadata } as KeptObject);
    },
    get: (resource, name) => objects.get(keyed(resource, name)),
    remove: (resource, name) => void objects.delete(keyed(resource, name)),
    async read({ name: resource }, name) {
      const instead = await enter(`GET ${resource}`);
      if (typeof instead === "object") return instead;
      const object = objects.get(keyed(resource, keyOfName(name)));
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
      if (instead === "conflict") return { kind: "conflict", message: "somebody was faster" };
      const key = keyed(resource, keyOfName(name));
      const before = objects.get(key);
      const isRead = tests.every(
        ({ path, value }) =>
          path !== "/metadata/resourceVersion" || value === before?.metadata.resourceVersion,
      );
      if (before === undefined || !isRead) return { kind: "conflict", message: "a test does not hold" };
      fake.put(resource, patched(before, operations));
      if (instead === "lost") return LOST;
      return { kind: "done", object: structuredClone(objects.get(key)) };
    },
  };
  return fake;
}
