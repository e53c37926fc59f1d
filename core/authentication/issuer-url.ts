/** Why kube-apiserver would not take a URL as an issuer's, or as that of its discovery document; undefined where it would. */
export function issuerUrlFault(url: string): string | undefined {
  if (!/^https:\/\/[^/?#]/i.test(url)) return "is no https URL";
  if (/[\p{Cc}\p{Z}]/u.test(url)) return "has blanks or control characters";
  if (/^https:\/\/[^/?#]*@/i.test(url)) return "has a user name in it";
  if (/[?#]/.test(url)) return "has a query or a fragment";
  return undefined;
}
