import type { ProviderID } from "#clouds/listed/query.ts";

const SCHEME = "openstack://";

/** Parses a provider ID: with a region, without one, or the id alone as in old clusters. */
export function parseProviderID(text: string, clusterRegion: string): ProviderID {
  if (isServerId(text)) return { kind: "id", id: text };
  if (!text.startsWith(SCHEME)) return rejectProviderID("foreign", text, "its scheme is not openstack");
  const [region = "", id = "", ...more] = text.slice(SCHEME.length).split("/");
  if (!isServerId(id) || more.length > 0)
    return rejectProviderID("invalid", text, "it does not end in a server's id, a UUID in lower case");
  if (region === "" || region === clusterRegion) return { kind: "id", id };
  const message = `server ${id} is not the cluster's: expected region ${clusterRegion}, found ${region.slice(0, 100)}`;
  return { kind: "elsewhere", message };
}

/** Formats the form that is written; with the region if ids need it to be distinct. */
export function formatProviderID(id: string, region: string | undefined): string {
  return `${SCHEME}${region ?? ""}/${id}`;
}

/** Whether a text is the id of a server; nothing else may become part of a path. */
export function isServerId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

function rejectProviderID(kind: "foreign" | "invalid", text: string, reason: string): ProviderID {
  return { kind, message: `"${text.slice(0, 300)}" is not a provider ID of this cloud: ${reason}` };
}
