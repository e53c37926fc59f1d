import { isIPv4 } from "node:net";

/** What a provider ID names: an EC2 instance, a Fargate node by its IPv4 address, something of another cloud, or nothing. */
export type ProviderID =
  | { readonly kind: "instance"; readonly id: string }
  | { readonly kind: "fargate"; readonly address: string }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

/**
 * Reads a provider ID in any of the forms that the stock controller accepts: the last segment is what counts, zones
 * and whatever else stands before it are not looked at. Unlike there, the scheme of another cloud is never ours.
 */
export function parseProviderID(text: string): ProviderID {
  const token = lastSegment(text);
  if (token === undefined) return { kind: "foreign", message: notOurs(text, "its scheme is not aws") };
  if (isInstanceId(token)) return { kind: "instance", id: token };
  if (token.startsWith(FARGATE)) return parseFargate(text, token.slice(FARGATE.length));
  return invalid(text, "it does not end in an instance id (i-…) or a Fargate address (fargate-…)");
}

/** The canonical form, the only one that is ever written. */
export function formatProviderID(zone: string, id: string): string {
  return `aws:///${zone}/${id}`;
}

/**
 * Whether a text can be an instance id. EC2's are `i-` and 8 or 17 hexadecimal digits; anything of letters, digits and
 * dashes is let through, because emulators' differ and an unknown id costs nothing. What must not pass is `*`, `?` and
 * `\`: in a filter they are wildcards, and a node could claim somebody else's instance with them.
 */
export function isInstanceId(text: string): boolean {
  return /^i-[0-9A-Za-z-]{1,64}$/.test(text);
}

const FARGATE = "fargate-";

/** Without a scheme a text is a bare path; with `aws://` the part up to the next slash is an authority, and skipped. */
function lastSegment(text: string): string | undefined {
  const [, scheme, rest] = /^([^/]*:\/\/)?(.*)$/s.exec(text) ?? [];
  if (scheme !== undefined && scheme !== "aws://") return undefined;
  const segments = (rest ?? "").split("/");
  const path = scheme === undefined ? segments : segments.slice(1);
  return path.findLast((segment) => segment !== "") ?? "";
}

/** `fargate-ip-10-0-0-1.<suffix>` or `fargate-10.0.0.1`. */
function parseFargate(text: string, endpoint: string): ProviderID {
  const [label = ""] = endpoint.split(".");
  const address = label.startsWith("ip-") ? label.slice("ip-".length).replaceAll("-", ".") : endpoint;
  return isIPv4(address) ? { kind: "fargate", address } : invalid(text, "it names no IPv4 address");
}

function invalid(text: string, because: string): ProviderID {
  return { kind: "invalid", message: notOurs(text, because) };
}

function notOurs(text: string, because: string): string {
  return `"${text}" is not a provider ID of this cloud: ${because}`;
}
