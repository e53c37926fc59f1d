import type { ConfigError } from "#core/config-errors.ts";
import type { Controller } from "#core/controller.ts";
import type { Reason } from "#core/reason.ts";
import type { ApiObject } from "#core/watch.ts";

/** An object of the event; `index` is its position. */
export type Entry = ObjectEntry | MalformedEntry;

export interface ObjectEntry {
  readonly kind: "object";
  readonly index: number;
  readonly object: ApiObject;
}

/** With its name and uid, if present. */
export interface MalformedEntry {
  readonly kind: "malformed";
  readonly index: number;
  readonly name?: string;
  readonly uid?: string;
  readonly because: Reason;
}

/** Parses the event's objects one by one, so that a malformed one fails alone. */
export function parseObjects(
  controller: Pick<Controller, "parse" | "resource">,
  objects: readonly unknown[],
): Entry[] {
  return objects.map((object, index): Entry => {
    const parsed = controller.parse(object);
    if (parsed.kind === "object") return { ...parsed, index };
    const { name, uid, faults } = parsed;
    const message = `not a ${controller.resource.kind}: ${formatFaults(faults, "object")}`;
    return {
      kind: "malformed",
      index,
      ...(name === undefined ? {} : { name }),
      ...(uid === undefined ? {} : { uid }),
      because: { code: "Malformed", message },
    };
  });
}

/** Returns the entries that the controller handles. */
export function selectObjects(entries: readonly Entry[]): ObjectEntry[] {
  return entries.filter((entry) => entry.kind === "object");
}

/** Limits of named faults and of their characters; untrusted input may have any number. */
const MAX_NAMED = 10;

const MAX_CHARACTERS = 1_000;

/** Formats faults in one line of bounded length; quotes only field names. */
export function formatFaults(faults: readonly ConfigError[], whole: string): string {
  const named = faults.slice(0, MAX_NAMED).map(({ path, message }) => `${path || whole}: ${message}`);
  const more = faults.length > MAX_NAMED ? [`and ${faults.length - MAX_NAMED} more`] : [];
  const sentence = [...named, ...more].join("; ");
  return sentence.length > MAX_CHARACTERS ? `${sentence.slice(0, MAX_CHARACTERS)}…` : sentence;
}
