import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Resource } from "#emulators/api-server/resources.ts";

/** One version of one object; its JSON is made once, when first asked for, and shared by all who read it. */
export class Version {
  readonly resource: Resource;
  readonly key: string;
  readonly revision: number;
  readonly object: StoredObject;
  #item: string | undefined;
  #json: string | undefined;
  #partial: string | undefined;

  constructor(resource: Resource, key: string, revision: number, object: StoredObject) {
    this.resource = resource;
    this.key = key;
    this.revision = revision;
    this.object = object;
  }

  /** As an item of a list: without kind and apiVersion. */
  get item(): string {
    this.#item ??= JSON.stringify(this.object);
    return this.#item;
  }

  get json(): string {
    this.#json ??= `{"kind":"${this.resource.kind}","apiVersion":"${this.resource.apiVersion}",${this.item.slice(1)}`;
    return this.#json;
  }

  get partial(): string {
    this.#partial ??= `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":${JSON.stringify(this.object.metadata)}}`;
    return this.#partial;
  }
}

/** One write, as the history keeps it and watches are told of it; its lines are made once for all watches. */
export class Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: Version;
  /** What it replaced or deleted. */
  readonly previous: Version | undefined;
  #line: string | undefined;

  constructor(type: Change["type"], version: Version, previous: Version | undefined) {
    this.type = type;
    this.version = version;
    this.previous = previous;
  }

  /** The line of a watch; of the type that the change has for that watch. */
  line(type: Change["type"], partial: boolean): string {
    if (partial || type !== this.type) return this.#lineOf(type, partial);
    this.#line ??= this.#lineOf(type, false);
    return this.#line;
  }

  #lineOf(type: Change["type"], partial: boolean): string {
    return `{"type":"${type}","object":${partial ? this.version.partial : this.version.json}}\n`;
  }
}

/** The store's whole state, as a backup holds it. */
export interface StoreDump {
  readonly revision: number;
  readonly objects: readonly {
    readonly resource: string;
    readonly key: string;
    readonly object: StoredObject;
  }[];
}

/** A small etcd with a watch cache: one revision counter for all objects, and as much history as `historyLimit` says. */
export class Store {
  readonly #historyLimit: number;
  readonly #listeners = new Set<(change: Change) => void>();
  #objects = new Map<Resource, Map<string, Version>>();
  #sorted = new Map<Resource, readonly Version[]>();
  #progress = new Map<Resource, number>();
  #history: Change[] = [];
  #revision = 1;
  #compacted = 0;
  #watchableFrom = 0;

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Watches can start after this revision or a later one. */
  get watchableFrom(): number {
    return this.#watchableFrom;
  }

  /** The revision up to which watches of the resource are known to be complete: its last write, or its last list. */
  progress(resource: Resource): number {
    return this.#progress.get(resource) ?? 0;
  }

  get(resource: Resource, key: string): Version | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  /** All objects sorted by key, now or as they were at a revision; undefined where that revision is compacted. */
  list(resource: Resource, revision = this.#revision): readonly Version[] | undefined {
    if (revision >= this.#revision) {
      this.#progress.set(resource, this.#revision);
      return this.#sortedNow(resource);
    }
    if (revision < this.#compacted) return undefined;
    const then = new Map(this.#objects.get(resource));
    for (const { version, previous } of this.#changesAfter(revision).toReversed()) {
      if (version.resource !== resource) continue;
      if (previous === undefined) then.delete(version.key);
      else then.set(version.key, previous);
    }
    return sortedByKey(then.values());
  }

  /** What happened to the resource's objects after a revision; undefined where that is too long ago. */
  since(resource: Resource, revision: number): readonly Change[] | undefined {
    if (revision < this.#watchableFrom) return undefined;
    return this.#changesAfter(revision).filter((change) => change.version.resource === resource);
  }

  /** Tells of every write from now on, before the write is answered. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stores the object under the next revision, which becomes its resourceVersion. */
  put(resource: Resource, key: string, object: StoredObject): Version {
    const previous = this.get(resource, key);
    const version = this.#next(resource, key, object);
    this.#keyed(resource).set(key, version);
    this.#record(new Change(previous === undefined ? "ADDED" : "MODIFIED", version, previous));
    return version;
  }

  /** Deletes it; the deletion has a revision of its own. */
  delete(previous: Version): Version {
    const version = this.#next(previous.resource, previous.key, previous.object);
    this.#keyed(previous.resource).delete(previous.key);
    this.#record(new Change("DELETED", version, previous));
    return version;
  }

  /** Forgets the states before now: lists of them expire. Watches are served from another memory and go on. */
  compact(): void {
    this.#compacted = this.#revision;
  }

  /** Forgets the changes up to now: a watch can start only from now on, as after a restart of the server. */
  forgetChanges(): void {
    this.#watchableFrom = this.#revision;
  }

  dump(): StoreDump {
    const versions = [...this.#objects.values()].flatMap((objects) => [...objects.values()]);
    const objects = versions.map(({ resource, key, object }) => ({ resource: resource.name, key, object }));
    return { revision: this.#revision, objects };
  }

  /** Sets everything back, the revision counter too, and forgets all history. */
  load(dump: StoreDump, resourceNamed: (name: string) => Resource): void {
    this.#objects = new Map();
    this.#sorted = new Map();
    this.#progress = new Map();
    this.#history = [];
    this.#revision = dump.revision;
    for (const { resource, key, object } of dump.objects) {
      const known = resourceNamed(resource);
      const revision = Number(object.metadata.resourceVersion);
      this.#keyed(known).set(key, new Version(known, key, revision, object));
    }
    this.compact();
    this.forgetChanges();
  }

  #next(resource: Resource, key: string, object: StoredObject): Version {
    this.#revision += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#revision) };
    return new Version(resource, key, this.#revision, { ...object, metadata });
  }

  #record(change: Change): void {
    this.#sorted.delete(change.version.resource);
    this.#progress.set(change.version.resource, change.version.revision);
    this.#history.push(change);
    // Cut in one go once a quarter over, as shifting an array at every write costs its whole length.
    if (this.#history.length > this.#historyLimit * 1.25) {
      this.#history = this.#history.slice(-this.#historyLimit);
      const forgotten = (this.#history[0]?.version.revision ?? this.#revision + 1) - 1;
      this.#compacted = Math.max(this.#compacted, forgotten);
      this.#watchableFrom = Math.max(this.#watchableFrom, forgotten);
    }
    for (const listener of this.#listeners) listener(change);
  }

  #changesAfter(revision: number): readonly Change[] {
    // Revisions in the history are gapless, so the place is known.
    const first = this.#history[0]?.version.revision ?? this.#revision + 1;
    return this.#history.slice(Math.max(0, revision + 1 - first));
  }

  #sortedNow(resource: Resource): readonly Version[] {
    const known = this.#sorted.get(resource);
    if (known !== undefined) return known;
    const sorted = sortedByKey(this.#keyed(resource).values());
    this.#sorted.set(resource, sorted);
    return sorted;
  }

  #keyed(resource: Resource): Map<string, Version> {
    const known = this.#objects.get(resource);
    if (known !== undefined) return known;
    const objects = new Map<string, Version>();
    this.#objects.set(resource, objects);
    return objects;
  }
}

function sortedByKey(versions: Iterable<Version>): readonly Version[] {
  return [...versions].sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0));
}
