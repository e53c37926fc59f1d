import * as z from "zod";
import { accept, type Reader, reject } from "#clouds/annotations/readers.ts";
import { parseJson } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import { isReservedKey } from "#clouds/oci/load-balancers/tags.ts";

/** Free-form tags by key. */
export type FreeformTags = Readonly<Record<string, string>>;

/** Defined tags by namespace and key. */
export type DefinedTags = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const Freeform = z.record(z.string().min(1).max(100), z.string().max(256));
const Defined = z.record(
  z.string().min(1).max(100),
  z.record(z.string().min(1).max(100), z.union([z.string().max(256), z.number(), z.boolean()])),
);

/** OCI allows 64 defined tags and 10 free-form tags per resource; up to three of the latter are ours. */
const MAX_FREEFORM = 7;
const MAX_DEFINED = 60;

/**
 * Reads free-form tags as JSON. Only the controller sets ownership keys; otherwise a Service could claim
 * another's resource.
 */
export const readFreeformTags: Reader<FreeformTags> = (written) => {
  const tags = Freeform.safeParse(parseJson(written)).data;
  if (tags === undefined || Object.keys(tags).length > MAX_FREEFORM)
    return reject(`JSON of at most ${MAX_FREEFORM} tags such as {"team":"web"}, all of them texts`);
  if (Object.keys(tags).some(isReservedKey))
    return reject(
      "tags that do not name a load balancer's owner: CreatedBy, ServiceUid and serverless-ccm-… are the controller's",
      "ReservedTag",
    );
  return accept(tags);
};

/** Reads defined tags as JSON: by namespace, then by key. */
export const readDefinedTags: Reader<DefinedTags> = (written) => {
  const tags = Defined.safeParse(parseJson(written)).data;
  const count = Object.values(tags ?? {}).reduce((sum, each) => sum + Object.keys(each).length, 0);
  return tags === undefined || count > MAX_DEFINED
    ? reject(`JSON of at most ${MAX_DEFINED} tags such as {"billing":{"team":"web"}}`)
    : accept(tags);
};
