/** Whether a tag's key says whose a resource is, or is AWS's own to give: no configuration may write it. */
export function isReservedTag(key: string): boolean {
  const lower = key.toLowerCase();
  return RESERVED.some((prefix) => lower.startsWith(prefix)) || lower === "kubernetescluster";
}

const RESERVED = ["aws:", "kubernetes.io/", "serverless-ccm.io/"];
