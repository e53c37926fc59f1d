/**
 * Returns whether a tag's key marks the owner of a resource or is reserved by AWS: no configuration may write
 * it.
 */
export function isReservedTag(key: string): boolean {
  const lower = key.toLowerCase();
  return RESERVED.some((prefix) => lower.startsWith(prefix)) || lower === "kubernetescluster";
}

const RESERVED = ["aws:", "kubernetes.io/", "serverless-ccm.io/"];
