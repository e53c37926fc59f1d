import { hashText } from "#core/hash.ts";

/**
 * Returns a node's labels as hashes of ten letters each, for Services that select nodes by label. Whole
 * labels would be most of an event with thousands of nodes. The hashes only show whether a label exists and
 * has a given value.
 */
export function hashLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${hashLabel(key)}${hashLabel(value)}`)
    .sort()
    .join("");
}

/** Returns whether the hashes contain a label; an empty value matches any. */
export function hasLabel(marks: string, key: string, value: string): boolean {
  const entryHash = value === "" ? hashLabel(key) : `${hashLabel(key)}${hashLabel(value)}`;
  for (let start = 0; start < marks.length; start += 2 * LENGTH)
    if (marks.startsWith(entryHash, start)) return true;
  return false;
}

/** Characters of a hash: one value in a million. A node has tens of labels. */
const LENGTH = 5;

function hashLabel(text: string): string {
  return hashText(text).slice(-LENGTH);
}
