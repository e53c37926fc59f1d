import { shown } from "#core/shown-text.ts";
import { metadataOf } from "#kube/follow/object-key.ts";

/** Objects of one request that were left out. */
export interface MalformedObjects {
  add(object: unknown): void;
  /** So many in all. */
  readonly count: number;
  /** Tells of those that were not told yet. */
  end(): void;
}

/** Objects without a name, uid or resourceVersion were left out: so many since the last note, of which this is the first. */
export interface MalformedNote {
  readonly kind: "malformed";
  readonly objects: number;
  readonly message: string;
}

/** Tells of the first at once, and of all others together, at the end. */
export function createMalformedObjects(path: string, note: (note: MalformedNote) => void): MalformedObjects {
  let count = 0;
  let untold = 0;
  let message = "";

  function tell(): void {
    if (untold === 0) return;
    note({ kind: "malformed", objects: untold, message });
    untold = 0;
  }

  return {
    get count() {
      return count;
    },
    add(object) {
      count += 1;
      untold += 1;
      if (untold === 1)
        message = `an object (${nameOf(object)}) of ${path} has no usable name, uid or resourceVersion`;
      if (count === 1) tell();
    },
    end: tell,
  };
}

function nameOf(object: unknown): string {
  const { name } = metadataOf(object);
  return typeof name === "string" ? `"${shown(name)}"` : "without a name";
}
