import type { ApiObject, Controller } from "#core/controller.ts";
import type { Because } from "#core/decision.ts";
import { sentenceOfFaults } from "#functions/parts/sentence-of-faults.ts";

/** An object of the event; `index` is its place there. */
export type Entry = ObjectEntry | MalformedEntry;

export interface ObjectEntry {
  readonly kind: "object";
  readonly index: number;
  readonly object: ApiObject;
}

/** With its name and uid, as far as it has them. */
export interface MalformedEntry {
  readonly kind: "malformed";
  readonly index: number;
  readonly name?: string;
  readonly uid?: string;
  readonly because: Because;
}

/** Parses the event's objects one by one, so that one that is malformed fails alone. */
export function parseObjects(
  controller: Pick<Controller, "parse" | "resource">,
  objects: readonly unknown[],
): Entry[] {
  return objects.map((object, index): Entry => {
    const parsed = controller.parse(object);
    if (parsed.kind === "object") return { ...parsed, index };
    const { name, uid, faults } = parsed;
    const message = `not a ${controller.resource.kind}: ${sentenceOfFaults(faults, "object")}`;
    return {
      kind: "malformed",
      index,
      ...(name === undefined ? {} : { name }),
      ...(uid === undefined ? {} : { uid }),
      because: { code: "Malformed", message },
    };
  });
}

/** The entries that are what the controller is about. */
export function objectsOf(entries: readonly Entry[]): ObjectEntry[] {
  return entries.filter((entry) => entry.kind === "object");
}
