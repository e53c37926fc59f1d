/**
 * Returns the audience of a cluster's API server, for tokens that only this cluster accepts. A token that
 * another cluster has seen is useless there.
 */
export function formatAudience(clusterName: string): string {
  return `serverless-ccm:${clusterName}`;
}

/**
 * Returns why a text cannot be an audience; undefined if it can. sts:GetWebIdentityToken accepts up to 1,000
 * characters.
 */
export function checkAudience(text: string): string | undefined {
  if (text === "") return "is empty";
  if (text.length > 1_000) return "is longer than 1000 characters";
  return /[\p{Cc}\p{Z}]/u.test(text) ? "has blanks or control characters" : undefined;
}
