import { nearest } from "#core/nearest.ts";
import { shown } from "#core/shown-text.ts";

const MAX_NEAREST = 3;
const MAX_NAME = 253;

/** What may be meant by a name that nothing has, as the end of a sentence; `of` is what the names are of, in the plural. */
export function hintFor(name: string, names: readonly string[], of: string): string {
  const near: string[] = [];
  for (let each = 0; each < MAX_NEAREST; each += 1) {
    const next = nearest(
      name,
      names.filter((known) => !near.includes(known)),
    );
    if (next !== undefined) near.push(next);
  }
  // A name is often given without its domain, or with that of somebody else.
  const label = name.split(".")[0] ?? name;
  const alike = names.filter((known) => label !== "" && known.split(".")[0] === label);
  const meant = [...new Set([...near, ...alike])].slice(0, MAX_NEAREST).map((each) => shown(each, MAX_NAME));
  if (meant.length > 0) return `; did you mean ${meant.join(" or ")}?`;
  return names.length === 0
    ? `; it has no ${of}`
    : `; it has ${names.length} others, of which none is called alike`;
}
