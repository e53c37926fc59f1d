import { checkTags, SETTABLE_KEYS } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { type AllowedResources, isAllowed, type NamedKind } from "#clouds/aws/load-balancers/ownership.ts";
import type { Issue } from "#core/service/model.ts";

/**
 * Returns why a Service may not use a certificate or bucket that its annotations name. Their owner cannot be
 * read, so the operator lists them.
 */
export function checkNamedResources(
  annotations: Annotations,
  identity: { readonly clusterTag: string; readonly allow: AllowedResources },
): Issue | undefined {
  const certificate = annotations["ssl-cert"];
  if (certificate !== undefined && !isAllowed("certificates", { id: certificate }, identity))
    return buildNotAllowedIssue("CertificateNotUsable", "ssl-cert", "certificates", certificate);
  const bucket = annotations["access-log-s3-bucket-name"];
  const isLogged = annotations["access-log-enabled"] === true;
  if (isLogged && bucket !== undefined && !isAllowed("buckets", { id: bucket }, identity))
    return buildNotAllowedIssue("BucketNotUsable", "access-log-s3-bucket-name", "buckets", bucket);
  return undefined;
}

/** Removes the tags that the Service may not set, and returns a warning that names the first one. */
export function removeRejectedTags(
  annotations: Annotations,
  { tagKeys }: Pick<AllowedResources, "tagKeys">,
): { readonly annotations: Annotations; readonly warnings: readonly Issue[] } {
  const tags = annotations["additional-resource-tags"];
  if (tags === undefined) return { annotations, warnings: [] };
  const { settable, refused } = checkTags(tags, tagKeys);
  const [first] = refused;
  if (first === undefined) return { annotations, warnings: [] };
  const field = formatAnnotationName("additional-resource-tags");
  const detail = `not set: ${refused.join(", ")}`;
  return {
    annotations: { ...annotations, "additional-resource-tags": settable },
    warnings: [{ code: "ReservedTag", field, value: first, allowed: SETTABLE_KEYS, detail }],
  };
}

function buildNotAllowedIssue(
  code: string,
  suffix: keyof Annotations,
  kind: NamedKind,
  value: string,
): Issue {
  return {
    code,
    field: formatAnnotationName(suffix),
    value,
    detail: `${value} is not in cloud.allow.${kind}`,
  };
}
