import { createHash } from "node:crypto";
import { isReserved } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import { ORPHANED_TAG } from "#clouds/aws/load-balancers/orphans/tag.ts";
import type { Owner } from "#clouds/aws/load-balancers/pieces.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { tagsOfOwner } from "#clouds/aws/load-balancers/vpc/tags.ts";

/**
 * The tag that says which other tags came from the annotation `additional-resource-tags`, so that they can be taken away when it no
 * longer names them, and nobody else's are: six hexadecimal digits for each key.
 */
export const ADDED_TAGS = "serverless-ccm.io/additional-tags";

/** The tags of everything that is made for a Service. */
export function wantedTags(owner: Owner): Pairs {
  const marks = Object.keys(owner.additionalTags).map(markOf).sort().join("");
  return { ...tagsOfOwner(owner), ...(marks === "" ? {} : { [ADDED_TAGS]: marks }) };
}

/** What is to be done for tags to be as wanted; those that somebody else gave stay. What is a Service's that lives is no orphan. */
export function tagChanges(
  actual: Pairs,
  wanted: Pairs,
): { readonly add: Pairs; readonly remove: readonly string[] } {
  const add = Object.entries(wanted).filter(([key, value]) => actual[key] !== value);
  const added = new Set((actual[ADDED_TAGS] ?? "").match(/.{6}/g) ?? []);
  const remove = Object.keys(actual).filter(
    (key) =>
      !Object.hasOwn(wanted, key) &&
      (key === ADDED_TAGS || key === ORPHANED_TAG || (!isReserved(key) && added.has(markOf(key)))),
  );
  return { add: Object.fromEntries(add), remove };
}

/** Tags in the shape of AWS's requests, sorted by key. */
export function tagList(tags: Pairs): { Key: string; Value: string }[] {
  return Object.entries(tags)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([Key, Value]) => ({ Key, Value }));
}

function markOf(key: string): string {
  return createHash("sha1").update(key).digest("hex").slice(0, 6);
}
