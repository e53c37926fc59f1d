import { formatCanonicalJson } from "#core/hash.ts";

/**
 * Returns resources as sorted texts for an outline. `names` replaces IDs and values derived from them, the
 * longest first; lists are sorted, since APIs guarantee no order.
 */
export function formatOutline(
  things: readonly object[],
  names: Readonly<Record<string, string>>,
): readonly string[] {
  const replaced = Object.entries(names)
    .filter(([from]) => from !== "")
    .toSorted(([one], [other]) => other.length - one.length);
  return things
    .map((thing) => {
      const text = replaced.reduce((all, [from, to]) => all.replaceAll(from, to), JSON.stringify(thing));
      return formatCanonicalJson(withoutOrder(JSON.parse(text)));
    })
    .toSorted();
}

function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOrder).toSorted(byJson);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutOrder(each)]));
}

function byJson(one: unknown, other: unknown): number {
  return formatCanonicalJson(one) < formatCanonicalJson(other) ? -1 : 1;
}
