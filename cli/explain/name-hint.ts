import { findNearest } from "#core/nearest.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

const MAX_NEAREST = 3;
const MAX_NAME = 253;

/**
 * Formats what an unknown name may mean, as the end of a sentence; `of` names the kind of the names, in the
 * plural.
 */
export function formatNameHint(name: string, names: readonly string[], of: string): string {
  const near: string[] = [];
  for (let each = 0; each < MAX_NEAREST; each += 1) {
    const next = findNearest(
      name,
      names.filter((known) => !near.includes(known)),
    );
    if (next !== undefined) near.push(next);
  }
  // A name is often given without its domain, or with another domain.
  const label = name.split(".")[0] ?? name;
  const alike = names.filter((known) => label !== "" && known.split(".")[0] === label);
  const meant = [...new Set([...near, ...alike])]
    .slice(0, MAX_NEAREST)
    .map((each) => sanitizeText(each, MAX_NAME));
  if (meant.length > 0) return `; did you mean ${meant.join(" or ")}?`;
  return names.length === 0
    ? `; it has no ${of}`
    : `; it has ${names.length} others, none with a similar name`;
}
