import { hashOf } from "#core/hash.ts";

/**
 * A node's labels in ten letters each, for Services that choose nodes by label: whole they would be most of an event with thousands of
 * nodes. Whether a label is there, and says something, can be told from it, and nothing else.
 */
export function labelMarks(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${markOf(key)}${markOf(value)}`)
    .sort()
    .join("");
}

/** Whether a node with such marks has a label; an empty value is any. */
export function hasLabel(marks: string, key: string, value: string): boolean {
  const wanted = value === "" ? markOf(key) : `${markOf(key)}${markOf(value)}`;
  for (let start = 0; start < marks.length; start += 2 * LENGTH)
    if (marks.startsWith(wanted, start)) return true;
  return false;
}

/** Of a million; a node has tens of labels. */
const LENGTH = 5;

function markOf(text: string): string {
  return hashOf(text).slice(-LENGTH);
}
