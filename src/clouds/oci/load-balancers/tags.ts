import * as z from "zod";
import { accept, type Reader, reject } from "#clouds/annotations/readers.ts";
import { parseAnnotationJson } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";

/** The free-form tag with the cluster's name, which marks its resources. Keys of tags cannot contain dots. */
export const CLUSTER_TAG = "serverless-ccm-cluster";

/** The free-form tag with a load balancer's Service: namespace and name. */
export const SERVICE_TAG = "serverless-ccm-service";

/** The free-form tags of a managed network security group, as the stock controller writes them. */
export const CREATED_BY_TAG = "CreatedBy";
export const CREATED_BY = "CCM";
export const SERVICE_UID_TAG = "ServiceUid";

/**
 * The free-form tag with which an audit marks resources without a Service, if the operator has orphans
 * deleted: since when, and when they are deleted. A load balancer that is kept for an existing Service loses
 * it.
 */
export const ORPHANED_TAG = "serverless-ccm-orphaned";

/** Whether only controllers set a free-form tag's key. */
export function isReservedKey(key: string): boolean {
  const lower = key.toLowerCase();
  return lower === "createdby" || lower === "serviceuid" || lower.startsWith("serverless-ccm");
}

/** Whether tags assign a resource to this cluster. */
export function isOfCluster(tags: Readonly<Record<string, string>> | undefined, cluster: string): boolean {
  return tags?.[CLUSTER_TAG] === cluster;
}

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
  const tags = Freeform.safeParse(parseAnnotationJson(written)).data;
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
  const tags = Defined.safeParse(parseAnnotationJson(written)).data;
  const count = Object.values(tags ?? {}).reduce((sum, each) => sum + Object.keys(each).length, 0);
  return tags === undefined || count > MAX_DEFINED
    ? reject(`JSON of at most ${MAX_DEFINED} tags such as {"billing":{"team":"web"}}`)
    : accept(tags);
};
