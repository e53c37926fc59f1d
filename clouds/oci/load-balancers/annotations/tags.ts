import * as z from "zod";
import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { jsonOf } from "#clouds/oci/load-balancers/annotations/json-of.ts";
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

/** OCI has room for 64 defined tags on a resource, and for 10 free-form ones, of which up to three are ours. */
const MAX_FREEFORM = 7;
const MAX_DEFINED = 60;

/** Reads free-form tags as JSON. Keys that say whose a resource is are the controller's alone, or a Service could claim another's. */
export const freeformTags: Reader<FreeformTags> = (written) => {
  const tags = Freeform.safeParse(jsonOf(written)).data;
  if (tags === undefined || Object.keys(tags).length > MAX_FREEFORM)
    return mayBe(`JSON of at most ${MAX_FREEFORM} tags such as {"team":"web"}, all of them texts`);
  if (Object.keys(tags).some(isReservedKey))
    return mayBe(
      "tags that do not say whose a load balancer is: CreatedBy, ServiceUid and serverless-ccm-… are the controller's",
      "ReservedTag",
    );
  return is(tags);
};

/** Reads defined tags as JSON: by namespace, then by key. */
export const definedTags: Reader<DefinedTags> = (written) => {
  const tags = Defined.safeParse(jsonOf(written)).data;
  const count = Object.values(tags ?? {}).reduce((sum, each) => sum + Object.keys(each).length, 0);
  return tags === undefined || count > MAX_DEFINED
    ? mayBe(`JSON of at most ${MAX_DEFINED} tags such as {"billing":{"team":"web"}}`)
    : is(tags);
};
