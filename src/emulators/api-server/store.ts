import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Resource } from "#emulators/api-server/resources.ts";

/** One version of one object; its JSON is rendered once, on first use, and shared by all readers. */
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

/** One write in the history and in watches; its lines are rendered once for all watches. */
export class Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: Version;
  /** The replaced or deleted version. */
  readonly previous: Version | undefined;
  #line: string | undefined;

  constructor(type: Change["type"], version: Version, previous: Version | undefined) {
    this.type = type;
    this.version = version;
    this.previous = previous;
  }

  /** Returns the line of a watch, with the type of the change for that watch. */
  line(type: Change["type"], partial: boolean): string {
    if (partial || type !== this.type) return this.#lineOf(type, partial);
    this.#line ??= this.#lineOf(type, false);
    return this.#line;
  }

  #lineOf(type: Change["type"], partial: boolean): string {
    return `{"type":"${type}","object":${partial ? this.version.partial : this.version.json}}\n`;
  }
}

/** The store's whole state, as in a backup. */
export interface StoreDump {
  readonly revision: number;
  readonly objects: readonly {
    readonly resource: string;
    readonly key: string;
    readonly object: StoredObject;
  }[];
}

/**
 * A small etcd with a watch cache: one revision counter for all objects, and a history of `historyLimit`
 * writes.
 */
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

  /**
   * Returns the revision up to which watches of the resource are complete: its last write, or its last list.
   */
  progress(resource: Resource): number {
    return this.#progress.get(resource) ?? 0;
  }

  get(resource: Resource, key: string): Version | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  /** Returns all objects sorted by key, now or at a revision; undefined if that revision is compacted. */
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
    return sortByKey(then.values());
  }

  /** Returns the resource's changes after a revision; undefined if that is too long ago. */
  since(resource: Resource, revision: number): readonly Change[] | undefined {
    if (revision < this.#watchableFrom) return undefined;
    return this.#changesAfter(revision).filter((change) => change.version.resource === resource);
  }

  /** Calls the listener for every write from now on, before the write is answered. */
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

  /** Deletes it; the deletion has its own revision. */
  delete(previous: Version): Version {
    const version = this.#next(previous.resource, previous.key, previous.object);
    this.#keyed(previous.resource).delete(previous.key);
    this.#record(new Change("DELETED", version, previous));
    return version;
  }

  /** Forgets the states before now: lists of them expire. Watches use another memory and continue. */
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

  /** Restores everything, including the revision counter, and forgets all history. */
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
    // Cut at once when it is a quarter over the limit, as shifting an array at every write costs its whole
    // length.
    if (this.#history.length > this.#historyLimit * 1.25) {
      this.#history = this.#history.slice(-this.#historyLimit);
      const forgotten = (this.#history[0]?.version.revision ?? this.#revision + 1) - 1;
      this.#compacted = Math.max(this.#compacted, forgotten);
      this.#watchableFrom = Math.max(this.#watchableFrom, forgotten);
    }
    for (const listener of this.#listeners) listener(change);
  }

  #changesAfter(revision: number): readonly Change[] {
    // Revisions in the history have no gaps, so the index is known.
    const first = this.#history[0]?.version.revision ?? this.#revision + 1;
    return this.#history.slice(Math.max(0, revision + 1 - first));
  }

  #sortedNow(resource: Resource): readonly Version[] {
    const known = this.#sorted.get(resource);
    if (known !== undefined) return known;
    const sorted = sortByKey(this.#keyed(resource).values());
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

function sortByKey(versions: Iterable<Version>): readonly Version[] {
  return [...versions].sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0));
}
