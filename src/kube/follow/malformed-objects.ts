import { sanitizeText } from "#core/sanitize-text.ts";
import { getMetadata } from "#kube/follow/object-key.ts";

/** The malformed objects of one request, which were left out. */
export interface MalformedObjects {
  add(object: unknown): void;
  /** Total number. */
  readonly count: number;
  /** Reports those not reported yet. */
  end(): void;
}

/**
 * Objects without a name, uid or resourceVersion were left out: the number since the last note, and the first
 * of them.
 */
export interface MalformedNote {
  readonly kind: "malformed";
  readonly objects: number;
  readonly message: string;
}

/** Reports the first malformed object at once, and all others together at the end. */
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
        message = `an object (${formatName(object)}) of ${path} has no usable name, uid or resourceVersion`;
      if (count === 1) tell();
    },
    end: tell,
  };
}

function formatName(object: unknown): string {
  const { name } = getMetadata(object);
  return typeof name === "string" ? `"${sanitizeText(name)}"` : "without a name";
}
