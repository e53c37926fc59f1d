/** What a cluster's API server is called in tokens that are for it alone: one that another's has seen is of no use there. */
export function audienceOf(clusterName: string): string {
  return `serverless-ccm:${clusterName}`;
}

/** Why a text cannot be an audience; undefined where it can. sts:GetWebIdentityToken takes up to 1,000 characters. */
export function audienceFault(text: string): string | undefined {
  if (text === "") return "is empty";
  if (text.length > 1_000) return "is longer than 1000 characters";
  return /[\p{Cc}\p{Z}]/u.test(text) ? "has blanks or control characters" : undefined;
}
