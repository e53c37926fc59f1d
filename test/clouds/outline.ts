import { canonicalJson } from "#core/hash.ts";

/**
 * Things as texts for an outline, sorted: what `names` has stands in place of ids and of what follows from them, and lists are in an order of
 * their own, since APIs tell none. The longest names are replaced first.
 */
export function outlineOf(
  things: readonly object[],
  names: Readonly<Record<string, string>>,
): readonly string[] {
  const replaced = Object.entries(names)
    .filter(([from]) => from !== "")
    .toSorted(([one], [other]) => other.length - one.length);
  return things
    .map((thing) => {
      const text = replaced.reduce((all, [from, to]) => all.replaceAll(from, to), JSON.stringify(thing));
      return canonicalJson(withoutOrder(JSON.parse(text)));
    })
    .toSorted();
}

function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOrder).toSorted(byJson);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutOrder(each)]));
}

function byJson(one: unknown, other: unknown): number {
  return canonicalJson(one) < canonicalJson(other) ? -1 : 1;
}
