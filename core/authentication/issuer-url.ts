/**
 * Returns why kube-apiserver would reject a URL as an issuer's, or as that of its discovery document;
 * undefined if it accepts it.
 */
export function checkIssuerUrl(url: string): string | undefined {
  if (!/^https:\/\/[^/?#]/i.test(url)) return "is no https URL";
  if (/[\p{Cc}\p{Z}]/u.test(url)) return "has blanks or control characters";
  if (/^https:\/\/[^/?#]*@/i.test(url)) return "has a user name in it";
  if (/[?#]/.test(url)) return "has a query or a fragment";
  return undefined;
}
