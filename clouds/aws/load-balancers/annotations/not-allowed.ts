import { judgeTags, SETTABLE_KEYS } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { type AllowedResources, isAllowed, type NamedKind } from "#clouds/aws/load-balancers/ownership.ts";
import type { Problem } from "#core/service/model.ts";

/** Why a certificate or a bucket that annotations name may not be used: whose they are cannot be seen, so that the operator says so. */
export function faultOfNamedResources(
  annotations: Annotations,
  who: { readonly clusterTag: string; readonly allow: AllowedResources },
): Problem | undefined {
  const certificate = annotations["ssl-cert"];
  if (certificate !== undefined && !isAllowed("certificates", { id: certificate }, who))
    return notAllowed("CertificateNotUsable", "ssl-cert", "certificates", certificate);
  const bucket = annotations["access-log-s3-bucket-name"];
  const isLogged = annotations["access-log-enabled"] === true;
  if (isLogged && bucket !== undefined && !isAllowed("buckets", { id: bucket }, who))
    return notAllowed("BucketNotUsable", "access-log-s3-bucket-name", "buckets", bucket);
  return undefined;
}

/** Annotations without the tags that the Service may not set, and a warning that names the first of these. */
export function withoutRefusedTags(
  annotations: Annotations,
  { tagKeys }: Pick<AllowedResources, "tagKeys">,
): { readonly annotations: Annotations; readonly warnings: readonly Problem[] } {
  const tags = annotations["additional-resource-tags"];
  if (tags === undefined) return { annotations, warnings: [] };
  const { settable, refused } = judgeTags(tags, tagKeys);
  const [first] = refused;
  if (first === undefined) return { annotations, warnings: [] };
  const field = annotationName("additional-resource-tags");
  const detail = `not set: ${refused.join(", ")}`;
  return {
    annotations: { ...annotations, "additional-resource-tags": settable },
    warnings: [{ code: "ReservedTag", field, value: first, allowed: SETTABLE_KEYS, detail }],
  };
}

function notAllowed(code: string, suffix: keyof Annotations, kind: NamedKind, value: string): Problem {
  return { code, field: annotationName(suffix), value, detail: `${value} is not in cloud.allow.${kind}` };
}
